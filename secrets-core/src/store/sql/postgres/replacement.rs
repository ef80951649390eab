//! Replacing secrets by their next versions, with one statement.

use sqlx::QueryBuilder;

use super::Db;
use super::tables::secret_writes::{REPLACE, RESIZE, RETAIN, push_next};
use crate::store::SecretRecord;

/// `WITH` clause that limits the table `next` to the secrets that this statement has replaced. A
/// secret is not replaced if another transaction changed it while this statement waited for the
/// lock of its row.
const ONLY_REPLACED: &str =
    "WITH next AS (SELECT next.* FROM next JOIN replaced ON replaced.id = next.id)";

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

/// Returns the number of rows that the statement returns if every secret is replaced: one for each
/// secret.
pub(super) fn rows_of_replacement(secrets: usize, _environments: usize) -> usize {
    secrets
}
