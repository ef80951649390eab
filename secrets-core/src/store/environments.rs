//! Environments, and resolving an environment for a principal.

use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use super::{ProjectRecord, Relation, SecretRecord, StoreResult};
use crate::crypto::ProjectKeyRecord;
use crate::model::{
    EnvironmentId, EnvironmentName, EnvironmentPath, MemberAccess, PlanName, Principal, ProjectId,
    SecretKey, Time,
};

/// An environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentRecord {
    /// Environment ID.
    pub id: EnvironmentId,
    /// Project ID.
    pub project: ProjectId,
    /// Name, unique within the project, ignoring case.
    pub name: EnvironmentName,
    /// Parent: the environment of the same project it inherits secrets from.
    pub inherits_from: Option<EnvironmentId>,
    /// Description.
    pub description: Option<String>,
    /// True if the environment was created with the project. Such an environment cannot be renamed
    /// or deleted.
    pub is_default: bool,
    /// Position in lists, ascending.
    pub position: u32,
    /// Number that grows with each write to the environment's secrets.
    pub revision: u64,
    /// ID of the user or service token that created the environment.
    pub created_by: Option<Uuid>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// Counters of an environment that its row keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EnvironmentCounters {
    /// Number that grows with each write to the environment's secrets.
    pub revision: u64,
    /// Size of its secrets, in bytes: encrypted values and descriptions.
    pub size: u64,
    /// Size of the previous versions of its secrets, in bytes.
    pub history_size: u64,
}

/// Selection of the secrets to load when an environment is resolved.
#[derive(Debug, Clone, Copy)]
pub enum Selection<'a> {
    /// No secrets.
    None,
    /// The secret with this secret key, from each environment of the inheritance chain that has it.
    Key(&'a SecretKey),
    /// All secrets of each environment of the inheritance chain.
    All,
}

/// A resolved environment: everything needed to authorize and handle a request about one
/// environment, loaded in one statement.
#[derive(Debug, Clone)]
pub struct ResolvedEnvironment {
    /// Project.
    pub project: ProjectRecord,
    /// Plan of the project's team.
    pub plan: PlanName,
    /// Relation of the principal to the project.
    pub relation: Relation,
    /// Newest encryption key of the project.
    pub key: ProjectKeyRecord,
    /// Inheritance chain: the environment itself, then its ancestors, nearest first. Empty if the
    /// environment does not exist. At most [`ResolvedEnvironment::MAX_LINKS`] links, so that a
    /// cycle shows up as a repeated link.
    pub chain: Vec<ChainLink>,
}

/// An environment in an inheritance chain.
#[derive(Debug, Clone)]
pub struct ChainLink {
    /// The environment.
    pub environment: EnvironmentRecord,
    /// True if the environment is in the token's scope; always true for users.
    pub in_scope: bool,
    /// Access granted to the user in this environment; otherwise the project's default access for
    /// its members. `None` if neither is set, and for tokens.
    pub granted: Option<MemberAccess>,
    /// The environment's own secrets, limited by the selection, ordered by secret key.
    pub secrets: Vec<Arc<SecretRecord>>,
}

impl ResolvedEnvironment {
    /// Maximum number of links in a resolved inheritance chain: one more than a valid chain may
    /// have, so that a chain that is too long can be detected.
    pub const MAX_LINKS: u32 = 17;

    /// Maximum size of the encrypted secrets of all links, in bytes: 64 MiB. More fails with
    /// [`StoreError::TooLarge`](super::StoreError::TooLarge).
    pub const MAX_BYTES: usize = 64 * 1024 * 1024;

    /// Error for secrets of more than [`MAX_BYTES`](Self::MAX_BYTES).
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) const TOO_LARGE: super::StoreError = super::StoreError::TooLarge(
        "the secrets of this environment and of those it inherits from exceed 64 MiB: read them one by one, or let it inherit from fewer environments",
    );
}

/// Read access to environments.
#[async_trait]
pub trait EnvironmentReads: Send {
    /// Resolves an environment path for `principal`. Returns `None` if the project does not exist
    /// or is deleted. Does not check access; the caller must do that.
    async fn resolve_environment(
        &mut self,
        path: &EnvironmentPath,
        principal: Principal,
        selection: Selection<'_>,
    ) -> StoreResult<Option<ResolvedEnvironment>>;

    /// Lists the environments of a project that are in the scope of `principal`, ordered by
    /// position, creation time and ID. For users, all environments are in scope.
    async fn environments(
        &mut self,
        project: ProjectId,
        principal: Principal,
    ) -> StoreResult<Vec<EnvironmentRecord>>;

    /// Returns an environment and its ancestors, nearest first, at most
    /// [`ResolvedEnvironment::MAX_LINKS`] of them. Empty if the environment does not exist, or its
    /// project is deleted.
    async fn chain(&mut self, environment: EnvironmentId) -> StoreResult<Vec<EnvironmentRecord>>;

    /// Returns the counters of an environment. Fails with `Stale` if it does not exist.
    async fn environment_counters(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<EnvironmentCounters>;

    /// Lists the names of the direct child environments, sorted.
    async fn child_environments(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<EnvironmentName>>;
}

/// Write access to environments.
#[async_trait]
pub trait EnvironmentWrites: Send {
    /// Inserts an environment. Fails with `Duplicate` if the name is taken, ignoring case.
    async fn insert_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()>;

    /// Updates name, parent, description and the time of the last change. Fails with `Duplicate` if
    /// another environment of the project has the name, ignoring case, and with `Stale` if the
    /// environment does not exist. The caller must have locked the project row, so that no other
    /// transaction takes the name meanwhile.
    async fn update_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()>;

    /// Deletes an environment with its secrets, their versions and its rotations, and removes it
    /// from the scope of every token. Fails with `Stale` if it does not exist.
    async fn delete_environment(&mut self, environment: EnvironmentId) -> StoreResult<()>;

    /// Locks the environment's row until the end of the transaction. Fails with `Stale` if the
    /// environment does not exist or its project is deleted.
    async fn lock_environment(&mut self, environment: EnvironmentId) -> StoreResult<()>;

    /// Adds `step` to the environment's revision and locks its row until the end of the
    /// transaction. Every transaction that writes secrets calls this first. Returns the counters
    /// with the new revision; fails with `Stale` if the environment does not exist or its project
    /// is deleted.
    async fn touch_environment(
        &mut self,
        environment: EnvironmentId,
        step: u32,
    ) -> StoreResult<EnvironmentCounters>;
}
