//! A rotation and its history, as they are told.

use serde::Serialize;
use uuid::Uuid;

use super::keys::InjectedKeys;
use crate::model::rotations::{
    ConnectionMethod, Integration, Outcome, RotationStatus, TriggerType,
};
use crate::model::{
    AttemptId, EnvironmentId, Error, Result, RotationId, RotationName, SecretKey, Time,
};
use crate::store::{AttemptRecord, RotationRecord};

/// A rotation. How its database is reached is never told.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rotation {
    /// Which rotation.
    pub id: RotationId,
    /// The environment whose secrets it writes.
    pub environment_id: EnvironmentId,
    /// Its name.
    pub name: RotationName,
    /// What kind of database.
    pub integration_type: Integration,
    /// How many days lie between rotations.
    pub rotation_interval_days: u32,
    /// Who dials the database.
    pub connection_method: ConnectionMethod,
    /// How it is doing.
    pub status: RotationStatus,
    /// When it last succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub last_rotation_at: Option<Time>,
    /// When it rotates next; absent while it is paused or disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_rotation_at: Option<Time>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The keys it has written; none before its first success.
    pub injected_secrets: Vec<SecretKey>,
    /// When it was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// When it last changed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Time,
}

/// How an attempt to rotate ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RotationHistory))]
pub struct HistoryEntry {
    /// Which attempt.
    pub id: AttemptId,
    /// Whose attempt.
    pub rotation_config_id: RotationId,
    /// Its number within the rotation, from 1.
    pub version: u64,
    /// Who asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triggered_by: Option<Uuid>,
    /// Why it was begun.
    pub trigger_type: TriggerType,
    /// How it ended.
    pub status: Outcome,
    /// When it was begun.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Time,
    /// When it ended.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub completed_at: Time,
    /// Why it ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

impl Rotation {
    pub(super) fn new(record: RotationRecord) -> Result<Self> {
        let keys = InjectedKeys::from_text(&record.keys)?;
        let is_waiting =
            !matches!(record.status, RotationStatus::Paused | RotationStatus::Disabled);
        Ok(Self {
            id: record.id,
            environment_id: record.environment,
            name: record.name,
            integration_type: record.integration,
            rotation_interval_days: record.interval_days,
            connection_method: record.method,
            status: record.status,
            last_rotation_at: record.last_rotation_at,
            next_rotation_at: is_waiting.then_some(record.next_rotation_at),
            error_message: record.error_message,
            injected_secrets: match record.active_slot {
                Some(_) => keys.all().into(),
                None => Vec::new(),
            },
            created_at: record.created_at,
            updated_at: record.updated_at,
        })
    }
}

impl HistoryEntry {
    pub(super) fn new(attempt: AttemptRecord) -> Result<Self> {
        let (Some(status), Some(completed_at)) = (attempt.outcome, attempt.completed_at) else {
            return Err(Error::internal("an attempt that is not concluded"));
        };
        Ok(Self {
            id: attempt.id,
            rotation_config_id: attempt.rotation,
            version: attempt.sequence,
            triggered_by: attempt.triggered_by,
            trigger_type: attempt.trigger,
            status,
            started_at: attempt.started_at,
            completed_at,
            error_message: attempt.error_message,
        })
    }
}
