//! Statements that store a rotation.

use super::{Statement, bigint};
use crate::crypto::Sealed;
use crate::model::rotations::Slot;
use crate::store::{RotationRecord, StoreResult};

/// Inserts a rotation that is not leased.
pub(super) fn insertion(rotation: &RotationRecord) -> StoreResult<Statement<'_>> {
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
    .bind(rotation.name.as_str())
    .bind(rotation.integration.as_str())
    .bind(rotation.method.as_str())
    .bind(rotation.level.as_str())
    .bind(rotation.connection.as_bytes())
    .bind(rotation.proxy.as_ref().map(Sealed::as_bytes))
    .bind(&rotation.keys)
    .bind(i64::from(rotation.interval_days))
    .bind(rotation.status.as_str())
    .bind(&rotation.error_code)
    .bind(&rotation.error_message)
    .bind(rotation.error_since)
    .bind(i64::from(rotation.failures))
    .bind(rotation.active_slot.map(Slot::as_str))
    .bind(rotation.retire_at)
    .bind(rotation.check_at)
    .bind(i64::from(rotation.checks))
    .bind(rotation.next_rotation_at)
    .bind(rotation.remaining.map(bigint).transpose()?)
    .bind(rotation.last_rotation_at)
    .bind(&rotation.identity)
    .bind(bigint(rotation.sequence)?)
    .bind(rotation.work_at)
    .bind(rotation.created_by)
    .bind(rotation.created_at)
    .bind(rotation.updated_at)
    .bind(rotation.announced_at);
    Ok(statement)
}

/// Updates what changes after the creation of a rotation.
pub(super) fn update(rotation: &RotationRecord) -> StoreResult<Statement<'_>> {
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
    .bind(rotation.method.as_str())
    .bind(rotation.level.as_str())
    .bind(rotation.connection.as_bytes())
    .bind(rotation.proxy.as_ref().map(Sealed::as_bytes))
    .bind(i64::from(rotation.interval_days))
    .bind(rotation.status.as_str())
    .bind(&rotation.error_code)
    .bind(&rotation.error_message)
    .bind(rotation.error_since)
    .bind(i64::from(rotation.failures))
    .bind(rotation.active_slot.map(Slot::as_str))
    .bind(rotation.retire_at)
    .bind(rotation.check_at)
    .bind(i64::from(rotation.checks))
    .bind(rotation.next_rotation_at)
    .bind(rotation.remaining.map(bigint).transpose()?)
    .bind(rotation.last_rotation_at)
    .bind(&rotation.identity)
    .bind(bigint(rotation.sequence)?)
    .bind(rotation.work_at)
    .bind(rotation.updated_at)
    .bind(rotation.announced_at);
    Ok(statement)
}
