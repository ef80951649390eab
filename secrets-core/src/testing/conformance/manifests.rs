//! Conformance rules for the manifests of environments.

use std::slice::from_ref;

use super::{begin, committed, read};
use crate::crypto::MANIFEST_BYTES;
use crate::model::{EnvironmentId, Subject};
use crate::store::{ManifestRecord, Store, StoreError};
use crate::testing::fixtures::{
    World, at, environment, next_version, project, project_key, secret,
};

fn manifest(byte: u8, revision: u64) -> ManifestRecord {
    ManifestRecord { sealed: [byte; MANIFEST_BYTES], revision }
}

/// An environment has the manifest that was stored last, or none. Storing a manifest changes no
/// other environment. A rollback restores the earlier manifest. A new revision does not change the
/// manifest. `delete_manifests` deletes the manifests of all environments.
pub async fn an_environment_has_the_last_manifest(store: &dyn Store) {
    let world = World::build(store).await;
    let (staging, production) = (world.staging.id, world.production.id);
    let last = manifest(2, i64::MAX.unsigned_abs());
    let mut tx = begin(store).await;
    assert_eq!(tx.touch_environment(staging, 1).await.unwrap().manifest, None);
    tx.replace_manifest(staging, &manifest(1, 1)).await.unwrap();
    tx.replace_manifest(production, &manifest(3, 0)).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    let counters = tx.replace_manifest(staging, &last).await.unwrap();
    assert_eq!(counters.manifest, Some(last));
    assert_eq!(tx.environment_counters(staging).await.unwrap(), counters);
    drop(tx);
    let counters = read(store).await.environment_counters(staging).await.unwrap();
    assert_eq!((counters.revision, counters.manifest), (1, Some(manifest(1, 1))));

    let mut tx = begin(store).await;
    tx.replace_manifest(staging, &last).await.unwrap();
    assert_eq!(tx.touch_environment(staging, 4).await.unwrap().manifest, Some(last));
    let mut seen = committed(store, tx).await;
    let counters = seen.environment_counters(staging).await.unwrap();
    assert_eq!((counters.revision, counters.manifest), (5, Some(last)));
    let other = seen.environment_counters(production).await.unwrap();
    assert_eq!(other.manifest, Some(manifest(3, 0)));
    drop(seen);

    let mut tx = begin(store).await;
    tx.delete_manifests().await.unwrap();
    let mut seen = committed(store, tx).await;
    for environment in [staging, production] {
        assert_eq!(seen.environment_counters(environment).await.unwrap().manifest, None);
    }
    drop(seen);
    let gone = begin(store).await.replace_manifest(EnvironmentId::draw(at(0)), &last).await;
    assert!(matches!(gone, Err(StoreError::Stale(Subject::Environment))), "{gone:?}");
}

/// `manifest_entries` lists the current versions of the secrets that the environment itself has.
pub async fn entries_of_a_manifest_are_the_current_secrets(store: &dyn Store) {
    let world = World::build(store).await;
    let [first, second] = ["A", "B"].map(|key| secret(&world.staging, key));
    let other = secret(&world.production, "A");
    let next = next_version(&first);
    let mut tx = begin(store).await;
    tx.insert_secrets(&[first, second.clone(), other]).await.unwrap();
    tx.replace_secrets(from_ref(&next)).await.unwrap();

    let mut seen = committed(store, tx).await;

    let mut found = seen.manifest_entries(world.staging.id).await.unwrap();
    found.sort_by_key(|entry| entry.secret);
    let mut expected = [next.manifest_entry(), second.manifest_entry()];
    expected.sort_by_key(|entry| entry.secret);
    assert_eq!(found, expected);
    assert_eq!(seen.manifest_entries(world.development.id).await.unwrap(), []);
}

/// `next_environment` returns the environments of all projects in the order of their IDs, except
/// those of deleted projects.
pub async fn environments_are_found_by_id(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let mut tx = begin(store).await;
    tx.insert_project(&other, &project_key(&other)).await.unwrap();
    tx.insert_environment(&environment(&other, "there")).await.unwrap();
    tx.delete_project(other.id, at(60)).await.unwrap();
    let mut expected = [world.development.id, world.staging.id, world.production.id];
    expected.sort();

    let mut seen = committed(store, tx).await;

    let mut from = EnvironmentId::from(uuid::Uuid::nil());
    for id in expected {
        assert_eq!(seen.next_environment(from).await.unwrap(), Some(id));
        assert_eq!(seen.next_environment(id).await.unwrap(), Some(id));
        from = EnvironmentId::from(uuid::Uuid::from_u128(id.uuid().as_u128() + 1));
    }
    assert_eq!(seen.next_environment(from).await.unwrap(), None);
}
