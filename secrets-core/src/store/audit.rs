//! The audit log: who did what. Entries are never changed.

use std::net::IpAddr;

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::model::{AuditId, EnvironmentId, ProjectId, TeamId, Time};

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
    /// Its place in the chain, once it has one; read, not written with the entry.
    pub seal: Option<AuditSeal>,
}

/// An entry's place in the chain of its team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditSeal {
    /// Counts the entries of the chain, from 1.
    pub position: u64,
    /// The hash of the entry before, or zeros.
    pub previous_hash: [u8; 32],
    /// The entry's own hash, which holds all of this.
    pub hash: [u8; 32],
}

/// Where a team's chain begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditHead {
    /// Whose chain; `None` for what concerns no team.
    pub team: Option<TeamId>,
    /// The position of the last entry that was removed for its age; 0 if none was.
    pub base: u64,
    /// Its hash, or zeros.
    pub base_hash: [u8; 32],
    /// The position of the last entry.
    pub position: u64,
    /// Its hash.
    pub hash: [u8; 32],
    /// Authenticates all of this.
    pub mac: [u8; 32],
}

/// Whose entries are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditScope {
    /// Those of these teams.
    Teams(Vec<TeamId>),
    /// Those of what this user or token did.
    Actor(Uuid),
}

/// Which actions are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionFilter {
    /// This one.
    Exactly(String),
    /// All that begin so.
    Prefix(String),
}

/// In which order entries come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuditOrder {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

/// Which entries are wanted, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFilter {
    /// Whose.
    pub scope: AuditScope,
    /// Of any of these actions; of all where there are none.
    pub actions: Vec<ActionFilter>,
    /// By this user or token.
    pub actor: Option<Uuid>,
    /// By this kind of actor.
    pub actor_type: Option<String>,
    /// Of this project.
    pub project: Option<ProjectId>,
    /// Of this environment.
    pub environment: Option<EnvironmentId>,
    /// About this kind of thing.
    pub resource_type: Option<String>,
    /// About this thing.
    pub resource: Option<Uuid>,
    /// About a thing of this name: a secret's key, say.
    pub resource_name: Option<String>,
    /// With this outcome.
    pub outcome: Option<String>,
    /// From this address.
    pub address: Option<IpAddr>,
    /// Not before.
    pub from: Option<Time>,
    /// Before.
    pub to: Option<Time>,
    /// Those that come behind this one, in the order wanted.
    pub behind: Option<(Time, AuditId)>,
    /// In which order.
    pub order: AuditOrder,
    /// The most that come.
    pub limit: u32,
}

impl AuditFilter {
    /// The newest entries of this scope.
    #[must_use]
    pub fn newest(scope: impl Into<AuditScope>, limit: u32) -> Self {
        Self {
            scope: scope.into(),
            actions: Vec::new(),
            actor: None,
            actor_type: None,
            project: None,
            environment: None,
            resource_type: None,
            resource: None,
            resource_name: None,
            outcome: None,
            address: None,
            from: None,
            to: None,
            behind: None,
            order: AuditOrder::Newest,
            limit,
        }
    }
}

impl From<TeamId> for AuditScope {
    fn from(team: TeamId) -> Self {
        Self::Teams(vec![team])
    }
}

/// Reading the log.
#[async_trait]
pub trait AuditReads: Send {
    /// The entries that are wanted, by time and, within a microsecond, by id.
    async fn audit_entries(&mut self, wanted: &AuditFilter) -> StoreResult<Vec<AuditRecord>>;

    /// The oldest entries that have no place in a chain yet, of any team.
    async fn unsealed_audit(&mut self, limit: u32) -> StoreResult<Vec<AuditRecord>>;

    /// Where a team's chain begins and ends, if it has one.
    async fn audit_head(&mut self, team: Option<TeamId>) -> StoreResult<Option<AuditHead>>;

    /// The ends of all chains, ordered by team.
    async fn audit_heads(&mut self) -> StoreResult<Vec<AuditHead>>;

    /// A chain's entries behind a position, in their order.
    async fn audit_chain(
        &mut self,
        team: Option<TeamId>,
        behind: u64,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>>;

    /// The position of a chain's first entry that is not older than this, if there is one.
    async fn audit_position(
        &mut self,
        team: Option<TeamId>,
        from: Time,
    ) -> StoreResult<Option<u64>>;
}

/// Writing the log.
#[async_trait]
pub trait AuditWrites: Send {
    /// Adds entries. One whose id is there already is left alone, so that a batch whose commit went
    /// unanswered can be written again.
    async fn insert_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()>;

    /// Takes the name and the address of a person out of all entries of what they did; the id stays.
    async fn forget_actor(&mut self, user: Uuid) -> StoreResult<()>;

    /// Gives entries their places behind the end of a chain, which `head` moves from `end` (0 where
    /// the chain begins). Fails with `Stale` if the chain ends elsewhere by now, or an entry is gone
    /// or has a place already; the transaction is then to be dropped.
    async fn seal_audit(
        &mut self,
        head: &AuditHead,
        end: u64,
        seals: &[(AuditId, AuditSeal)],
    ) -> StoreResult<()>;

    /// Removes a chain's entries up to the new base of `head`. Fails with `Stale` if the chain's
    /// base or end is another by now.
    async fn prune_audit(&mut self, head: &AuditHead, base: u64) -> StoreResult<()>;
}
