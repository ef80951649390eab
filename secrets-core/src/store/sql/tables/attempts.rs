//! SQL statements for rotation attempts, and decoding of their rows.

use super::{Row, Statement, bigint};
use crate::crypto::Sealed;
use crate::model::rotations::{AttemptState, Outcome, Slot, TriggerType};
use crate::model::{AttemptId, RotationId, Time};
use crate::store::{AttemptRecord, StoreResult};

/// SQL statement that deletes finished attempts of rotation $1, except the newest $3, at most $2.
pub(in super::super) const TRIM: &str = "DELETE FROM rotation_attempts WHERE id IN
     (SELECT a.id FROM rotation_attempts a
      WHERE a.rotation_id = $1 AND a.completed_at IS NOT NULL
      ORDER BY a.sequence DESC
      LIMIT $2 OFFSET $3)";

/// Builds the query for the unfinished attempt of a rotation.
pub(super) fn open(rotation: RotationId) -> Statement<'static> {
    sqlx::query(concat!(
        "SELECT ",
        columns!(attempts),
        " FROM rotation_attempts a WHERE a.rotation_id = $1 AND a.completed_at IS NULL"
    ))
    .bind(rotation.uuid())
}

pub(super) fn one(attempt: AttemptId) -> Statement<'static> {
    sqlx::query(concat!("SELECT ", columns!(attempts), " FROM rotation_attempts a WHERE a.id = $1"))
        .bind(attempt.uuid())
}

/// Builds the query for the finished attempts of a rotation, newest first.
pub(super) fn concluded(rotation: RotationId, limit: u32) -> Statement<'static> {
    sqlx::query(concat!(
        "SELECT ",
        columns!(attempts),
        " FROM rotation_attempts a WHERE a.rotation_id = $1 AND a.completed_at IS NOT NULL
          ORDER BY a.sequence DESC
          LIMIT $2"
    ))
    .bind(rotation.uuid())
    .bind(i64::from(limit))
}

pub(super) fn insertion(attempt: &AttemptRecord) -> StoreResult<Statement<'_>> {
    let statement = sqlx::query(
        "INSERT INTO rotation_attempts
             (id, rotation_id, sequence, slot, pending, state, trigger_type, triggered_by, tries,
              resumed, outcome, error_code, error_message, started_at, completed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
         ON CONFLICT DO NOTHING",
    )
    .bind(attempt.id.uuid())
    .bind(attempt.rotation.uuid())
    .bind(bigint(attempt.sequence)?)
    .bind(attempt.slot.as_str())
    .bind(attempt.pending.as_ref().map(Sealed::as_bytes))
    .bind(attempt.state.as_str())
    .bind(attempt.trigger.as_str())
    .bind(attempt.triggered_by)
    .bind(i64::from(attempt.tries))
    .bind(i64::from(attempt.resumed))
    .bind(attempt.outcome.map(Outcome::as_str))
    .bind(&attempt.error_code)
    .bind(&attempt.error_message)
    .bind(attempt.started_at)
    .bind(attempt.completed_at);
    Ok(statement)
}

/// Builds the SQL statement that updates an unfinished attempt.
pub(super) fn change(attempt: &AttemptRecord) -> Statement<'_> {
    sqlx::query(
        "UPDATE rotation_attempts
         SET pending = $2, state = $3, tries = $4, resumed = $5, outcome = $6, error_code = $7,
             error_message = $8, completed_at = $9
         WHERE id = $1 AND completed_at IS NULL",
    )
    .bind(attempt.id.uuid())
    .bind(attempt.pending.as_ref().map(Sealed::as_bytes))
    .bind(attempt.state.as_str())
    .bind(i64::from(attempt.tries))
    .bind(i64::from(attempt.resumed))
    .bind(attempt.outcome.map(Outcome::as_str))
    .bind(&attempt.error_code)
    .bind(&attempt.error_message)
    .bind(attempt.completed_at)
}

/// Builds the SQL statement that deletes finished attempts of a rotation, except the newest `kept`,
/// at most `limit`.
pub(super) fn trim(rotation: RotationId, kept: u32, limit: u32) -> Statement<'static> {
    sqlx::query(TRIM).bind(rotation.uuid()).bind(i64::from(limit)).bind(i64::from(kept))
}

/// Builds the SQL statement that deletes attempts that ended before a time, except the last attempt
/// of each rotation.
pub(super) fn prune(before: Time, limit: u32) -> Statement<'static> {
    sqlx::query(
        "DELETE FROM rotation_attempts WHERE id IN
             (SELECT a.id FROM rotation_attempts a JOIN rotations r ON r.id = a.rotation_id
              WHERE a.completed_at < $1 AND a.sequence < r.sequence
              ORDER BY a.completed_at, a.id
              LIMIT $2)",
    )
    .bind(before)
    .bind(i64::from(limit))
}

pub(super) fn record(row: &Row<'_>) -> StoreResult<AttemptRecord> {
    Ok(AttemptRecord {
        id: row.id("id")?,
        rotation: row.id("rotation_id")?,
        sequence: row.number("sequence")?,
        slot: row.one_of("slot", Slot::from_name)?,
        pending: row.get::<Option<_>>("pending")?.map(Sealed::from_bytes),
        state: row.one_of("state", AttemptState::from_name)?,
        trigger: row.one_of("trigger_type", TriggerType::from_name)?,
        triggered_by: row.get("triggered_by")?,
        tries: row.number("tries")?,
        resumed: row.number("resumed")?,
        outcome: row.one_of_if_any("outcome", Outcome::from_name)?,
        error_code: row.get("error_code")?,
        error_message: row.get("error_message")?,
        started_at: row.get("started_at")?,
        completed_at: row.get("completed_at")?,
    })
}
