//! Copy of the epoch of an instance, stored outside the database.
//!
//! The service increases the epoch in the database when it starts and while it runs, and then
//! updates the copy. If the copy is higher than the epoch in the database, the database was
//! replaced by an earlier state of it, for example by a backup.

use async_trait::async_trait;

use crate::model::{Cause, InstanceId};

/// Epoch of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    /// Instance ID.
    pub instance: InstanceId,
    /// Number of the epoch.
    pub number: u64,
}

/// Storage of an epoch outside the database. It must not be restored together with the database.
#[async_trait]
pub trait EpochStore: Send + Sync {
    /// Returns the stored epoch; `None` if none was stored yet.
    async fn load(&self) -> Result<Option<Epoch>, Cause>;

    /// Replaces the stored epoch. The new one must survive a power failure after this call.
    async fn save(&self, epoch: Epoch) -> Result<(), Cause>;
}
