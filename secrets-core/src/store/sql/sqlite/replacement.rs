//! Replacing secrets by their next versions, with one call of the database.

use sqlx::QueryBuilder;

use super::Db;
use super::tables::secret_writes::{REPLACE, RESIZE, RETAIN, push_next, size};
use crate::store::SecretRecord;

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

/// Returns the number of rows that the three statements write if every secret is replaced: two for
/// each secret (the secret and its previous version) and one for each environment.
pub(super) fn rows_of_replacement(secrets: usize, environments: usize) -> usize {
    2 * secrets + environments
}
