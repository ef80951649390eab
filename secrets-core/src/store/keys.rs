//! Versions of project keys, and the records that are encrypted with them.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::{ProjectKeyRecord, Sealed};
use crate::model::{EnvironmentId, ProjectId, Time};

/// Column of the database that contains records encrypted with a project key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedColumn {
    /// Value of a secret.
    Value,
    /// Description of a secret.
    Description,
    /// Value of a previous version of a secret.
    PreviousValue,
    /// Connection settings of a rotation.
    Connection,
    /// Settings of a rotation's proxy function.
    Proxy,
    /// New password of a rotation attempt.
    Pending,
    /// URL and signing secret of a webhook.
    Webhook,
}

/// An encrypted record, with the data from which its encryption context is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRow {
    /// Environment ID.
    pub environment: EnvironmentId,
    /// ID of the object that the record belongs to: secret, rotation, attempt or webhook.
    pub object: Uuid,
    /// Secret key of the secret; empty for other objects.
    pub key: String,
    /// Version of the secret, or number of the rotation attempt; 0 for descriptions and other
    /// objects.
    pub version: u64,
    /// True if the secret is hidden in this version.
    pub hidden: bool,
    /// Encrypted record.
    pub sealed: Sealed,
}

/// A project key that was replaced and may still be used by stored records, with the newest key of
/// the same project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedKey {
    /// Project key that was replaced.
    pub key: ProjectKeyRecord,
    /// Time at which the key was replaced.
    pub replaced_at: Time,
    /// Newest key of the project.
    pub newest: ProjectKeyRecord,
}

/// Number of project keys in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProjectKeyCounts {
    /// Number of keys that are the newest of their projects.
    pub current: u64,
    /// Number of keys that were replaced and may still be used by stored records.
    pub replaced: u64,
    /// Number of replaced keys that no stored record uses any more.
    pub retired: u64,
}

/// Read access to the versions of project keys. Includes the keys of deleted projects, until a purge
/// [destroys](KeyWrites::destroy_project_keys) them.
#[async_trait]
pub trait KeyReads: Send {
    /// Returns the time of the pending request to replace all older project keys; `None` if no
    /// request is pending.
    async fn project_key_request(&mut self) -> StoreResult<Option<Time>>;

    /// Returns project keys that are the newest of their projects and were created before the time
    /// `before`, at most `limit`.
    async fn aged_project_keys(
        &mut self,
        before: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectKeyRecord>>;

    /// Returns replaced keys that are not retired, ordered by project and version, at most `limit`.
    /// Starts after the given key.
    async fn replaced_project_keys(
        &mut self,
        after: Option<(ProjectId, u32)>,
        limit: u32,
    ) -> StoreResult<Vec<ReplacedKey>>;

    /// Returns the number of project keys in each state.
    async fn project_key_counts(&mut self) -> StoreResult<ProjectKeyCounts>;

    /// Returns the IDs of all environments of a project, in the order of the IDs, also if the project
    /// is deleted.
    async fn all_environments(&mut self, project: ProjectId) -> StoreResult<Vec<EnvironmentId>>;

    /// Returns the records of a column in an environment that are encrypted with this version of the
    /// project's key, ordered by object ID and version, at most `limit`. Starts after the given
    /// object and version.
    async fn sealed_rows(
        &mut self,
        column: SealedColumn,
        (environment, key_version): (EnvironmentId, u32),
        after: (Uuid, u64),
        limit: u32,
    ) -> StoreResult<Vec<SealedRow>>;
}

/// Write access to the versions of project keys.
#[async_trait]
pub trait KeyWrites: Send {
    /// Requests that all project keys created before the time `at` are replaced. Only the request
    /// with the latest time is kept.
    async fn request_project_keys(&mut self, at: Time) -> StoreResult<()>;

    /// Deletes the pending request if it has this time. Does nothing if a later request has
    /// replaced it.
    async fn finish_project_key_request(&mut self, at: Time) -> StoreResult<()>;

    /// Inserts the next version of a project's key, and marks the earlier versions as replaced.
    /// Fails with `Duplicate` if the version already exists, or if the keys of the project were
    /// destroyed or purged.
    async fn insert_project_key(&mut self, key: &ProjectKeyRecord, now: Time) -> StoreResult<()>;

    /// Locks the row of a replaced project key. Fails with `Stale` if the key is retired, destroyed
    /// or purged.
    async fn lock_project_key(&mut self, project: ProjectId, version: u32) -> StoreResult<()>;

    /// Replaces an encrypted record by the same content, encrypted with another key. Returns false,
    /// and changes nothing, if the stored record differs from the record in `row`. The revision of
    /// the environment stays the same.
    async fn replace_sealed(
        &mut self,
        column: SealedColumn,
        row: &SealedRow,
        sealed: &Sealed,
    ) -> StoreResult<bool>;

    /// Marks a replaced project key as retired, because no stored record uses it any more.
    async fn retire_project_key(
        &mut self,
        project: ProjectId,
        version: u32,
        now: Time,
    ) -> StoreResult<()>;

    /// Destroys all versions of the key of a project that was deleted before `before`: replaces each
    /// wrapped key by an empty value, so that no record of the project can be decrypted any more.
    /// Returns the number of keys that were destroyed. Does nothing if the project is not deleted,
    /// or was deleted later. The rows stay until the purge is complete.
    async fn destroy_project_keys(&mut self, project: ProjectId, before: Time) -> StoreResult<u64>;
}

impl SealedColumn {
    /// All columns with encrypted records. Values come before previous values, so that a search of
    /// all columns in this order also finds a value that becomes a previous value during the
    /// search.
    pub const ALL: [Self; 7] = [
        Self::Value,
        Self::Description,
        Self::PreviousValue,
        Self::Connection,
        Self::Proxy,
        Self::Pending,
        Self::Webhook,
    ];

    /// True for the columns that contain values or descriptions of secrets or of their previous
    /// versions.
    #[must_use]
    pub fn is_of_secrets(self) -> bool {
        matches!(self, Self::Value | Self::Description | Self::PreviousValue)
    }
}
