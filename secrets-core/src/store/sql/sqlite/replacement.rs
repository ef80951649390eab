//! Replacing secrets by their next versions, with one call of the database.

use sqlx::QueryBuilder;

use super::Db;
use super::tables::secret_writes::{REPLACE, RESIZE, RETAIN, push_next, size};
use crate::store::SecretRecord;

/// Builds three statements in one text. Each has its own table `next`, since the statements share
/// no table, and the first two do not need the values.
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

/// Returns the number of rows that all statements write if every secret is replaced: the secret and
/// its previous version, and each of the environments.
pub(super) fn rows_of_replacement(secrets: usize, environments: usize) -> usize {
    2 * secrets + environments
}
