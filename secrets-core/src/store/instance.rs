//! The installation's own rows: which it is, and its wrapped keys.

use async_trait::async_trait;

use super::{SecretRecord, StoreResult};
use crate::crypto::{InstanceKeyRecord, InstanceRecord, ProjectKeyRecord};
use crate::model::SecretId;

/// A secret with the key that seals it, to see at start whether records open.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The secret.
    pub secret: SecretRecord,
    /// The key of its project that its record names, or the newest; none if the project has none.
    pub key: Option<ProjectKeyRecord>,
}

/// Reading the installation's rows.
#[async_trait]
pub trait InstanceReads: Send {
    /// The installation and its keys, if there is one.
    async fn instance(&mut self) -> StoreResult<Option<(InstanceRecord, Vec<InstanceKeyRecord>)>>;

    /// Whether there is anything that belongs to somebody: users, teams, projects, secrets, tokens.
    async fn holds_data(&mut self) -> StoreResult<bool>;

    /// The oldest and the newest secret.
    async fn secret_range(&mut self) -> StoreResult<Option<(SecretId, SecretId)>>;

    /// The first secret at or after this id, with a key of its project.
    async fn sample(&mut self, from: SecretId) -> StoreResult<Option<Sample>>;
}

/// Writing the installation's rows.
#[async_trait]
pub trait InstanceWrites: Send {
    /// Fails with `Duplicate` if there is an installation already.
    async fn insert_instance(
        &mut self,
        instance: &InstanceRecord,
        keys: &[InstanceKeyRecord],
    ) -> StoreResult<()>;
}
