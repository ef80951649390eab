//! SQL statements for rotations that have work to do, and decoding of their rows.

use super::{Row, Statement};
use crate::model::Time;
use crate::store::{DueRotation, StoreResult};

/// First part of the queries for rotations whose work is due, [`WORK`] and [`WORK_AFTER`].
macro_rules! due {
    () => {
        "SELECT r.id, r.work_at, p.team_id FROM rotations r
         JOIN environments e ON e.id = r.environment_id
         JOIN projects p ON p.id = e.project_id
         WHERE r.work_at <= $1 AND (r.lease_until IS NULL OR r.lease_until <= $1)"
    };
}

/// Query for at most $2 rotations whose work is due at $1 and that no worker has leased. Uses the
/// index on `work_at`.
pub(in super::super) const WORK: &str = concat!(due!(), " ORDER BY r.work_at, r.id LIMIT $2");

/// Query like [`WORK`] that starts after the rotation with ID $4, whose work is due at $3.
pub(in super::super) const WORK_AFTER: &str =
    concat!(due!(), " AND (r.work_at, r.id) > ($3, $4) ORDER BY r.work_at, r.id LIMIT $2");

pub(super) fn record(row: &Row<'_>) -> StoreResult<DueRotation> {
    Ok(DueRotation { id: row.id("id")?, team: row.id("team_id")?, work_at: row.get("work_at")? })
}

/// Builds the query for rotations with due work. If `after` is given, the query starts after that
/// rotation.
pub(super) fn statement(now: Time, after: Option<DueRotation>, limit: u32) -> Statement<'static> {
    match after {
        None => sqlx::query(WORK).bind(now).bind(i64::from(limit)),
        Some(after) => {
            let statement = sqlx::query(WORK_AFTER).bind(now).bind(i64::from(limit));
            statement.bind(after.work_at).bind(after.id.uuid())
        }
    }
}
