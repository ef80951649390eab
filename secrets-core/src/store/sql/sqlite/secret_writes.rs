//! SQL texts that write secrets and update the stored sizes of their environments. Each text
//! consists of several statements, so that it is one call of the database.

use sqlx::QueryBuilder;

use super::Db;
use super::tables::secret_writes::{
    OldVersions, REPLACE, RESIZE, RETAIN, SHRINK, push_insertion, push_next, size,
};
use crate::crypto::Sealed;
use crate::store::SecretRecord;

/// Builds the SQL text that inserts secrets. They must have the same values in the columns that are
/// bound only once. The size of their environment is updated only if all of them are inserted.
pub(super) fn insertion(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statements = QueryBuilder::new("");
    let Some(first) = secrets.first() else { return statements };
    push_insertion(&mut statements, first, |statement| {
        statement.push_values(secrets, |mut row, secret| {
            row.push_bind(secret.id.uuid())
                .push_bind(secret.key.as_str())
                .push_bind(secret.sealed.as_bytes())
                .push_bind(secret.hidden)
                .push_bind(secret.description.as_ref().map(Sealed::as_bytes))
                .push_bind(secret.change.as_str());
        });
    });
    statements.push("; UPDATE environments SET size = size + ");
    statements.push_bind(secrets.iter().map(size).sum::<i64>());
    statements.push(" WHERE id = ").push_bind(first.environment.uuid());
    statements.push(" AND changes() = ");
    statements.push_bind(i64::try_from(secrets.len()).unwrap_or(i64::MAX));
    statements
}

/// Returns the number of rows that [`insertion`] writes if every secret is inserted: one for each
/// secret and one for the environment.
pub(super) fn rows_of_insertion(secrets: usize, environments: usize) -> usize {
    secrets + environments
}

/// Builds the SQL text that replaces secrets by their next versions: three statements that store
/// the previous versions, update the sizes and write the next versions. Each statement has its own
/// table `next`, because a `WITH` clause belongs to one statement; the first two tables `next` do
/// not contain the encrypted values.
pub(super) fn replacement(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statements = QueryBuilder::new("WITH next (id, version, changed_at) AS (");
    statements.push_values(secrets, |mut row, secret| {
        row.push_bind(secret.id.uuid())
            .push_bind(i64::from(secret.version))
            .push_bind(secret.changed_at);
    });
    statements.push(")").push(RETAIN).push("; WITH next (id, version, size) AS (");
    statements.push_values(secrets, |mut row, secret| {
        row.push_bind(secret.id.uuid())
            .push_bind(i64::from(secret.version))
            .push_bind(size(secret));
    });
    statements.push(")").push(RESIZE).push("; WITH ");
    push_next(&mut statements, secrets);
    statements.push(REPLACE);
    statements
}

/// Returns the number of rows that [`replacement`] writes if every secret is replaced: two for each
/// secret (the secret and its previous version) and one for each environment.
pub(super) fn rows_of_replacement(secrets: usize, environments: usize) -> usize {
    2 * secrets + environments
}

/// Builds the SQL text that deletes previous versions of secrets.
pub(super) fn pruning(versions: OldVersions<'_>) -> QueryBuilder<Db> {
    let mut statements = QueryBuilder::new("WITH ");
    versions.push_oldest(&mut statements);
    statements.push(", freed AS (SELECT environment_id, size FROM oldest)").push(SHRINK);
    statements.push("; WITH ");
    versions.push_oldest(&mut statements);
    statements.push(
        " DELETE FROM secret_versions
          WHERE (secret_id, version) IN (SELECT secret_id, version FROM oldest)",
    );
    statements
}
