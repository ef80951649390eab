//! An entry as it is shown.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::model::{AuditId, EnvironmentId, ProjectId, TeamId, Time};
use crate::store::AuditRecord;

/// Who did what, when and from where. Names are those of the time: things may be gone since.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// Which entry.
    pub id: AuditId,
    /// The team concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_id: Option<TeamId>,
    /// The project concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Its name then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// The environment concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_id: Option<EnvironmentId>,
    /// Its name then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_name: Option<String>,
    /// `user`, `service_token` or `system`.
    pub actor_type: String,
    /// Which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<Uuid>,
    /// Its name then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// A person's address then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_email: Option<String>,
    /// What was done, such as `secret.created`.
    pub action: String,
    /// The kind of thing it was done to.
    pub resource_type: String,
    /// Which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id: Option<Uuid>,
    /// Its name then: a secret's key, say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// `success`, `denied` or `failure`.
    pub outcome: String,
    /// More about it; never a value.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: Map<String, Value>,
    /// The client's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub ip_address: Option<IpAddr>,
    /// The client's name for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Uuid>,
    /// When.
    pub created_at: Time,
    /// The hash that seals the entry into its chain, in hexadecimal; absent for some seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The hash of the entry before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev_hash: Option<String>,
}

impl From<AuditRecord> for AuditEntry {
    fn from(entry: AuditRecord) -> Self {
        let (hash, prev_hash) = entry
            .seal
            .map(|seal| (hexadecimal(&seal.hash), hexadecimal(&seal.previous_hash)))
            .unzip();
        Self {
            id: entry.id,
            team_id: entry.team,
            project_id: entry.project,
            project_name: entry.project_name,
            environment_id: entry.environment,
            environment_name: entry.environment_name,
            actor_type: entry.actor_type,
            actor_id: entry.actor_id,
            actor_name: entry.actor_name,
            actor_email: entry.actor_email,
            action: entry.action,
            resource_type: entry.resource_type,
            resource_id: entry.resource_id,
            resource_name: entry.resource_name,
            outcome: entry.outcome,
            // Written by us, as an object; a row that other hands changed shows an empty one.
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

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
