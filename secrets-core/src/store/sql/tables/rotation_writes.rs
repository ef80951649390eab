//! SQL statements that store a rotation.

use super::{Statement, bigint};
use crate::crypto::Sealed;
use crate::model::rotations::Slot;
use crate::store::{RotationRecord, StoreResult};

/// Builds the SQL statement that inserts a rotation without a lease.
pub(super) fn insertion(rotation: &RotationRecord) -> StoreResult<Statement<'_>> {
    let RotationRecord { settings, failure, slots, schedule, .. } = rotation;
    let statement = sqlx::query(
        "INSERT INTO rotations
             (id, environment_id, name, integration, method, level, connection, proxy, keys,
              interval_days, status, error_code, error_message, error_since, failures,
              active_slot, retire_at, check_at, checks, next_rotation_at, remaining,
              last_rotation_at, identity, sequence, work_at, lease_epoch, created_by, created_at,
              updated_at, announced_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
              $19, $20, $21, $22, $23, $24, $25, 0, $26, $27, $28, $29)
         ON CONFLICT DO NOTHING",
    )
    .bind(rotation.id.uuid())
    .bind(rotation.environment.uuid())
    .bind(settings.name.as_str())
    .bind(settings.integration.as_str())
    .bind(settings.method.as_str())
    .bind(settings.level.as_str())
    .bind(settings.connection.as_bytes())
    .bind(settings.proxy.as_ref().map(Sealed::as_bytes))
    .bind(&settings.keys)
    .bind(i64::from(settings.interval_days))
    .bind(rotation.status.as_str())
    .bind(&failure.code)
    .bind(&failure.message)
    .bind(failure.since)
    .bind(i64::from(failure.count))
    .bind(slots.active.map(Slot::as_str))
    .bind(slots.retire_at)
    .bind(slots.check_at)
    .bind(i64::from(slots.checks))
    .bind(schedule.next_at)
    .bind(schedule.remaining.map(bigint).transpose()?)
    .bind(schedule.last_at)
    .bind(&rotation.identity)
    .bind(bigint(rotation.sequence)?)
    .bind(schedule.work_at)
    .bind(rotation.created_by)
    .bind(rotation.created_at)
    .bind(rotation.updated_at)
    .bind(rotation.announced_at);
    Ok(statement)
}

/// Builds the SQL statement that updates the fields of a rotation that can change after its
/// creation.
pub(super) fn update(rotation: &RotationRecord) -> StoreResult<Statement<'_>> {
    let RotationRecord { settings, failure, slots, schedule, .. } = rotation;
    let statement = sqlx::query(
        "UPDATE rotations
         SET method = $2, level = $3, connection = $4, proxy = $5, interval_days = $6,
             status = $7, error_code = $8, error_message = $9, error_since = $10,
             failures = $11, active_slot = $12, retire_at = $13, check_at = $14, checks = $15,
             next_rotation_at = $16, remaining = $17, last_rotation_at = $18, identity = $19,
             sequence = $20, work_at = $21, updated_at = $22, announced_at = $23
         WHERE id = $1",
    )
    .bind(rotation.id.uuid())
    .bind(settings.method.as_str())
    .bind(settings.level.as_str())
    .bind(settings.connection.as_bytes())
    .bind(settings.proxy.as_ref().map(Sealed::as_bytes))
    .bind(i64::from(settings.interval_days))
    .bind(rotation.status.as_str())
    .bind(&failure.code)
    .bind(&failure.message)
    .bind(failure.since)
    .bind(i64::from(failure.count))
    .bind(slots.active.map(Slot::as_str))
    .bind(slots.retire_at)
    .bind(slots.check_at)
    .bind(i64::from(slots.checks))
    .bind(schedule.next_at)
    .bind(schedule.remaining.map(bigint).transpose()?)
    .bind(schedule.last_at)
    .bind(&rotation.identity)
    .bind(bigint(rotation.sequence)?)
    .bind(schedule.work_at)
    .bind(rotation.updated_at)
    .bind(rotation.announced_at);
    Ok(statement)
}
