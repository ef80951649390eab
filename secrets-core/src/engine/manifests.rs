//! Manifests of the environments that a transaction has locked.

use std::collections::BTreeMap;

use crate::crypto::{Keyring, ManifestEntry, ManifestKey, ManifestSum};
use crate::model::EnvironmentId;
use crate::store::{EnvironmentCounters, ManifestRecord, StoreResult, Tx};

/// Manifests of the environments whose secrets a transaction writes. They must be stored before the
/// commit.
///
/// A manifest that does not match its environment is not changed, because a new MAC would make a
/// forgery valid. The worker [`MANIFESTS`](crate::service::MANIFESTS) reports or replaces it.
#[derive(Default)]
pub struct Manifests(BTreeMap<EnvironmentId, Manifest>);

/// Manifest of an environment.
struct Manifest {
    sum: ManifestSum,
    /// Revision of the environment after the transaction.
    revision: u64,
    /// True if the manifest is stored and was not changed since then.
    is_stored: bool,
}

impl Manifests {
    /// Adds the manifest of a locked environment, unless it is invalid or belongs to an older
    /// revision. `counters` were read under the lock. `revision` is the revision of the environment
    /// before the transaction.
    pub(crate) fn open(
        &mut self,
        keyring: &Keyring,
        environment: EnvironmentId,
        counters: &EnvironmentCounters,
        revision: u64,
    ) {
        let key = ManifestKey::of(keyring, environment);
        let sum = match counters.manifest {
            Some(stored) if stored.revision == revision => key.open(&stored.sealed, revision).ok(),
            Some(_) => None,
            // No secret was ever written to the environment.
            None => (revision == 0 && counters.size == 0).then(ManifestSum::default),
        };
        if let Some(sum) = sum {
            let (revision, is_stored) = (counters.revision, false);
            self.0.insert(environment, Manifest { sum, revision, is_stored });
        }
    }

    /// Replaces the entry `removed` in the manifest of an environment by the entry `added`. Each
    /// can be absent. Does nothing if [`open`](Self::open) has not added the manifest.
    pub(crate) fn change(
        &mut self,
        keyring: &Keyring,
        environment: EnvironmentId,
        (removed, added): (Option<&ManifestEntry>, Option<&ManifestEntry>),
    ) {
        let Some(manifest) = self.0.get_mut(&environment) else { return };
        manifest.is_stored = false;
        let key = ManifestKey::of(keyring, environment);
        if let Some(removed) = removed {
            key.subtract(&mut manifest.sum, removed);
        }
        if let Some(added) = added {
            key.add(&mut manifest.sum, added);
        }
    }

    /// Stores the manifest of an environment, unless it is already stored. Returns the
    /// environment's counters.
    pub(crate) async fn store_one(
        &mut self,
        keyring: &Keyring,
        tx: &mut dyn Tx,
        environment: EnvironmentId,
    ) -> StoreResult<EnvironmentCounters> {
        let manifest = self.0.get_mut(&environment).filter(|manifest| !manifest.is_stored);
        let Some(Manifest { sum, revision, is_stored }) = manifest else {
            return tx.environment_counters(environment).await;
        };
        let sealed = ManifestKey::of(keyring, environment).seal(sum, *revision);
        let record = ManifestRecord { sealed, revision: *revision };
        let counters = tx.replace_manifest(environment, &record).await?;
        *is_stored = true;
        Ok(counters)
    }

    /// Stores all manifests that are not stored yet.
    pub(crate) async fn store(mut self, keyring: &Keyring, tx: &mut dyn Tx) -> StoreResult<()> {
        let changed = self.0.iter().filter(|(_, manifest)| !manifest.is_stored);
        let changed: Vec<_> = changed.map(|(environment, _)| *environment).collect();
        for environment in changed {
            self.store_one(keyring, tx, environment).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, Store};
    use crate::testing::fixtures::{World, secret};

    #[tokio::test]
    async fn a_manifest_that_is_changed_after_it_was_stored_is_stored_again() {
        let keyring = Keyring::generate().await;
        let store = MemoryStore::new();
        let world = World::build(&store).await;
        let environment = world.staging.id;
        let entries = ["ONE", "TWO"].map(|key| secret(&world.staging, key).manifest_entry());
        let mut tx = store.begin().await.unwrap();
        let mut manifests = Manifests::default();
        let counters = tx.touch_environment(environment, 7).await.unwrap();
        manifests.open(&keyring, environment, &counters, 0);

        manifests.change(&keyring, environment, (None, Some(&entries[0])));
        let first = manifests.store_one(&keyring, tx.as_mut(), environment).await.unwrap();
        let same = manifests.store_one(&keyring, tx.as_mut(), environment).await.unwrap();
        manifests.change(&keyring, environment, (None, Some(&entries[1])));
        manifests.store(&keyring, tx.as_mut()).await.unwrap();

        assert_eq!(first, same);
        let last = tx.environment_counters(environment).await.unwrap();
        let key = ManifestKey::of(&keyring, environment);
        let mut sum = ManifestSum::default();
        for (counters, entry) in [first, last].iter().zip(&entries) {
            key.add(&mut sum, entry);
            let sealed = key.seal(&sum, counters.revision);
            assert_eq!(counters.manifest, Some(ManifestRecord { sealed, revision: 7 }));
        }
    }
}
