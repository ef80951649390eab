//! SQL statements that write several secrets at a time.

use sqlx::QueryBuilder;

use super::Db;
use crate::crypto::Sealed;
use crate::store::SecretRecord;

/// An SQL statement that writes rows for several secrets.
pub(in super::super) struct RowWrites {
    pub(in super::super) statement: fn(&[SecretRecord]) -> QueryBuilder<Db>,
    /// True if the SQL statement must write exactly one row for each secret.
    pub(super) is_one_each: bool,
}

/// SQL statements that insert secrets.
pub(super) const INSERT: &[RowWrites] = &[RowWrites { statement: insertion, is_one_each: true }];

/// SQL statements that replace secrets by their next versions, in this order. The sizes are updated
/// before the old values are replaced.
pub(in super::super) const REPLACE: &[RowWrites] = &[
    RowWrites { statement: retention, is_one_each: true },
    RowWrites { statement: resizing, is_one_each: false },
    RowWrites { statement: replacement, is_one_each: true },
];

fn insertion(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new(
        "INSERT INTO secrets
             (id, environment_id, key, sealed, hidden, sealed_description, version, change,
              changed_by, changed_at, created_by, updated_by, created_at, updated_at) ",
    );
    statement.push_values(secrets, |mut row, secret| {
        row.push_bind(secret.id.uuid())
            .push_bind(secret.environment.uuid())
            .push_bind(secret.key.as_str())
            .push_bind(secret.sealed.as_bytes())
            .push_bind(secret.hidden)
            .push_bind(secret.description.as_ref().map(Sealed::as_bytes))
            .push_bind(i64::from(secret.version))
            .push_bind(secret.change.as_str())
            .push_bind(secret.changed_by)
            .push_bind(secret.changed_at)
            .push_bind(secret.created_by)
            .push_bind(secret.updated_by)
            .push_bind(secret.created_at)
            .push_bind(secret.updated_at);
    });
    statement.push(" ON CONFLICT DO NOTHING");
    statement
}

/// Builds the SQL statement that copies the current versions of secrets to the table of previous
/// versions.
fn retention(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new("WITH next (id, version, changed_at) AS (");
    statement.push_values(secrets, |mut row, secret| {
        row.push_bind(secret.id.uuid())
            .push_bind(i64::from(secret.version))
            .push_bind(secret.changed_at);
    });
    statement.push(
        ") INSERT INTO secret_versions
             (secret_id, version, sealed, hidden, change, changed_by, changed_at, replaced_at,
              environment_id)
         SELECT s.id, s.version, s.sealed, s.hidden, s.change, s.changed_by, s.changed_at,
             next.changed_at, s.environment_id
         FROM next CROSS JOIN secrets s
         WHERE s.id = next.id AND s.version = next.version - 1
         ON CONFLICT DO NOTHING",
    );
    statement
}

/// Builds the SQL statement that adjusts the stored sizes of environments to the new sizes of
/// secrets.
fn resizing(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new("WITH next (id, size) AS (");
    statement.push_values(secrets, |mut row, secret| {
        // A size of more than 8 EiB cannot occur.
        let size = i64::try_from(secret.size()).unwrap_or(i64::MAX);
        row.push_bind(secret.id.uuid()).push_bind(size);
    });
    statement.push(
        ") UPDATE environments
         SET size = environments.size + growth.size,
             history_size = environments.history_size + growth.history_size
         FROM (
             SELECT s.environment_id,
                 SUM(next.size - LENGTH(s.sealed) - COALESCE(LENGTH(s.sealed_description), 0))
                     AS size,
                 SUM(LENGTH(s.sealed)) AS history_size
             FROM next CROSS JOIN secrets s WHERE s.id = next.id GROUP BY s.environment_id
         ) growth
         WHERE environments.id = growth.environment_id",
    );
    statement
}

/// Builds the SQL statement that writes the next versions of secrets.
fn replacement(secrets: &[SecretRecord]) -> QueryBuilder<Db> {
    let mut statement = QueryBuilder::new(
        "WITH next (id, version, sealed, hidden, sealed_description, change, changed_by,
             changed_at, updated_by, updated_at) AS (",
    );
    statement.push_values(secrets, |mut row, secret| {
        row.push_bind(secret.id.uuid())
            .push_bind(i64::from(secret.version))
            .push_bind(secret.sealed.as_bytes())
            .push_bind(secret.hidden)
            .push_bind(secret.description.as_ref().map(Sealed::as_bytes))
            .push_bind(secret.change.as_str())
            .push_bind(secret.changed_by)
            .push_bind(secret.changed_at)
            .push_bind(secret.updated_by)
            .push_bind(secret.updated_at);
    });
    statement.push(
        ") UPDATE secrets
         SET sealed = next.sealed, hidden = next.hidden,
             sealed_description = next.sealed_description, version = next.version,
             change = next.change, changed_by = next.changed_by, changed_at = next.changed_at,
             updated_by = next.updated_by, updated_at = next.updated_at
         FROM next WHERE secrets.id = next.id AND secrets.version = next.version - 1",
    );
    statement
}
