//! Epoch: a number in the database that the service increases, with a copy outside the database.
//! Detects that the database was replaced by an earlier state of it.

use super::{Ports, StartError};
use crate::crypto::{InstanceRecord, Keyring, KeyringError};
use crate::model::Subject;
use crate::ports::epochs::{Epoch, EpochStore};
use crate::store::{Store, StoreError};

/// Maximum number of tries to increase the epoch. A try fails if another node increases it first.
const MAX_TRIES: usize = 16;

/// Fails if the copy of the epoch is higher than the epoch in the database, or belongs to another
/// instance. Succeeds if there is no copy yet, or no instance in the database. Changes nothing.
pub(crate) async fn check(store: &dyn Store, epochs: &dyn EpochStore) -> Result<(), StartError> {
    let recorded = load(epochs).await?;
    let stored = store.read().await?.instance().await?;
    stored.map_or(Ok(()), |(stored, _)| compare(recorded, &stored))
}

/// Increases the epoch in the database, and then its copy. Does nothing if the service has no copy.
/// Fails, without writing anything, if the copy is higher than the epoch in the database.
pub(crate) async fn advance(ports: &Ports, keyring: &Keyring) -> Result<(), StartError> {
    let Some(epochs) = ports.epochs.as_deref() else { return Ok(()) };
    // Read the copy before the epoch in the database: other nodes increase the epoch in the
    // database before the copy.
    let recorded = load(epochs).await?;
    for _ in 0..MAX_TRIES {
        let stored = ports.store.read().await?.instance().await?;
        let (before, _) = stored.ok_or(StartError::OrphanData)?;
        compare(recorded, &before)?;
        let number = before.epoch.checked_add(1).ok_or(StartError::Keys(KeyringError::Tampered))?;
        let after = keyring.with_epoch(&before, number).map_err(StartError::Keys)?;
        let mut tx = ports.store.begin().await?;
        match tx.replace_epoch(&before, &after).await {
            Ok(()) => {
                tx.commit().await?;
                return save(epochs, &after).await;
            }
            // Another node increased the epoch first, so try again.
            Err(StoreError::Stale(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Stale(Subject::Resource).into())
}

/// Returns the copy of the epoch; `None` if there is no copy yet.
pub(crate) async fn load(epochs: &dyn EpochStore) -> Result<Option<Epoch>, StartError> {
    epochs.load().await.map_err(StartError::Epochs)
}

/// Replaces the copy of the epoch by the epoch of a record.
pub(crate) async fn save(
    epochs: &dyn EpochStore,
    record: &InstanceRecord,
) -> Result<(), StartError> {
    let epoch = Epoch { instance: record.id, number: record.epoch };
    epochs.save(epoch).await.map_err(StartError::Epochs)
}

fn compare(recorded: Option<Epoch>, stored: &InstanceRecord) -> Result<(), StartError> {
    match recorded {
        Some(recorded) if recorded.instance != stored.id => {
            Err(StartError::OtherInstance { stored: stored.id, recorded: recorded.instance })
        }
        Some(recorded) if recorded.number > stored.epoch => {
            Err(StartError::RolledBack { stored: stored.epoch, recorded: recorded.number })
        }
        _ => Ok(()),
    }
}
