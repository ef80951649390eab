//! The audit log: who did what. Entries are never changed.

use std::net::IpAddr;

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::clock::Time;
use crate::ids::{AuditId, EnvironmentId, ProjectId, TeamId};

/// An entry. Names stand beside ids so that it can still be read when the things are gone; values
/// are in none of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Which entry.
    pub id: AuditId,
    /// The team concerned; `None` for what concerns a person alone.
    pub team: Option<TeamId>,
    /// The project concerned.
    pub project: Option<ProjectId>,
    /// Its name then.
    pub project_name: Option<String>,
    /// The environment concerned.
    pub environment: Option<EnvironmentId>,
    /// Its name then.
    pub environment_name: Option<String>,
    /// `user`, `service_token` or `system`.
    pub actor_type: String,
    /// Which one.
    pub actor_id: Option<Uuid>,
    /// Its name then.
    pub actor_name: Option<String>,
    /// A person's address then.
    pub actor_email: Option<String>,
    /// What was done, such as `secret.created`.
    pub action: String,
    /// The kind of thing it was done to.
    pub resource_type: String,
    /// Which one.
    pub resource_id: Option<Uuid>,
    /// Its name then: a secret's key, a project's name.
    pub resource_name: Option<String>,
    /// `success`.
    pub outcome: String,
    /// More, as a JSON object.
    pub metadata: String,
    /// The client's address.
    pub address: Option<IpAddr>,
    /// The client's name for itself.
    pub agent: Option<String>,
    /// The request.
    pub request: Option<Uuid>,
    /// When.
    pub created_at: Time,
}

/// Reading the log.
#[async_trait]
pub trait AuditReads: Send {
    /// The newest entries of a team, newest first.
    async fn audit_entries(&mut self, team: TeamId, limit: u32) -> StoreResult<Vec<AuditRecord>>;
}

/// Writing the log.
#[async_trait]
pub trait AuditWrites: Send {
    /// Adds entries. One whose id is there already is left alone, so that a batch whose commit went
    /// unanswered can be written again.
    async fn insert_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()>;
}
