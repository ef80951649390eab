//! Records of the instance itself: its ID and its wrapped keys.

use async_trait::async_trait;

use super::{SecretRecord, StoreResult};
use crate::crypto::{InstanceKeyRecord, InstanceRecord, ProjectKeyRecord};
use crate::model::SecretId;

/// A secret with its project key, to check at start that stored records can be decrypted.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The secret.
    pub secret: SecretRecord,
    /// The project key version named in the secret's record, or else the newest one; `None` if the
    /// project has no key.
    pub key: Option<ProjectKeyRecord>,
}

/// Read access to the instance's records.
#[async_trait]
pub trait InstanceReads: Send {
    /// Returns the instance and its keys; `None` if the store is not initialized.
    async fn instance(&mut self) -> StoreResult<Option<(InstanceRecord, Vec<InstanceKeyRecord>)>>;

    /// Returns true if any user, team, project, secret or token exists.
    async fn has_data(&mut self) -> StoreResult<bool>;

    /// Returns the lowest and the highest secret ID: the oldest and the newest secret.
    async fn secret_range(&mut self) -> StoreResult<Option<(SecretId, SecretId)>>;

    /// Returns the first secret whose ID is `from` or higher, with a key of its project.
    async fn sample(&mut self, from: SecretId) -> StoreResult<Option<Sample>>;
}

/// Write access to the instance's records.
#[async_trait]
pub trait InstanceWrites: Send {
    /// Inserts the instance and its keys. Fails with `Duplicate` if there is one already.
    async fn insert_instance(
        &mut self,
        instance: &InstanceRecord,
        keys: &[InstanceKeyRecord],
    ) -> StoreResult<()>;
}
