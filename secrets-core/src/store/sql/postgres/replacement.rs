//! Replacing secrets by their next versions, with one statement.

use sqlx::QueryBuilder;

use super::Db;
use super::tables::secret_writes::{REPLACE, RESIZE, RETAIN, push_next};
use crate::store::SecretRecord;

/// Builds one statement, whose parts all see the secrets as they were before it. It returns one row
/// for each secret that was replaced and whose previous version was stored.
pub(super) fn replacement(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new("WITH ");
    push_next(&mut statement, secrets);
    statement
        .push(", retained AS (")
        .push(RETAIN)
        .push(" RETURNING secret_id), resized AS (")
        .push(RESIZE)
        .push("), replaced AS (")
        .push(REPLACE)
        .push(
            " RETURNING secrets.id)
             SELECT 1 FROM retained JOIN replaced ON replaced.id = retained.secret_id",
        );
    statement
}

/// Returns the number of rows of the statement's result if every secret is replaced.
pub(super) fn rows_of_replacement(secrets: usize, _environments: usize) -> usize {
    secrets
}
