//! Environments, and resolving an environment path for a user or service token (principal).

use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use super::{ProjectRecord, Relation, SecretRecord, StoreResult};
use crate::crypto::{MANIFEST_BYTES, ManifestEntry, ProjectKeyRecord};
use crate::model::{
    EnvironmentId, EnvironmentName, EnvironmentPath, MemberAccess, PlanName, Principal, ProjectId,
    SecretKey, Time,
};

/// An environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentRecord {
    /// Environment ID.
    pub id: EnvironmentId,
    /// ID of the project that contains the environment.
    pub project: ProjectId,
    /// Name of the environment, unique within the project, ignoring case.
    pub name: EnvironmentName,
    /// ID of the parent: the environment of the same project from which this environment inherits
    /// secrets.
    pub inherits_from: Option<EnvironmentId>,
    /// Description of the environment.
    pub description: Option<String>,
    /// True if the environment was created with the project. Such an environment cannot be renamed
    /// or deleted.
    pub is_default: bool,
    /// Position of the environment in lists of the project's environments, ascending.
    pub position: u32,
    /// Revision: a number that increases with each write to the environment's secrets.
    pub revision: u64,
    /// ID of the user or service token that created the environment.
    pub created_by: Option<Uuid>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// Revision of an environment and total sizes of its secrets, as stored in the environment's row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EnvironmentCounters {
    /// Revision: a number that increases with each write to the environment's secrets.
    pub revision: u64,
    /// Total size of the environment's secrets (encrypted values and descriptions), in bytes.
    pub size: u64,
    /// Total size of the previous versions of the environment's secrets, in bytes.
    pub history_size: u64,
    /// Manifest of the environment; `None` if it has none yet.
    pub manifest: Option<ManifestRecord>,
}

/// Stored manifest of an environment: a MAC over the current versions of its secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManifestRecord {
    /// Sum of the hashes of the secrets, and its MAC.
    pub sealed: [u8; MANIFEST_BYTES],
    /// Revision of the environment for which the manifest was computed.
    pub revision: u64,
}

/// Selection of the secrets that are loaded when an environment is resolved.
#[derive(Debug, Clone, Copy)]
pub enum Selection<'a> {
    /// No secrets.
    None,
    /// Secret with this key, from each environment of the inheritance chain that has one.
    Key(&'a SecretKey),
    /// Secret with this key of the environment itself, none of its ancestors.
    OwnKey(&'a SecretKey),
    /// All secrets of the environment itself, none of its ancestors.
    Own,
    /// All secrets, from each environment of the inheritance chain.
    All,
}

/// A resolved environment: all data that is needed to authorize and handle a request about one
/// environment, loaded with one SQL statement.
#[derive(Debug, Clone)]
pub struct ResolvedEnvironment {
    /// Project of the environment.
    pub project: ProjectRecord,
    /// Plan of the project's team.
    pub plan: PlanName,
    /// Relation of the user or service token to the project.
    pub relation: Relation,
    /// Newest encryption key of the project.
    pub key: ProjectKeyRecord,
    /// Inheritance chain: the environment itself, then its ancestors from parent to root. Empty if
    /// the environment does not exist. Contains at most 17 environments
    /// ([`ResolvedEnvironment::MAX_LINKS`]); in an invalid chain with a cycle, environments are
    /// repeated.
    pub chain: Vec<ChainLink>,
}

/// An environment in an inheritance chain, with the caller's access and the selected secrets.
#[derive(Debug, Clone)]
pub struct ChainLink {
    /// Environment, without its secrets.
    pub environment: EnvironmentRecord,
    /// True if the environment is in the scope of the service token; always true for users.
    pub in_scope: bool,
    /// Access level that was granted to the user in this environment, or else the default access
    /// level of the environment or of its project. `None` if none is set, and for service tokens.
    pub granted: Option<MemberAccess>,
    /// Secrets that the environment itself defines and that the selection includes, ordered by
    /// secret key.
    pub secrets: Vec<Arc<SecretRecord>>,
}

impl ResolvedEnvironment {
    /// Maximum number of environments that are loaded of an inheritance chain: one more than a
    /// valid chain may have, so that a chain that is too long can be detected.
    pub const MAX_LINKS: u32 = 17;

    /// Maximum total size of the encrypted secrets in all environments of the chain, in bytes: 64
    /// MiB. Larger results fail with [`StoreError::TooLarge`](super::StoreError::TooLarge).
    pub const MAX_BYTES: usize = 64 * 1024 * 1024;

    /// Error for secrets whose total size is more than 64 MiB ([`MAX_BYTES`](Self::MAX_BYTES)).
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) const TOO_LARGE: super::StoreError = super::StoreError::TooLarge(
        "the secrets of this environment and of those it inherits from exceed 64 MiB: read them one by one, or let it inherit from fewer environments",
    );
}

/// Read access to environments.
#[async_trait]
pub trait EnvironmentReads: Send {
    /// Loads an environment by its path for `principal` (a user or service token). Returns `None`
    /// if the project does not exist or is deleted. Does not check access; the caller must do that.
    async fn resolve_environment(
        &mut self,
        path: &EnvironmentPath,
        principal: Principal,
        selection: Selection<'_>,
    ) -> StoreResult<Option<ResolvedEnvironment>>;

    /// Lists the environments of a project that are in the scope of `principal` (all for a user,
    /// some for a service token), ordered by position, creation time and ID.
    async fn environments(
        &mut self,
        project: ProjectId,
        principal: Principal,
    ) -> StoreResult<Vec<EnvironmentRecord>>;

    /// Returns an environment and its ancestors, from parent to root, at most 17
    /// ([`ResolvedEnvironment::MAX_LINKS`]) in total. Empty if the environment does not exist, or
    /// if its project is deleted.
    async fn chain(&mut self, environment: EnvironmentId) -> StoreResult<Vec<EnvironmentRecord>>;

    /// Returns the revision of an environment, the total sizes of its secrets, and its manifest.
    /// Fails with `Stale` if the environment does not exist.
    async fn environment_counters(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<EnvironmentCounters>;

    /// Returns the ID of the first environment whose ID is `from` or higher and whose project is not
    /// deleted.
    async fn next_environment(&mut self, from: EnvironmentId)
    -> StoreResult<Option<EnvironmentId>>;

    /// Lists the manifest entries of the stored secrets of an environment, in any order.
    async fn manifest_entries(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<ManifestEntry>>;

    /// Lists the names of the environments whose parent is this environment, sorted.
    async fn child_environments(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<EnvironmentName>>;
}

/// Write access to environments.
#[async_trait]
pub trait EnvironmentWrites: Send {
    /// Inserts an environment. Fails with `Duplicate` if another environment of the project has the
    /// same name, ignoring case.
    async fn insert_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()>;

    /// Updates name, parent, description and the time of the last change. Fails with `Duplicate` if
    /// another environment of the project has the same name, ignoring case, and with `Stale` if the
    /// environment does not exist or its project is deleted. The caller must have locked the project
    /// row, so that no other transaction uses the name at the same time.
    async fn update_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()>;

    /// Deletes an environment: deletes its permissions, removes it from the scope of every service
    /// token, and moves it to a new deleted project. This project has the ID of the environment and
    /// a destroyed key, so that no lookup finds the environment and nobody can restore it.
    /// [`ProjectWrites::purge_project`](super::ProjectWrites::purge_project) then deletes its
    /// secrets and rotations in batches. Fails with `Stale` if the environment does not exist or
    /// its project is deleted.
    async fn delete_environment(&mut self, environment: EnvironmentId) -> StoreResult<()>;

    /// Locks the row of an environment until the end of the transaction. Fails with `Stale` if the
    /// environment does not exist or its project is deleted.
    async fn lock_environment(&mut self, environment: EnvironmentId) -> StoreResult<()>;

    /// Adds `step` to the environment's revision and locks its row until the end of the
    /// transaction. Every transaction that writes secrets must call this method first. Returns the
    /// environment's counters, with the new revision. Fails with `Stale` if the environment does
    /// not exist or its project is deleted.
    async fn touch_environment(
        &mut self,
        environment: EnvironmentId,
        step: u32,
    ) -> StoreResult<EnvironmentCounters>;

    /// Replaces the manifest of an environment. Returns the environment's counters. Fails with
    /// `Stale` if the environment does not exist.
    async fn replace_manifest(
        &mut self,
        environment: EnvironmentId,
        manifest: &ManifestRecord,
    ) -> StoreResult<EnvironmentCounters>;

    /// Deletes the manifests of all environments.
    async fn delete_manifests(&mut self) -> StoreResult<()>;
}
