//! Audit log entries as returned to callers.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::model::clock::serialize_time;
use crate::model::{AuditId, EnvironmentId, ProjectId, TeamId, Time};
use crate::store::AuditRecord;

/// An audit log entry. Names are recorded at the time of the action, so that they stay readable
/// after the object was renamed or deleted.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// ID of the audit log entry.
    pub id: AuditId,
    /// Team that the action belongs to; absent if the action belongs to no team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_id: Option<TeamId>,
    /// Project in which the action took place; absent for actions outside projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Name of the project at the time of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// Environment in which the action took place; absent for actions outside environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_id: Option<EnvironmentId>,
    /// Name of the environment at the time of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_name: Option<String>,
    /// Type of the actor: `user`, `service_token`, `system` or `anonymous`.
    pub actor_type: String,
    /// ID of the user or service token that performed the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<Uuid>,
    /// Name of the actor at the time of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// E-mail address of the user at the time of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_email: Option<String>,
    /// Name of the action, such as `secret.created`.
    pub action: String,
    /// Type of the affected object, such as `secret`.
    pub resource_type: String,
    /// ID of the affected object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id: Option<Uuid>,
    /// Name of the affected object at the time of the action, such as a secret key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// Outcome: `success`, `denied` or `failure`.
    pub outcome: String,
    /// Additional details of the action; never contains secret values.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: Map<String, Value>,
    /// IP address of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub ip_address: Option<IpAddr>,
    /// `User-Agent` header of the client's request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// ID of the HTTP request that caused the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Uuid>,
    /// Time of the action.
    #[serde(serialize_with = "serialize_time")]
    pub created_at: Time,
    /// Hash of the entry in the audit chain, in hexadecimal. Absent until the entry is appended to
    /// the audit chain, a few seconds after the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Hash of the previous entry in the audit chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev_hash: Option<String>,
}

impl From<AuditRecord> for AuditEntry {
    fn from(entry: AuditRecord) -> Self {
        let (hash, prev_hash) = entry
            .seal
            .map(|seal| (hex::encode(seal.hash), hex::encode(seal.previous_hash)))
            .unzip();
        Self {
            id: entry.id,
            team_id: entry.team,
            project_id: entry.project,
            project_name: entry.project_name,
            environment_id: entry.environment,
            environment_name: entry.environment_name,
            actor_type: entry.actor_type.into_owned(),
            actor_id: entry.actor_id,
            actor_name: entry.actor_name,
            actor_email: entry.actor_email,
            action: entry.action.into_owned(),
            resource_type: entry.resource_type.into_owned(),
            resource_id: entry.resource_id,
            resource_name: entry.resource_name,
            outcome: entry.outcome.into_owned(),
            // The service always writes an object. An invalid value, written by anything else, is
            // shown as an empty object.
            metadata: serde_json::from_str(&entry.metadata).unwrap_or_default(),
            ip_address: entry.address,
            user_agent: entry.agent,
            request_id: entry.request,
            created_at: entry.created_at,
            hash,
            prev_hash,
        }
    }
}
