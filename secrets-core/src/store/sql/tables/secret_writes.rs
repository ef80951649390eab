//! SQL statements that write several secrets at a time: the parts that are the same on both
//! databases.

use sqlx::QueryBuilder;

use super::Db;
use crate::crypto::Sealed;
use crate::model::{EnvironmentId, SecretId};
use crate::store::{MAX_PRUNED, SecretRecord};

/// Statement that copies the current versions of secrets to the table of previous versions. Like
/// [`RESIZE`] and [`REPLACE`], it needs the new versions as a table `next`, and applies only to
/// secrets whose stored version is one lower than the new version.
pub(in super::super) const RETAIN: &str = "
    INSERT INTO secret_versions
        (secret_id, version, sealed, hidden, change, changed_by, changed_at, replaced_at,
         environment_id)
    SELECT s.id, s.version, s.sealed, s.hidden, s.change, s.changed_by, s.changed_at,
        next.changed_at, s.environment_id
    FROM next CROSS JOIN secrets s
    WHERE s.id = next.id AND s.version = next.version - 1
    ON CONFLICT DO NOTHING";

/// Statement that adjusts the stored sizes of environments to the new sizes of secrets, before the
/// old values are replaced.
pub(in super::super) const RESIZE: &str = "
    UPDATE environments
    SET size = environments.size + growth.size,
        history_size = environments.history_size + growth.history_size
    FROM (
        SELECT s.environment_id,
            SUM(next.size - LENGTH(s.sealed) - COALESCE(LENGTH(s.sealed_description), 0)) AS size,
            SUM(LENGTH(s.sealed)) AS history_size
        FROM next CROSS JOIN secrets s
        WHERE s.id = next.id AND s.version = next.version - 1 GROUP BY s.environment_id
    ) growth
    WHERE environments.id = growth.environment_id";

/// Statement that writes the next versions of secrets.
pub(in super::super) const REPLACE: &str = "
    UPDATE secrets
    SET sealed = next.sealed, hidden = next.hidden,
        sealed_description = next.sealed_description, version = next.version,
        change = next.change, changed_by = next.changed_by, changed_at = next.changed_at,
        updated_by = next.updated_by, updated_at = next.updated_at
    FROM next WHERE secrets.id = next.id AND secrets.version = next.version - 1";

/// True if one statement can insert both secrets: they have the same values in the columns that
/// [`push_insertion`] binds only once.
pub(in super::super) fn is_insertable_with(one: &SecretRecord, other: &SecretRecord) -> bool {
    let created = |of: &SecretRecord| (of.created_by, of.created_at, of.version);
    let changed = |of: &SecretRecord| (of.changed_by, of.changed_at);
    let updated = |of: &SecretRecord| (of.updated_by, of.updated_at);
    one.environment == other.environment
        && created(one) == created(other)
        && changed(one) == changed(other)
        && updated(one) == updated(other)
}

/// Appends an `INSERT` that skips secrets whose ID or key already exists. Values that all secrets
/// share are bound once, from `first`; `push_rows` appends a query for the columns `id`, `key`,
/// `sealed`, `hidden`, `sealed_description` and `change`, in this order.
pub(in super::super) fn push_insertion(
    statement: &mut QueryBuilder<Db>,
    first: &SecretRecord,
    push_rows: impl FnOnce(&mut QueryBuilder<Db>),
) {
    statement.push(
        "INSERT INTO secrets
             (id, key, sealed, hidden, sealed_description, change, environment_id, version,
              changed_by, changed_at, created_by, updated_by, created_at, updated_at)
         SELECT new.*, common.* FROM (SELECT ",
    );
    let mut common = statement.separated(", ");
    common
        .push_bind(first.environment.uuid())
        .push_bind(i64::from(first.version))
        .push_bind(first.changed_by)
        .push_bind(first.changed_at)
        .push_bind(first.created_by)
        .push_bind(first.updated_by)
        .push_bind(first.created_at)
        .push_bind(first.updated_at);
    statement.push(") common CROSS JOIN (");
    push_rows(statement);
    statement.push(") new WHERE TRUE ON CONFLICT DO NOTHING");
}

/// Appends the table `next` with all columns, `next (…) AS (…)`.
pub(in super::super) fn push_next(statement: &mut QueryBuilder<Db>, secrets: &[SecretRecord]) {
    statement.push(
        "next (id, version, size, sealed, hidden, sealed_description, change, changed_by,
             changed_at, updated_by, updated_at) AS (",
    );
    statement.push_values(secrets, |mut row, secret| {
        row.push_bind(secret.id.uuid())
            .push_bind(i64::from(secret.version))
            .push_bind(size(secret))
            .push_bind(secret.sealed.as_bytes())
            .push_bind(secret.hidden)
            .push_bind(secret.description.as_ref().map(Sealed::as_bytes))
            .push_bind(secret.change.as_str())
            .push_bind(secret.changed_by)
            .push_bind(secret.changed_at)
            .push_bind(secret.updated_by)
            .push_bind(secret.updated_at);
    });
    statement.push(")");
}

/// Returns the size of a secret in bytes. A size of more than 8 EiB cannot occur.
pub(in super::super) fn size(secret: &SecretRecord) -> i64 {
    i64::try_from(secret.size()).unwrap_or(i64::MAX)
}

/// Statement that subtracts the sizes of deleted previous versions from the stored sizes of their
/// environments. It needs these versions as a table `freed`.
pub(in super::super) const SHRINK: &str = "
    UPDATE environments SET history_size = environments.history_size - total.size
    FROM (SELECT environment_id, SUM(size) AS size FROM freed GROUP BY environment_id) total
    WHERE environments.id = total.environment_id";

/// Selection of the previous versions that one SQL statement deletes.
#[derive(Clone, Copy)]
pub(in super::super) enum OldVersions<'a> {
    /// Versions of each secret below a number, at most `max` in total, lowest numbers first.
    OfSecrets { limits: &'a [(SecretId, u32)], max: usize },
    /// Versions of an environment's secrets with a total size of at least `excess` bytes, at most
    /// 200 ([`MAX_PRUNED`]), those that were replaced first. If a rotation wrote the current
    /// version of a secret, the newest previous version is not included.
    OfEnvironment { environment: EnvironmentId, excess: u64 },
}

impl OldVersions<'_> {
    /// Appends the table `oldest` of the versions, `oldest AS (…)`, after the tables that it
    /// needs.
    pub(in super::super) fn push_oldest(self, statement: &mut QueryBuilder<Db>) {
        match self {
            Self::OfSecrets { limits, max } => {
                statement.push("limits (id, version) AS (");
                statement.push_values(limits, |mut row, (secret, before)| {
                    row.push_bind(secret.uuid()).push_bind(i64::from(*before));
                });
                statement.push(
                    "), oldest AS (
                         SELECT v.secret_id, v.version, v.environment_id, LENGTH(v.sealed) AS size
                         FROM limits CROSS JOIN secret_versions v
                         WHERE v.secret_id = limits.id AND v.version < limits.version
                         ORDER BY v.version, v.secret_id LIMIT ",
                );
                statement.push_bind(i64::try_from(max).unwrap_or(i64::MAX)).push(")");
            }
            Self::OfEnvironment { environment, excess } => {
                statement.push(
                    "candidates AS (
                         SELECT v.secret_id, v.version, v.environment_id, LENGTH(v.sealed) AS size,
                             v.replaced_at
                         FROM secret_versions v JOIN secrets s ON s.id = v.secret_id
                         WHERE NOT (s.change = 'rotated' AND v.version = s.version - 1)
                             AND v.environment_id = ",
                );
                statement
                    .push_bind(environment.uuid())
                    .push("    ORDER BY v.replaced_at, v.version, v.secret_id LIMIT ");
                statement.push_bind(i64::from(MAX_PRUNED)).push(
                    "), oldest AS (
                         SELECT * FROM (
                             SELECT candidates.*, SUM(size) OVER (
                                 ORDER BY replaced_at, version, secret_id) - size AS older
                             FROM candidates) summed
                         WHERE older < ",
                );
                statement.push_bind(i64::try_from(excess).unwrap_or(i64::MAX)).push(")");
            }
        }
    }
}
