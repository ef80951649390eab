//! Versions of project keys, and the records that are encrypted with them.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::{ProjectKeyRecord, Sealed};
use crate::model::{EnvironmentId, ProjectId, Time};

/// Column with records that are encrypted with a project key.
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
    /// Proxy settings of a rotation.
    Proxy,
    /// New password of an attempt of a rotation.
    Pending,
    /// URL and signing secret of a webhook.
    Webhook,
}

/// An encrypted record, with the data that its encryption context is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRow {
    /// Environment ID.
    pub environment: EnvironmentId,
    /// ID of the secret, rotation, attempt or webhook.
    pub object: Uuid,
    /// Key of the secret; empty for other objects.
    pub key: String,
    /// Version of the secret, or number of the attempt; 0 for descriptions and other objects.
    pub version: u64,
    /// True if the version of the secret hides an inherited one.
    pub hidden: bool,
    /// Encrypted record.
    pub sealed: Sealed,
}

/// A project key that was replaced and may still have records, with the newest key of its project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedKey {
    /// Key that was replaced.
    pub key: ProjectKeyRecord,
    /// Time of its replacement.
    pub replaced_at: Time,
    /// Newest key of the project.
    pub newest: ProjectKeyRecord,
}

/// Number of project keys by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProjectKeyCounts {
    /// Newest keys of their projects.
    pub current: u64,
    /// Keys that were replaced and may still have records.
    pub replaced: u64,
    /// Keys without records.
    pub retired: u64,
}

/// Read access to the versions of project keys. Includes the keys of deleted projects that are not
/// purged.
#[async_trait]
pub trait KeyReads: Send {
    /// Returns the time of the request to replace older project keys, if it is not done.
    async fn project_key_request(&mut self) -> StoreResult<Option<Time>>;

    /// Returns the newest keys of projects that were created before a time, at most `limit`.
    async fn aged_project_keys(
        &mut self,
        before: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectKeyRecord>>;

    /// Returns replaced keys that are not retired, in the order of project and version, at most
    /// `limit`. Starts after the given key.
    async fn replaced_project_keys(
        &mut self,
        after: Option<(ProjectId, u32)>,
        limit: u32,
    ) -> StoreResult<Vec<ReplacedKey>>;

    /// Returns the number of project keys by state.
    async fn project_key_counts(&mut self) -> StoreResult<ProjectKeyCounts>;

    /// Returns the records of a column that are encrypted with this version of the project's key,
    /// in the order of object and version, at most `limit`. Starts after the given object and
    /// version.
    async fn sealed_rows(
        &mut self,
        column: SealedColumn,
        (project, key_version): (ProjectId, u32),
        after: (Uuid, u64),
        limit: u32,
    ) -> StoreResult<Vec<SealedRow>>;
}

/// Write access to the versions of project keys.
#[async_trait]
pub trait KeyWrites: Send {
    /// Requests that project keys created before this time are replaced. The latest request counts.
    async fn request_project_keys(&mut self, at: Time) -> StoreResult<()>;

    /// Deletes the request of this time; does nothing if there is a later one.
    async fn finish_project_key_request(&mut self, at: Time) -> StoreResult<()>;

    /// Inserts the next version of a project's key, and marks the earlier versions as replaced.
    /// Fails with `Duplicate` if the version exists.
    async fn insert_project_key(&mut self, key: &ProjectKeyRecord, now: Time) -> StoreResult<()>;

    /// Locks a project key that was replaced. Fails with `Stale` if it was purged or is retired.
    async fn lock_project_key(&mut self, project: ProjectId, version: u32) -> StoreResult<()>;

    /// Replaces an encrypted record. Returns false, and changes nothing, if the stored record
    /// differs from the record in `row`. The revision of the environment stays the same.
    async fn replace_sealed(
        &mut self,
        column: SealedColumn,
        row: &SealedRow,
        sealed: &Sealed,
    ) -> StoreResult<bool>;

    /// Marks a replaced key as retired.
    async fn retire_project_key(
        &mut self,
        project: ProjectId,
        version: u32,
        now: Time,
    ) -> StoreResult<()>;
}

impl SealedColumn {
    /// All columns. Values precede previous values, so that a value that becomes a previous value
    /// meanwhile is still found.
    pub const ALL: [Self; 7] = [
        Self::Value,
        Self::Description,
        Self::PreviousValue,
        Self::Connection,
        Self::Proxy,
        Self::Pending,
        Self::Webhook,
    ];

    /// True for the columns of secrets and of their previous versions.
    #[must_use]
    pub fn is_of_secrets(self) -> bool {
        matches!(self, Self::Value | Self::Description | Self::PreviousValue)
    }
}
