//! SQL statements that write secrets and update the stored sizes of their environments.

use sqlx::QueryBuilder;

use super::Db;
use super::tables::secret_writes::{
    OldVersions, REPLACE, RESIZE, RETAIN, SHRINK, push_insertion, push_next,
};
use crate::crypto::Sealed;
use crate::store::SecretRecord;

/// `WITH` clause that limits the table `next` to the secrets that this statement has replaced. A
/// secret is not replaced if another transaction changed it while this statement waited for the
/// lock of its row.
const ONLY_REPLACED: &str =
    "WITH next AS (SELECT next.* FROM next JOIN replaced ON replaced.id = next.id)";

/// Builds the SQL statement that inserts secrets. They must have the same values in the columns that
/// are bound only once. Each of the other columns is an array, so that the text of the statement is the
/// same for any number of secrets, and is prepared only once. The statement returns one row for each
/// secret that was inserted.
pub(super) fn insertion(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new("WITH inserted AS (");
    let Some(first) = secrets.first() else { return statement };
    push_insertion(&mut statement, first, |statement| {
        statement.push("SELECT * FROM UNNEST(");
        statement
            .separated(", ")
            .push_bind(column(secrets, |secret| secret.id.uuid()))
            .push_bind(column(secrets, |secret| secret.key.as_str()))
            .push_bind(column(secrets, |secret| secret.sealed.as_bytes()))
            .push_bind(column(secrets, |secret| secret.hidden))
            .push_bind(column(secrets, |secret| secret.description.as_ref().map(Sealed::as_bytes)))
            .push_bind(column(secrets, |secret| secret.change.as_str()));
        statement.push(")");
    });
    statement.push(
        " RETURNING LENGTH(sealed) + COALESCE(LENGTH(sealed_description), 0) AS size),
          resized AS (
              UPDATE environments
              SET size = size + (SELECT COALESCE(SUM(inserted.size), 0) FROM inserted)
              WHERE id = ",
    );
    statement.push_bind(first.environment.uuid()).push(") SELECT 1 FROM inserted");
    statement
}

/// Returns the values of one column.
fn column<'a, T>(secrets: &'a [SecretRecord], value: fn(&'a SecretRecord) -> T) -> Vec<T> {
    secrets.iter().map(value).collect()
}

/// Returns the number of rows that [`insertion`] returns if every secret is inserted: one for each
/// secret.
pub(super) fn rows_of_insertion(secrets: usize, _environments: usize) -> usize {
    secrets
}

/// Builds the SQL statement that replaces secrets by their next versions. All parts of the
/// statement see the secrets as they were before it. It returns one row for each secret that was
/// replaced and whose previous version was stored.
pub(super) fn replacement(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new("WITH ");
    push_next(&mut statement, secrets);
    for part in [
        ", replaced AS (",
        REPLACE,
        " RETURNING secrets.id), retained AS (",
        ONLY_REPLACED,
        RETAIN,
        " RETURNING secret_id), resized AS (",
        ONLY_REPLACED,
        RESIZE,
        ") SELECT 1 FROM retained",
    ] {
        statement.push(part);
    }
    statement
}

/// Returns the number of rows that [`replacement`] returns if every secret is replaced: one for
/// each secret.
pub(super) fn rows_of_replacement(secrets: usize, _environments: usize) -> usize {
    secrets
}

/// Builds the SQL statement that deletes previous versions of secrets.
pub(super) fn pruning(versions: OldVersions<'_>) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new("WITH ");
    versions.push_oldest(&mut statement);
    statement.push(
        ", freed AS (
             DELETE FROM secret_versions v USING oldest
             WHERE v.secret_id = oldest.secret_id AND v.version = oldest.version
             RETURNING v.environment_id, oldest.size)",
    );
    statement.push(SHRINK);
    statement
}
