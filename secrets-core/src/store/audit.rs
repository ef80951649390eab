//! Audit log: a record of the actions of users, service tokens and the service itself. Entries
//! never change, except that they are appended to an audit chain, and that the name and e-mail
//! address of a deleted user are removed.

mod serialize;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use serde::Deserialize;
use uuid::Uuid;

use super::StoreResult;
use crate::model::{AuditBatchId, AuditId, EnvironmentId, ProjectId, TeamId, Time, UserId};

/// Minimum time for which new audit entries of a deleted user are anonymized: longer than any
/// request in progress at the deletion, plus the difference between the clocks of the nodes.
pub const ANONYMIZATION_MARGIN: TimeDelta = TimeDelta::minutes(10);

/// An audit log entry. It contains names and IDs, so that it can be read after the resources are
/// deleted, and no secret value.
///
/// Nodes of different versions read each other's batches. A node skips a batch that has an entry
/// with an unknown field; a newer node processes the batch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRecord {
    /// ID of the audit log entry.
    pub id: AuditId,
    /// Team that the action belongs to; `None` for an action that concerns only a user.
    pub team: Option<TeamId>,
    /// ID of the project in which the action took place.
    pub project: Option<ProjectId>,
    /// Project name at the time of the action.
    pub project_name: Option<String>,
    /// ID of the environment in which the action took place.
    pub environment: Option<EnvironmentId>,
    /// Environment name at the time of the action.
    pub environment_name: Option<String>,
    /// Actor type: `user`, `service_token`, `system` or `anonymous`.
    pub actor_type: Cow<'static, str>,
    /// ID of the user or service token that performed the action; `None` for other actors.
    pub actor_id: Option<Uuid>,
    /// Name of the actor at the time of the action.
    pub actor_name: Option<String>,
    /// E-mail address of the user at the time of the action.
    pub actor_email: Option<String>,
    /// Name of the action, such as `secret.created`.
    pub action: Cow<'static, str>,
    /// Type of the affected resource, such as `secret`.
    pub resource_type: Cow<'static, str>,
    /// ID of the affected resource.
    pub resource_id: Option<Uuid>,
    /// Name of the affected resource at the time of the action, such as a secret key or a project's
    /// name.
    pub resource_name: Option<String>,
    /// Outcome of the action: `success`, `denied` or `failure`.
    pub outcome: Cow<'static, str>,
    /// Further details of the action, as a JSON object.
    pub metadata: String,
    /// IP address of the client.
    pub address: Option<IpAddr>,
    /// `User-Agent` header of the client.
    pub agent: Option<String>,
    /// ID of the request that caused the action.
    pub request: Option<Uuid>,
    /// Time of the action.
    pub created_at: Time,
    /// Position and hash in the audit chain; `None` until the entry is appended to the chain. When
    /// an entry is inserted, only [`AuditWrites::insert_sealed_audit`] stores this field.
    #[serde(skip)]
    pub seal: Option<AuditSeal>,
}

impl AuditRecord {
    /// Returns the entry without the project, the environment and the resource.
    pub(crate) fn without_resource(self) -> Self {
        Self {
            project: None,
            project_name: None,
            environment: None,
            environment_name: None,
            resource_id: None,
            resource_name: None,
            ..self
        }
    }
}

/// Batch of audit entries of reads that were committed together and are not in the audit log yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditBatch {
    /// ID of the batch.
    pub id: AuditBatchId,
    /// Entries, without positions and hashes; `None` if the stored batch cannot be decoded.
    pub entries: Option<Vec<AuditRecord>>,
}

/// Position and hash of an audit entry in its team's audit chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditSeal {
    /// Position of the entry in the audit chain, starting at 1.
    pub position: u64,
    /// Hash of the previous entry in the chain; zeros for the first entry.
    pub previous_hash: [u8; 32],
    /// MAC over the position, the previous hash, and the entry without the actor's name and e-mail
    /// address, which can be erased.
    pub hash: [u8; 32],
}

/// Start and end of a team's audit chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditHead {
    /// Team of the audit chain; `None` for the chain of the entries that belong to no team.
    pub team: Option<TeamId>,
    /// Position of the last entry that was deleted at the end of its retention period; 0 if none
    /// was deleted.
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

/// Entries to append to an audit chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainExtension {
    /// Position that the caller expects the last entry of the stored chain to have; 0 for a new
    /// chain.
    pub end: u64,
    /// New head of the chain.
    pub head: AuditHead,
    /// Entries of the audit log that become part of the chain, with their positions and hashes.
    pub seals: Vec<(AuditId, AuditSeal)>,
}

/// Selection of audit entries by team or by actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditScope {
    /// Entries of actions that belong to this team.
    Team(TeamId),
    /// Entries of actions that this user or service token performed.
    Actor(Uuid),
}

/// Filter for the names of actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionFilter {
    /// Action with exactly this name.
    Exactly(String),
    /// All actions whose name starts with this prefix.
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

/// Conditions, order and range of an audit query. `None` or an empty list means no restriction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFilter {
    /// Team or actor whose entries are returned.
    pub scope: AuditScope,
    /// Action filters; an entry must match at least one of them.
    pub actions: Vec<ActionFilter>,
    /// ID of the user or service token that performed the action.
    pub actor: Option<Uuid>,
    /// Type of the actor: `user`, `service_token`, `system` or `anonymous`.
    pub actor_type: Option<String>,
    /// ID of the project in which the action took place.
    pub project: Option<ProjectId>,
    /// ID of the environment in which the action took place.
    pub environment: Option<EnvironmentId>,
    /// Type of the affected resource.
    pub resource_type: Option<String>,
    /// ID of the affected resource.
    pub resource: Option<Uuid>,
    /// Name of the affected resource, such as a secret key.
    pub resource_name: Option<String>,
    /// Outcome of the action: `success`, `denied` or `failure`.
    pub outcome: Option<String>,
    /// IP address of the client.
    pub address: Option<IpAddr>,
    /// Start of the time range, inclusive.
    pub from: Option<Time>,
    /// End of the time range, exclusive.
    pub to: Option<Time>,
    /// Cursor: returns only entries that follow this entry in the sort order.
    pub behind: Option<(Time, AuditId)>,
    /// Time and ID of the last entry, in the sort order, that may be returned; `None` for no bound.
    pub until: Option<(Time, AuditId)>,
    /// Sort order of the returned entries: newest or oldest first.
    pub order: AuditOrder,
    /// Maximum number of entries to return.
    pub limit: u32,
}

impl AuditFilter {
    /// True if the filter has conditions other than scope and times. A query may then have to read
    /// many more entries than it returns.
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

    /// Creates a filter for the newest entries of a team or actor.
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
    /// Lists the audit entries that match the filter, ordered by time, and entries of the same
    /// microsecond by ID. Entries that are still in batches are not included.
    async fn audit_entries(&mut self, filter: &AuditFilter) -> StoreResult<Vec<AuditRecord>>;

    /// Returns the time and ID of the entry at position `count` (starting at 1), in the filter's
    /// order, among the entries that match the filter's scope, times and cursor. Ignores the
    /// filter's other conditions. Returns `None` if there are fewer entries.
    async fn audit_entry_at(
        &mut self,
        filter: &AuditFilter,
        count: u32,
    ) -> StoreResult<Option<(Time, AuditId)>>;

    /// Lists the teams with audit entries that are not yet in an audit chain; `None` stands for the
    /// entries that belong to no team.
    async fn unsealed_teams(&mut self) -> StoreResult<Vec<Option<TeamId>>>;

    /// Returns those of these teams that have audit entries that are not yet in an audit chain.
    async fn unsealed_teams_among(&mut self, teams: &[TeamId]) -> StoreResult<Vec<TeamId>>;

    /// Lists the oldest audit entries of a team that are not yet in its audit chain, at most
    /// `limit`.
    async fn unsealed_audit(
        &mut self,
        team: Option<TeamId>,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>>;

    /// Lists batches of audit entries after the ID `behind`, in order of ID, at most `limit`.
    async fn audit_batches(
        &mut self,
        behind: AuditBatchId,
        limit: u32,
    ) -> StoreResult<Vec<AuditBatch>>;

    /// Returns the highest ID of all batches of audit entries; `None` if there is no batch.
    async fn last_audit_batch(&mut self) -> StoreResult<Option<AuditBatchId>>;

    /// Counts the audit entries of all teams, also those in batches, that are in no chain yet.
    async fn count_unsealed_audit(&mut self) -> StoreResult<u64>;

    /// Counts the audit entries of a team that are not yet in its audit chain, at most `limit`.
    /// Does not include entries in batches.
    async fn count_unsealed_audit_of(
        &mut self,
        team: Option<TeamId>,
        limit: u32,
    ) -> StoreResult<u64>;

    /// Returns the first team after `after`, in order of ID, that has entries in its audit chain,
    /// even if the start and end of the chain are not stored.
    async fn next_audited_team(&mut self, after: TeamId) -> StoreResult<Option<TeamId>>;

    /// Returns the start and end of a team's audit chain; `None` if the team has no chain.
    async fn audit_head(&mut self, team: Option<TeamId>) -> StoreResult<Option<AuditHead>>;

    /// Returns the start and end of the audit chains of these teams. Skips teams without a chain.
    async fn audit_heads_among(&mut self, teams: &[Option<TeamId>]) -> StoreResult<Vec<AuditHead>>;

    /// Lists the teams whose audit chain has a stored start and end, in order of ID. `None` is the
    /// chain of entries without a team. A damaged start or end affects no other chain.
    async fn audit_chains(&mut self) -> StoreResult<Vec<Option<TeamId>>>;

    /// Lists the entries of an audit chain after position `behind`, ordered by position, at most
    /// `limit`.
    async fn audit_chain(
        &mut self,
        team: Option<TeamId>,
        behind: u64,
        limit: u32,
    ) -> StoreResult<Vec<AuditRecord>>;

    /// Lists the users whose anonymization has begun and is not complete (see
    /// [`AuditWrites::anonymize_actor`]), at most `limit`.
    async fn unfinished_anonymizations(&mut self, limit: u32) -> StoreResult<Vec<UserId>>;

    /// Returns the position of the first entry in an audit chain that was created at or after the
    /// time `from`; `None` if there is none.
    async fn audit_position(
        &mut self,
        team: Option<TeamId>,
        from: Time,
    ) -> StoreResult<Option<u64>>;
}

/// Write access to the audit log.
#[async_trait]
pub trait AuditWrites: Send {
    /// Inserts audit entries. Skips entries whose ID already exists, so that a caller can insert
    /// the same entries again after a commit with an unknown outcome.
    async fn insert_audit(&mut self, entries: &[AuditRecord]) -> StoreResult<()>;

    /// Inserts audit entries as one record, a batch, which is faster than inserting single entries.
    /// Only the methods for batches and `count_unsealed_audit` return them. A store in memory can
    /// keep the given entries without a copy.
    async fn insert_audit_batch(&mut self, entries: &Arc<[AuditRecord]>) -> StoreResult<()>;

    /// Deletes batches of audit entries. Returns the IDs of the batches that existed. Waits for
    /// concurrent transactions that delete the same batches.
    async fn delete_audit_batches(
        &mut self,
        batches: &[AuditBatchId],
    ) -> StoreResult<Vec<AuditBatchId>>;

    /// Inserts audit entries with their positions and hashes. Fails with `Stale` if one of the
    /// entries already exists; the caller must then drop the transaction.
    async fn insert_sealed_audit(&mut self, entries: Vec<AuditRecord>) -> StoreResult<()>;

    /// Removes the name and e-mail address of a user from the oldest audit entries whose actor is
    /// the user, at most `limit`. The entries keep the user's ID. Returns true if no entries are
    /// left now. From then on, [`unfinished_anonymizations`](AuditReads::unfinished_anonymizations)
    /// lists the user, and [`resume_anonymization`](Self::resume_anonymization) continues.
    async fn anonymize_actor(&mut self, user: UserId, limit: u32, now: Time) -> StoreResult<bool>;

    /// Continues [`anonymize_actor`](Self::anonymize_actor) with the next entries, at most `limit`.
    /// Returns true if no entries are left now. Also finds entries inserted up to
    /// [`ANONYMIZATION_MARGIN`] after their time. When none was found for that long, the
    /// anonymization is complete, and this has no effect. Waits for concurrent calls for this user.
    async fn resume_anonymization(
        &mut self,
        user: UserId,
        limit: u32,
        now: Time,
    ) -> StoreResult<bool>;

    /// Locks the audit chains of these teams, and returns the start and end of each chain, like
    /// [`audit_heads_among`](AuditReads::audit_heads_among).
    async fn lock_audit_heads(&mut self, teams: &[Option<TeamId>]) -> StoreResult<Vec<AuditHead>>;

    /// Appends audit entries to audit chains, at most one extension for each team. Fails with
    /// `Stale` if the last position of a stored chain, or its start (`base` and `base_hash`), is
    /// not the expected one, or if an entry does not exist or is already in a chain; the caller
    /// must then drop the transaction.
    async fn seal_audit(&mut self, chains: &[ChainExtension]) -> StoreResult<()>;

    /// Deletes the oldest entries of an audit chain, up to and including the position `head.base`,
    /// and stores the new start of the chain. Fails with `Stale` unless the stored chain starts
    /// after position `base` and ends at `head.position`.
    async fn prune_audit(&mut self, head: &AuditHead, base: u64) -> StoreResult<()>;
}
