//! Records of the instance itself: its ID and its wrapped cryptographic keys.

use async_trait::async_trait;

use super::{SecretRecord, StoreResult};
use crate::crypto::{InstanceKeyRecord, InstanceRecord, ProjectKeyRecord};
use crate::model::SecretId;

/// A secret and its project key, used at startup to check that stored records can be decrypted.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The secret.
    pub secret: SecretRecord,
    /// Version of the project key that encrypted the secret, or the newest version if that version
    /// does not exist; `None` if the project has no key.
    pub key: Option<ProjectKeyRecord>,
}

/// Size of a database and of its tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// Size of the database in bytes, with its indexes.
    pub bytes: Option<u64>,
    /// Tables, each with its number of rows.
    pub tables: Vec<(&'static str, u64)>,
}

/// Read access to the instance's records.
#[async_trait]
pub trait InstanceReads: Send {
    /// Returns the instance and its cryptographic keys; `None` if the store is not initialized.
    async fn instance(&mut self) -> StoreResult<Option<(InstanceRecord, Vec<InstanceKeyRecord>)>>;

    /// Returns true if any user, team, project, secret or token exists.
    async fn has_data(&mut self) -> StoreResult<bool>;

    /// Returns the lowest and the highest secret ID, which are the oldest and the newest secret.
    async fn secret_range(&mut self) -> StoreResult<Option<(SecretId, SecretId)>>;

    /// Returns the first secret whose ID is `from` or higher, with an encryption key of its
    /// project.
    async fn sample(&mut self, from: SecretId) -> StoreResult<Option<Sample>>;

    /// Returns the size of the database, and counts the rows of its tables; `None` for a store
    /// without a database.
    async fn size(&mut self) -> StoreResult<Option<StoreSize>>;
}

/// Write access to the instance's records.
#[async_trait]
pub trait InstanceWrites: Send {
    /// Inserts the instance and its cryptographic keys. Fails with `Duplicate` if the store has an
    /// instance already.
    async fn insert_instance(
        &mut self,
        instance: &InstanceRecord,
        keys: &[InstanceKeyRecord],
    ) -> StoreResult<()>;

    /// Replaces the record `before` by `after`: the root key ID and the wrapped instance key. Fails
    /// with `Stale` if the stored instance key differs from the key in `before`.
    async fn replace_root_key(
        &mut self,
        before: &InstanceRecord,
        after: &InstanceRecord,
    ) -> StoreResult<()>;
}
