//! Rotations and their history, as returned to callers.

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

/// A rotation, which regularly replaces the credential of a database user and writes the new
/// credential to secrets. The connection settings of the database are never returned.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rotation {
    /// Rotation ID.
    pub id: RotationId,
    /// ID of the environment whose secrets the rotation writes.
    pub environment_id: EnvironmentId,
    /// Rotation name.
    pub name: RotationName,
    /// Kind of database.
    pub integration_type: Integration,
    /// Number of days between rotations.
    pub rotation_interval_days: u32,
    /// Connection method: direct, or through an AWS Lambda function (proxy).
    pub connection_method: ConnectionMethod,
    /// Status of the rotation.
    pub status: RotationStatus,
    /// Time of the last successful rotation; absent before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub last_rotation_at: Option<Time>,
    /// Time of the next rotation; absent while the rotation is paused or disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_rotation_at: Option<Time>,
    /// Current error or warning of the rotation; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Secret keys that the rotation has written; empty before the first successful rotation.
    pub injected_secrets: Vec<SecretKey>,
    /// Creation time of the rotation.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// Time of the last change of the rotation.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Time,
}

/// A completed attempt to rotate a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RotationHistory))]
pub struct ConcludedAttempt {
    /// Attempt ID.
    pub id: AttemptId,
    /// Rotation ID.
    pub rotation_config_id: RotationId,
    /// Number of the attempt among all attempts of the rotation, starting at 1.
    pub version: u64,
    /// ID of the user who requested the attempt; absent for a scheduled attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triggered_by: Option<Uuid>,
    /// Reason why the attempt was started: scheduled or manual.
    pub trigger_type: TriggerType,
    /// Result of the attempt.
    pub status: Outcome,
    /// Time when the attempt started.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Time,
    /// Time when the attempt ended.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub completed_at: Time,
    /// Error or warning of the attempt; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

impl Rotation {
    pub(super) fn new(record: RotationRecord) -> Result<Self> {
        let keys = InjectedKeys::from_text(&record.settings.keys)?;
        let is_waiting =
            !matches!(record.status, RotationStatus::Paused | RotationStatus::Disabled);
        Ok(Self {
            id: record.id,
            environment_id: record.environment,
            name: record.settings.name,
            integration_type: record.settings.integration,
            rotation_interval_days: record.settings.interval_days,
            connection_method: record.settings.method,
            status: record.status,
            last_rotation_at: record.schedule.last_at,
            next_rotation_at: is_waiting.then_some(record.schedule.next_at),
            error_message: record.failure.message,
            injected_secrets: match record.slots.active {
                Some(_) => keys.all().into(),
                None => Vec::new(),
            },
            created_at: record.created_at,
            updated_at: record.updated_at,
        })
    }
}

impl ConcludedAttempt {
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
