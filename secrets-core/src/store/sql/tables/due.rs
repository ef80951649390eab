//! SQL statements and rows for rotations whose work is due.

use super::{Row, Statement};
use crate::model::Time;
use crate::store::{DueRotation, StoreResult};

/// Common start of [`WORK`] and [`WORK_AFTER`].
macro_rules! due {
    () => {
        "SELECT r.id, r.work_at, p.team_id FROM rotations r
         JOIN environments e ON e.id = r.environment_id
         JOIN projects p ON p.id = e.project_id
         WHERE r.work_at <= $1 AND (r.lease_until IS NULL OR r.lease_until <= $1)"
    };
}

/// Selects at most $2 rotations that are due at $1 and not leased, along the index on `work_at`.
pub(in super::super) const WORK: &str = concat!(due!(), " ORDER BY r.work_at, r.id LIMIT $2");

/// Selects rotations like [`WORK`], starting after the rotation that has ID $4 and is due at $3.
pub(in super::super) const WORK_AFTER: &str =
    concat!(due!(), " AND (r.work_at, r.id) > ($3, $4) ORDER BY r.work_at, r.id LIMIT $2");

pub(super) fn record(row: &Row<'_>) -> StoreResult<DueRotation> {
    Ok(DueRotation { id: row.id("id")?, team: row.id("team_id")?, work_at: row.get("work_at")? })
}

/// Selects rotations that are due, starting after the rotation `after`.
pub(super) fn statement(now: Time, after: Option<DueRotation>, limit: u32) -> Statement<'static> {
    match after {
        None => sqlx::query(WORK).bind(now).bind(i64::from(limit)),
        Some(after) => {
            let statement = sqlx::query(WORK_AFTER).bind(now).bind(i64::from(limit));
            statement.bind(after.work_at).bind(after.id.uuid())
        }
    }
}
