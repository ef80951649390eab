//! Epoch of the instance: its increase while the service runs, and the acceptance of a database
//! that was restored from a backup.

use std::time::Duration;

use serde_json::json;

use crate::crypto::{InstanceKeyPurpose, InstanceRecord};
use crate::engine::{
    AuditContext, Caller, Engine, Failures, Periodic, Schedule, StartError, WorkItem, epoch,
};
use crate::ports::epochs::{Epoch, EpochStore};
use crate::rotations::stop_restored;
use crate::store::{Store, Tx};

/// Interval at which the epoch is increased. A restore from a backup that is younger than the last
/// increase is not detected.
const INTERVAL: Duration = Duration::from_mins(5);

/// Amount by which the acceptance of a restore increases the epoch. Higher than the number of
/// increases since the backup, so that no copy of the epoch, on any node, is higher.
const SKIPPED_EPOCHS: u64 = 1 << 32;

/// Highest epoch that a database can store.
const MAX_EPOCH: u64 = i64::MAX.unsigned_abs();

/// Worker that increases the epoch in the database and its copy
/// ([`Ports::epochs`](crate::Ports::epochs)). Reports [`WorkItem::Epoch`] as failing if the
/// database was replaced by an earlier state of it while the service was running.
pub const EPOCH: Periodic = Periodic {
    name: "epoch",
    schedule: Schedule { first: INTERVAL, ..Schedule::every(INTERVAL) },
    job: |engine| {
        Box::pin(async move {
            let failures = engine.shared::<Failures>();
            match epoch::advance(engine.ports(), engine.keyring()).await {
                Ok(()) => failures.clear(WorkItem::Epoch),
                Err(StartError::Store(error)) => return Err(error.into()),
                // The error is not returned, because the supervisor would run the worker again
                // after seconds.
                Err(error) => _ = failures.report(WorkItem::Epoch, &error, engine.now()),
            }
            Ok(())
        })
    },
};

/// Changes that [`accept_restore`] made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedRestore {
    /// Epoch of the instance from now on.
    pub epoch: u64,
    /// Number of rotations that are stopped until a user sets them to `active`.
    pub rotations: u64,
}

/// Fails if the database was replaced by an earlier state of it, or if the copy of the epoch
/// belongs to another instance. Changes nothing.
pub async fn check_epoch(store: &dyn Store, epochs: &dyn EpochStore) -> Result<(), StartError> {
    epoch::check(store, epochs).await
}

/// Accepts that the database was restored from a backup, so that the service starts again. In one
/// transaction:
///
/// - Increases the epoch beyond its copy.
/// - Stops all rotations, because their credentials may have changed since the backup, and enqueues
///   a notice for their teams.
/// - Unless `keeps_credentials` is true, replaces the key of all service tokens, sessions,
///   invitations and device logins, because the backup contains those that were revoked since.
///   Service tokens stay listed, and get a new value when they are rotated.
/// - Deletes the manifests of all environments. New manifests are created from the secrets in the
///   backup, which are accepted unchecked.
///
/// `epochs` must be the copy that the service uses, if it uses one.
///
/// Call this function only if no process uses the store. The engine must not be used afterwards.
pub async fn accept_restore(
    engine: &Engine,
    epochs: Option<&dyn EpochStore>,
    keeps_credentials: bool,
) -> Result<AcceptedRestore, StartError> {
    let mut tx = engine.store().begin().await?;
    let (before, _) = tx.instance().await?.ok_or(StartError::OrphanData)?;
    let recorded = match epochs {
        Some(epochs) => rewritten(epochs, &before).await?,
        None => None,
    };
    let recorded = recorded.filter(|recorded| recorded.instance == before.id);
    let highest = recorded.map_or(before.epoch, |recorded| recorded.number.max(before.epoch));
    let number = highest.saturating_add(SKIPPED_EPOCHS).min(MAX_EPOCH);
    let after = engine.keyring().with_epoch(&before, number).map_err(StartError::Keys)?;
    tx.replace_epoch(&before, &after).await?;
    if !keeps_credentials {
        let pepper = engine.keyring().draw_instance_key(InstanceKeyPurpose::TokenPepper);
        tx.replace_instance_key(&pepper).await?;
    }
    tx.delete_manifests().await?;
    // Larger for each further restore of the same backup, if there is a copy of the epoch.
    let skipped = number.saturating_sub(before.epoch);
    let rotations = stop_restored(tx.as_mut(), skipped, engine.now()).await?;
    record(engine, tx.as_mut(), (&before, &after), keeps_credentials).await?;
    tx.commit().await?;
    if let Some(epochs) = epochs {
        epoch::save(epochs, &after).await?;
    }
    Ok(AcceptedRestore { epoch: number, rotations })
}

/// Writes the copy of the epoch again, so that an error is detected before the database is changed.
/// If there is no copy, writes a first one. Returns the copy as it was before; `None` if there was
/// none.
async fn rewritten(
    epochs: &dyn EpochStore,
    stored: &InstanceRecord,
) -> Result<Option<Epoch>, StartError> {
    let recorded = epoch::load(epochs).await?;
    let known = recorded.unwrap_or(Epoch { instance: stored.id, number: stored.epoch });
    epochs.save(known).await.map_err(StartError::Epochs)?;
    Ok(recorded)
}

/// Records the accepted restore in the audit log.
async fn record(
    engine: &Engine,
    tx: &mut dyn Tx,
    (before, after): (&InstanceRecord, &InstanceRecord),
    keeps_credentials: bool,
) -> Result<(), StartError> {
    let mut context =
        AuditContext { resource: Some(("instance", None, None)), ..AuditContext::default() };
    context.details.insert("from".to_owned(), json!(before.epoch));
    context.details.insert("to".to_owned(), json!(after.epoch));
    context.details.insert("keeps_credentials".to_owned(), json!(keeps_credentials));
    let entry = context.into_entry(&Caller::system(), "instance.restored", engine.now());
    Ok(tx.insert_audit(&[entry]).await?)
}
