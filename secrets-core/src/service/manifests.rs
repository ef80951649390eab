//! Verification of the manifests of environments.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::crypto::{DecryptionFailure, ManifestEntry, ManifestKey, ManifestSum};
use crate::engine::{Engine, Periodic, Schedule, yield_now};
use crate::model::{EnvironmentId, Result};
use crate::store::{EnvironmentCounters, ManifestRecord, Reads, StoreError, StoreResult};

/// Worker that compares the secrets of all environments with their manifests, once a day. A
/// manifest that does not match is logged and counted as a decryption failure. An environment
/// without a current manifest gets one, for example after an earlier version of the program wrote
/// it, or after [`accept_restore`](crate::keys::accept_restore). Deleted projects are left out,
/// because their rows are deleted in several transactions.
pub const MANIFESTS: Periodic = Periodic {
    name: "manifests",
    schedule: Schedule {
        first: Duration::from_mins(2),
        timeout: Duration::from_hours(6),
        stale_after: Duration::from_hours(78),
        ..Schedule::every(Duration::from_hours(24))
    },
    job: |engine| Box::pin(async move { check_manifests(&engine).await }),
};

/// Maximum number of tries to read an environment that other operations write at the same time.
const MAX_TRIES: usize = 8;

/// State of the manifest of an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The secrets match the manifest.
    Valid,
    /// The secrets do not match the manifest, or the manifest was changed.
    Changed,
    /// There is no manifest of the current revision.
    Missing,
    /// The environment was written during each try, or deleted.
    Busy,
}

/// Verifies the manifests of all environments, and creates those that are missing.
pub(super) async fn check_manifests(engine: &Arc<Engine>) -> Result<()> {
    let mut next = Some(EnvironmentId::from(Uuid::nil()));
    while let Some(from) = next {
        let Some(environment) = engine.store().read().await?.next_environment(from).await? else {
            break;
        };
        match state(engine, environment).await? {
            State::Valid | State::Busy => {}
            State::Changed => {
                engine.keyring().failures().count(DecryptionFailure::Manifest);
                tracing::error!(
                    %environment,
                    "the secrets of an environment do not match its manifest: they were changed in the database"
                );
            }
            State::Missing => create(engine, environment).await?,
        }
        next = after(environment);
        yield_now().await;
    }
    Ok(())
}

/// Returns the number of environments whose secrets match their manifest, and the environments
/// whose secrets do not. Environments without a current manifest are in neither. Changes nothing.
pub(super) async fn verify(engine: &Engine) -> StoreResult<(u64, Vec<EnvironmentId>)> {
    let (mut valid, mut changed, mut next) =
        (0, Vec::new(), Some(EnvironmentId::from(Uuid::nil())));
    while let Some(from) = next {
        let found = engine.store().read().await?.next_environment(from).await?;
        let Some(environment) = found else { break };
        match state(engine, environment).await? {
            State::Valid => valid += 1,
            State::Changed => changed.push(environment),
            State::Missing | State::Busy => {}
        }
        next = after(environment);
    }
    Ok((valid, changed))
}

/// Compares the secrets of an environment with its manifest. Returns `Changed` if a row cannot be
/// decoded.
async fn state(engine: &Engine, environment: EnvironmentId) -> StoreResult<State> {
    match read_state(engine, environment).await {
        Err(StoreError::Corrupt(_)) => Ok(State::Changed),
        state => state,
    }
}

async fn read_state(engine: &Engine, environment: EnvironmentId) -> StoreResult<State> {
    for _ in 0..MAX_TRIES {
        let mut reads = engine.store().read().await?;
        let Some(before) = counters(reads.as_mut(), environment).await? else { break };
        let entries = reads.manifest_entries(environment).await?;
        // Each write changes the revision, and a new project key changes the manifest.
        if counters(reads.as_mut(), environment).await? == Some(before) {
            return Ok(compare(&ManifestKey::of(engine.keyring(), environment), &before, &entries));
        }
    }
    Ok(State::Busy)
}

fn compare(
    key: &ManifestKey<'_>,
    counters: &EnvironmentCounters,
    entries: &[ManifestEntry],
) -> State {
    let Some(ManifestRecord { sealed, revision }) = &counters.manifest else {
        let is_new = counters.revision == 0 && entries.is_empty();
        return if is_new { State::Valid } else { State::Missing };
    };
    match key.open(sealed, *revision) {
        Ok(_) if *revision != counters.revision => State::Missing,
        Ok(known) if known == sum(key, entries) => State::Valid,
        Ok(_) | Err(_) => State::Changed,
    }
}

fn sum(key: &ManifestKey<'_>, entries: &[ManifestEntry]) -> ManifestSum {
    let mut sum = ManifestSum::default();
    for entry in entries {
        key.add(&mut sum, entry);
    }
    sum
}

/// Creates the manifest of an environment from its current secrets.
async fn create(engine: &Engine, environment: EnvironmentId) -> StoreResult<()> {
    let mut tx = engine.store().begin().await?;
    match tx.lock_environment(environment).await {
        Ok(()) => {}
        // The environment or its project was deleted meanwhile.
        Err(StoreError::Stale(_)) => return Ok(()),
        Err(error) => return Err(error),
    }
    let counters = tx.environment_counters(environment).await?;
    let entries = tx.manifest_entries(environment).await?;
    let key = ManifestKey::of(engine.keyring(), environment);
    if compare(&key, &counters, &entries) != State::Missing {
        return Ok(());
    }
    let sealed = key.seal(&sum(&key, &entries), counters.revision);
    let record = ManifestRecord { sealed, revision: counters.revision };
    tx.replace_manifest(environment, &record).await?;
    tx.commit().await?;
    engine.counters().created_manifests.add(1);
    tracing::warn!(%environment, secrets = entries.len(), "an environment had no current manifest");
    Ok(())
}

/// Returns the counters of an environment; `None` if it does not exist.
async fn counters(
    reads: &mut dyn Reads,
    environment: EnvironmentId,
) -> StoreResult<Option<EnvironmentCounters>> {
    match reads.environment_counters(environment).await {
        Ok(counters) => Ok(Some(counters)),
        Err(StoreError::Stale(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn after(environment: EnvironmentId) -> Option<EnvironmentId> {
    let next = environment.uuid().as_u128().checked_add(1)?;
    Some(Uuid::from_u128(next).into())
}
