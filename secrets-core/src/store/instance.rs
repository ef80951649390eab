//! Record of the instance: its ID and its wrapped cryptographic keys.

use async_trait::async_trait;

use super::{SecretRecord, StoreResult};
use crate::crypto::{InstanceKeyRecord, InstanceRecord, ProjectKeyRecord};
use crate::model::SecretId;

/// A secret and its project key, used at startup to check that stored records can be decrypted.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Secret whose record is decrypted as a check.
    pub secret: SecretRecord,
    /// Project key with the version that encrypted the secret, or the newest version if that
    /// version does not exist; `None` if the project has no key.
    pub key: Option<ProjectKeyRecord>,
}

/// Size of a database and numbers of rows in its tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// Size of the database in bytes, including its indexes.
    pub bytes: Option<u64>,
    /// Names of the tables, each with its number of rows.
    pub tables: Vec<(&'static str, u64)>,
}

/// Read access to the record of the instance and to queries about all data.
#[async_trait]
pub trait InstanceReads: Send {
    /// Returns the record of the instance and its cryptographic keys; `None` if the instance was
    /// not created yet.
    async fn instance(&mut self) -> StoreResult<Option<(InstanceRecord, Vec<InstanceKeyRecord>)>>;

    /// Returns true if any user, team, project, secret or token exists.
    async fn has_data(&mut self) -> StoreResult<bool>;

    /// Returns the IDs of the oldest and the newest secret, which are the lowest and the highest ID
    /// of all secrets; `None` if there are no secrets.
    async fn secret_range(&mut self) -> StoreResult<Option<(SecretId, SecretId)>>;

    /// Returns the first secret whose ID is `from` or higher, with an encryption key of its
    /// project. `None` if there is none.
    async fn sample(&mut self, from: SecretId) -> StoreResult<Option<Sample>>;

    /// Returns the ID of the first secret whose ID is `from` or higher, even if its row cannot be
    /// decoded. `None` if there is none.
    async fn next_secret(&mut self, from: SecretId) -> StoreResult<Option<SecretId>>;

    /// Returns the size of the database and the number of rows in each table; `None` for a store
    /// without a database.
    async fn size(&mut self) -> StoreResult<Option<StoreSize>>;
}

/// Write access to the record of the instance.
#[async_trait]
pub trait InstanceWrites: Send {
    /// Inserts the record of the instance and its cryptographic keys. Fails with `Duplicate` if the
    /// store already has such a record.
    async fn insert_instance(
        &mut self,
        instance: &InstanceRecord,
        keys: &[InstanceKeyRecord],
    ) -> StoreResult<()>;

    /// Replaces the root key ID and the wrapped instance key by those in `after`. Fails with
    /// `Stale` if the stored ID, root key ID or instance key differs from `before`.
    async fn replace_root_key(
        &mut self,
        before: &InstanceRecord,
        after: &InstanceRecord,
    ) -> StoreResult<()>;

    /// Replaces the epoch and the canary by those in `after`. Fails with `Stale` if the stored ID or
    /// epoch differs from `before`.
    async fn replace_epoch(
        &mut self,
        before: &InstanceRecord,
        after: &InstanceRecord,
    ) -> StoreResult<()>;

    /// Replaces the stored cryptographic key with the same purpose. Fails with `Stale` if there is
    /// none.
    async fn replace_instance_key(&mut self, key: &InstanceKeyRecord) -> StoreResult<()>;
}
