//! Audit log: a record of the actions of users, service tokens and the service itself. Entries do
//! not change, except that a deleted user's name is removed.

use std::net::IpAddr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::StoreResult;
use crate::model::{AuditBatchId, AuditId, EnvironmentId, ProjectId, TeamId, Time};

/// An audit log entry. It holds names as well as IDs, so that it is readable after the resources
/// are deleted. No field contains a secret value.
///
/// Nodes of different versions read each other's batches. If an entry has a field that a node does
/// not know, the node leaves the entry to newer nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRecord {
    /// Entry ID.
    pub id: AuditId,
    /// Team; `None` for an entry that concerns only a user.
    pub team: Option<TeamId>,
    /// Project ID.
    pub project: Option<ProjectId>,
    /// Project name at the time of the entry.
    pub project_name: Option<String>,
    /// Environment ID.
    pub environment: Option<EnvironmentId>,
    /// Environment name at the time of the entry.
    pub environment_name: Option<String>,
    /// Actor type: `user`, `service_token`, `system` or `anonymous`.
    pub actor_type: String,
    /// ID of the user or service token.
    pub actor_id: Option<Uuid>,
    /// Name of the actor at the time of the entry.
    pub actor_name: Option<String>,
    /// E-mail address of the user at the time of the entry.
    pub actor_email: Option<String>,
    /// Action, such as `secret.created`.
    pub action: String,
    /// Resource type.
    pub resource_type: String,
    /// Resource ID.
    pub resource_id: Option<Uuid>,
    /// Resource name at the time of the entry, such as a secret key or a project's name.
    pub resource_name: Option<String>,
    /// Outcome, such as `success`.
    pub outcome: String,
    /// Further details, as a JSON object.
    pub metadata: String,
    /// IP address of the client.
    pub address: Option<IpAddr>,
    /// User agent of the client.
    pub agent: Option<String>,
    /// Request ID.
    pub request: Option<Uuid>,
    /// Time of the action.
    pub created_at: Time,
    /// Position and hash in the audit chain; `None` until the entry is appended to the chain.
    /// Used only by [`AuditWrites::insert_sealed_audit`] when an entry is inserted.
    #[serde(skip)]
    pub seal: Option<AuditSeal>,
}

/// Batch of audit entries: entries of reads that were committed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditBatch {
    /// Batch ID.
    pub id: AuditBatchId,
    /// Entries, without positions and hashes; `None` if they cannot be read.
    pub entries: Option<Vec<AuditRecord>>,
}

/// Position and hash of an audit entry in its team's audit chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditSeal {
    /// Position in the audit chain, from 1.
    pub position: u64,
    /// Hash of the previous entry in the chain; zeros for the first entry.
    pub previous_hash: [u8; 32],
    /// MAC over the entry, its position and the previous hash. The actor's name and e-mail address
    /// are not part of it, because they can be erased.
    pub hash: [u8; 32],
}

/// Start and end of a team's audit chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditHead {
    /// Team; `None` for the audit chain of entries without a team.
    pub team: Option<TeamId>,
    /// Position of the last entry that was deleted because of its age; 0 if none was.
    pub base: u64,
    /// Hash of the last deleted entry; zeros if none was deleted.
    pub base_hash: [u8; 32],
    /// Position of the last entry in the chain.
    pub position: u64,
    /// Hash of the last entry in the chain.
    pub hash: [u8; 32],
    /// MAC over all other fields of this record.
    pub mac: [u8; 32],
}

/// Selection of audit entries by team or by actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditScope {
    /// Entries of this team.
    Team(TeamId),
    /// Entries with this user or service token as the actor.
    Actor(Uuid),
}

/// Filter for actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionFilter {
    /// The action with exactly this name.
    Exactly(String),
    /// All actions with this prefix.
    Prefix(String),
}

/// Sort order of audit entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuditOrder {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
}

/// Filter, sort order and range of an audit query. `None` or an empty list means no restriction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFilter {
    /// Team or actor whose entries are returned.
    pub scope: AuditScope,
    /// Action filters; an entry must match at least one of them.
    pub actions: Vec<ActionFilter>,
    /// ID of the acting user or service token.
    pub actor: Option<Uuid>,
    /// Actor type.
    pub actor_type: Option<String>,
    /// Project ID.
    pub project: Option<ProjectId>,
    /// Environment ID.
    pub environment: Option<EnvironmentId>,
    /// Resource type.
    pub resource_type: Option<String>,
    /// Resource ID.
    pub resource: Option<Uuid>,
    /// Resource name, such as a secret key.
    pub resource_name: Option<String>,
    /// Outcome.
    pub outcome: Option<String>,
    /// IP address of the client.
    pub address: Option<IpAddr>,
    /// Start of the time range, inclusive.
    pub from: Option<Time>,
    /// End of the time range, exclusive.
    pub to: Option<Time>,
    /// Cursor: only entries after this entry in the sort order are returned.
    pub behind: Option<(Time, AuditId)>,
    /// Last entry in the sort order that may be returned.
    pub until: Option<(Time, AuditId)>,
    /// Sort order.
    pub order: AuditOrder,
    /// Maximum number of entries.
    pub limit: u32,
}

impl AuditFilter {
    /// True if the filter has conditions other than scope and times, so that a page can require
    /// reading many more entries than it holds.
    #[must_use]
    pub fn is_selective(&self) -> bool {
        let everything = Self {
            from: self.from,
            to: self.to,
            behind: self.behind,
            until: self.until,
            order: self.order,
            ..Self::newest(self.scope, self.limit)
        };
        *self != everything
    }

    /// Creates a filter for the newest entries of a scope.
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
            until: None,
            order: AuditOrder::Newest,
            limit,
        }
    }
}

impl From<TeamId> for AuditScope {
    fn from(team: TeamId) -> Self {
        Self::Team(team)
    }
}

/// Read access to the audit log.
#[async_trait]
pub trait AuditReads: Send {
    /// Lists the audit entries that match the filter, ordered by time and, within a microsecond, by
    /// ID. Entries in batches are not included.
    async fn audit_entries(&mut self, filter: &AuditFilter) -> StoreResult<Vec<AuditRecord>>;

    /// Returns time and ID of the entry at position `count` (from 1) in the range of the filter, of
    /// which only scope, times, cursor and order are used. `None` if there are fewer entries.
    async fn audit_entry_at(
        &mut self,
        filter: &AuditFilter,
        count: u32,
    ) -> StoreResult<Option<(Time, AuditId)>>;

    /// Lists the teams with audit entries that are not yet in an audit chain; `None` stands for the
    /// entries that belong to no team.
    async fn unsealed_teams(&mut self) -> StoreResult<Vec<Option<TeamId>>>;

    /// Lists the oldest audit entries of a team that are not yet in its audit chain.
    async fn unsealed_audit(
        &mut self,
        team: Option<TeamId>,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>>;

    /// Lists batches of audit entries (see [`AuditWrites::insert_audit_batch`]) after the ID
    /// `behind`, in the order of their IDs.
    async fn audit_batches(
        &mut self,
        behind: AuditBatchId,
        limit: u32,
    ) -> StoreResult<Vec<AuditBatch>>;

    /// Returns the highest ID of a batch of audit entries.
    async fn last_audit_batch(&mut self) -> StoreResult<Option<AuditBatchId>>;

    /// Counts the audit entries of all teams that are not yet in an audit chain, including entries
    /// in batches.
    async fn count_unsealed_audit(&mut self) -> StoreResult<u64>;

    /// Returns the start and end of a team's audit chain; `None` if the team has no chain.
    async fn audit_head(&mut self, team: Option<TeamId>) -> StoreResult<Option<AuditHead>>;

    /// Lists the start and end of every audit chain, ordered by team.
    async fn audit_heads(&mut self) -> StoreResult<Vec<AuditHead>>;

    /// Lists the entries of an audit chain after position `behind`, ordered by position.
    async fn audit_chain(
        &mut self,
        team: Option<TeamId>,
        behind: u64,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>>;

    /// Returns the position of the first entry in an audit chain that was created at or after
    /// `from`.
    async fn audit_position(
        &mut self,
        team: Option<TeamId>,
        from: Time,
    ) -> StoreResult<Option<u64>>;
}

/// Write access to the audit log.
#[async_trait]
pub trait AuditWrites: Send {
    /// Inserts audit entries. Skips an entry if its ID exists, so that a caller that does not know
    /// whether its commit succeeded can insert the same entries again.
    async fn insert_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()>;

    /// Inserts audit entries as one record, a batch, which is quicker to write. Only the methods
    /// for batches return or change them, but `count_unsealed_audit` counts them.
    async fn insert_audit_batch(&mut self, entries: &[AuditRecord]) -> StoreResult<()>;

    /// Deletes batches of audit entries. Returns the IDs of the batches that existed. Waits for
    /// concurrent transactions that delete the same batches.
    async fn delete_audit_batches(
        &mut self,
        batches: &[AuditBatchId],
    ) -> StoreResult<Vec<AuditBatchId>>;

    /// Inserts audit entries with their positions and hashes. Fails with `Stale` if one of the
    /// entries exists already; the caller must then drop the transaction.
    async fn insert_sealed_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()>;

    /// Removes the name and e-mail address of a user from all audit entries with the user as the
    /// actor. The entries keep the user ID.
    async fn anonymize_actor(&mut self, user: Uuid) -> StoreResult<()>;

    /// Appends audit entries to an audit chain. `end` is the expected last position of the stored
    /// chain (0 for a new chain); `head` is the new head. Fails with `Stale` if the stored chain
    /// does not end at `end`, or if an entry does not exist or is in a chain already; the caller
    /// must then drop the transaction.
    async fn seal_audit(
        &mut self,
        head: &AuditHead,
        end: u64,
        seals: &[(AuditId, AuditSeal)],
    ) -> StoreResult<()>;

    /// Deletes the oldest audit entries of an audit chain, up to the position `head.base`. Fails
    /// with `Stale` unless the stored chain has the base `base` and the same last position as
    /// `head`.
    async fn prune_audit(&mut self, head: &AuditHead, base: u64) -> StoreResult<()>;
}
