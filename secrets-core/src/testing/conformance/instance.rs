//! Conformance rules for the record and the cryptographic keys of the instance, and for queries
//! about all data.

use std::slice::from_ref;

use super::{begin, committed, read};
use crate::crypto::{InstanceKeyPurpose, InstanceKeyRecord, InstanceRecord, RootKeyId};
use crate::model::{InstanceId, SecretId, Subject};
use crate::store::{SecretRecord, Store, StoreError};
use crate::testing::fixtures::{
    World, at, environment, next_version, project, project_key, secret, user,
};

/// An empty store contains no instance record, no secrets and no other data.
pub async fn an_empty_store_has_no_data(store: &dyn Store) {
    let mut seen = read(store).await;

    assert!(seen.instance().await.unwrap().is_none());
    assert!(!seen.has_data().await.unwrap());
    assert_eq!(seen.secret_range().await.unwrap(), None);
    assert!(seen.sample(SecretId::draw(at(0))).await.unwrap().is_none());
}

/// The instance record and its cryptographic keys (one per purpose) are stored unchanged, even with
/// the largest possible numbers.
pub async fn an_instance_is_stored_with_its_keys(store: &dyn Store) {
    let (instance, keys) = installation();
    let mut tx = begin(store).await;

    tx.insert_instance(&instance, &keys).await.unwrap();

    let (found, found_keys) = committed(store, tx).await.instance().await.unwrap().unwrap();
    assert_eq!(all_of(&found), all_of(&instance));
    assert_eq!(all_of_keys(&found_keys), all_of_keys(&keys));
}

/// A store has only one instance record: inserting a second one fails, and the first stays
/// unchanged.
pub async fn only_one_instance_can_be_created(store: &dyn Store) {
    let ((first, keys), (second, other_keys)) = (installation(), installation());
    let mut tx = begin(store).await;
    tx.insert_instance(&first, &keys).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = begin(store).await;

    let again = tx.insert_instance(&second, &other_keys).await;

    assert!(matches!(again, Err(StoreError::Duplicate(_))), "{again:?}");
    let (found, found_keys) = committed(store, tx).await.instance().await.unwrap().unwrap();
    assert_eq!(found.id, first.id);
    assert_eq!(found_keys.len(), keys.len());
}

/// `replace_root_key` replaces the root key ID and the wrapped instance key, and nothing else. It
/// fails with `Stale` if the stored key differs from the expected one. A rollback restores the
/// earlier key.
pub async fn a_root_key_is_replaced_once(store: &dyn Store) {
    let (before, keys) = installation();
    let after = InstanceRecord {
        root_key: RootKeyId([9; 8]),
        wrapped_kek: vec![9; 60],
        kek_id: before.kek_id - 1,
        epoch: before.epoch - 1,
        canary: vec![9; 9],
        ..before.clone()
    };
    let mut tx = begin(store).await;
    tx.insert_instance(&before, &keys).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    tx.replace_root_key(&before, &after).await.unwrap();
    drop(tx);
    let (found, _) = read(store).await.instance().await.unwrap().unwrap();
    assert_eq!(all_of(&found), all_of(&before));

    let mut tx = begin(store).await;
    tx.replace_root_key(&before, &after).await.unwrap();
    let (found, found_keys) = committed(store, tx).await.instance().await.unwrap().unwrap();
    let expected = InstanceRecord {
        root_key: after.root_key,
        wrapped_kek: after.wrapped_kek.clone(),
        ..before.clone()
    };
    assert_eq!(all_of(&found), all_of(&expected));
    assert_eq!(all_of_keys(&found_keys), all_of_keys(&keys));

    for stale in [
        before.clone(),
        InstanceRecord { root_key: before.root_key, ..expected.clone() },
        InstanceRecord { wrapped_kek: before.wrapped_kek.clone(), ..expected.clone() },
    ] {
        let again = begin(store).await.replace_root_key(&stale, &after).await;
        assert!(matches!(again, Err(StoreError::Stale(Subject::Resource))), "{again:?}");
    }
}

/// `replace_epoch` replaces the epoch and the canary, and nothing else. It fails with `Stale` if the
/// stored ID or epoch differs from the expected one. A rollback restores the earlier epoch.
pub async fn an_epoch_is_replaced_once(store: &dyn Store) {
    let (before, keys) = installation();
    let before = InstanceRecord { epoch: 1, ..before };
    let after = InstanceRecord {
        epoch: u64::try_from(i64::MAX).unwrap(),
        canary: vec![9; 9],
        root_key: RootKeyId([9; 8]),
        wrapped_kek: vec![9; 60],
        kek_id: before.kek_id - 1,
        ..before.clone()
    };
    let mut tx = begin(store).await;
    tx.insert_instance(&before, &keys).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    tx.replace_epoch(&before, &after).await.unwrap();
    drop(tx);
    let (found, _) = read(store).await.instance().await.unwrap().unwrap();
    assert_eq!(all_of(&found), all_of(&before));

    let mut tx = begin(store).await;
    tx.replace_epoch(&before, &after).await.unwrap();
    let (found, found_keys) = committed(store, tx).await.instance().await.unwrap().unwrap();
    let expected =
        InstanceRecord { epoch: after.epoch, canary: after.canary.clone(), ..before.clone() };
    assert_eq!(all_of(&found), all_of(&expected));
    assert_eq!(all_of_keys(&found_keys), all_of_keys(&keys));

    let other = InstanceRecord { id: InstanceId::draw(at(1)), ..expected };
    for stale in [before, other] {
        let again = begin(store).await.replace_epoch(&stale, &after).await;
        assert!(matches!(again, Err(StoreError::Stale(Subject::Resource))), "{again:?}");
    }
}

/// `replace_instance_key` replaces the key with the same purpose, and no other. It fails with
/// `Stale` if the store has no instance.
pub async fn an_instance_key_is_replaced(store: &dyn Store) {
    let (instance, mut keys) = installation();
    let new = InstanceKeyRecord { kek_id: 3, wrapped: vec![9; 60], ..keys[1].clone() };
    let missing = begin(store).await.replace_instance_key(&new).await;
    assert!(matches!(missing, Err(StoreError::Stale(Subject::Resource))), "{missing:?}");
    let mut tx = begin(store).await;
    tx.insert_instance(&instance, &keys).await.unwrap();

    tx.replace_instance_key(&new).await.unwrap();

    let (found, found_keys) = committed(store, tx).await.instance().await.unwrap().unwrap();
    keys[1] = new;
    assert_eq!(all_of(&found), all_of(&instance));
    assert_eq!(all_of_keys(&found_keys), all_of_keys(&keys));
}

/// `has_data` returns false if only the instance record exists.
pub async fn an_instance_alone_is_no_data(store: &dyn Store) {
    let (instance, keys) = installation();
    let mut tx = begin(store).await;
    tx.insert_instance(&instance, &keys).await.unwrap();

    assert!(!committed(store, tx).await.has_data().await.unwrap());
}

/// `has_data` returns true as soon as one user exists.
pub async fn one_person_is_data(store: &dyn Store) {
    let mut tx = begin(store).await;

    tx.insert_user(&user("alice")).await.unwrap();

    assert!(tx.has_data().await.unwrap());
    assert!(committed(store, tx).await.has_data().await.unwrap());
}

/// `has_data` still returns true if the only project is deleted.
pub async fn a_deleted_project_leaves_data(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    tx.delete_project(world.project.id, at(60)).await.unwrap();

    assert!(committed(store, tx).await.has_data().await.unwrap());
}

/// `secret_range` returns the lowest and the highest secret ID. If there is only one secret, both
/// are the same.
pub async fn the_range_goes_from_the_oldest_secret_to_the_newest(store: &dyn Store) {
    let world = World::build(store).await;
    let [oldest, middle, newest] = three(&world);
    let mut tx = begin(store).await;

    tx.insert_secrets(from_ref(&middle)).await.unwrap();
    assert_eq!(tx.secret_range().await.unwrap(), Some((middle.id, middle.id)));
    tx.insert_secrets(&[newest.clone(), oldest.clone()]).await.unwrap();
    assert_eq!(tx.secret_range().await.unwrap(), Some((oldest.id, newest.id)));
    tx.delete_secret(newest.id).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.secret_range().await.unwrap(), Some((oldest.id, middle.id)));
}

/// `sample` returns the secret with the lowest ID that is equal to or higher than the given ID, and
/// `next_secret` returns the ID of the same secret.
pub async fn a_sample_is_the_first_secret_from_an_id_on(store: &dyn Store) {
    let world = World::build(store).await;
    let [oldest, middle, newest] = three(&world);
    let mut tx = begin(store).await;
    tx.insert_secrets(&[middle.clone(), newest.clone(), oldest.clone()]).await.unwrap();
    let mut seen = committed(store, tx).await;

    for (from, expected) in [
        (SecretId::draw(at(-9)), Some(&oldest)),
        (oldest.id, Some(&oldest)),
        (SecretId::draw(at(15)), Some(&middle)),
        (middle.id, Some(&middle)),
        (SecretId::draw(at(25)), Some(&newest)),
        (newest.id, Some(&newest)),
        (SecretId::draw(at(99)), None),
    ] {
        let found = seen.sample(from).await.unwrap().map(|sample| sample.secret);
        assert_eq!(found.as_ref(), expected);
        let id = seen.next_secret(from).await.unwrap();
        assert_eq!(id, expected.map(|secret| secret.id));
    }
}

/// `sample` returns the current version of a secret and a key of the secret's own project.
pub async fn a_sample_includes_the_key_of_its_project(store: &dyn Store) {
    let world = World::build(store).await;
    let other = project(&world.team, "other");
    let there = environment(&other, "there");
    let first = secret(&there, "KEY");
    let second = next_version(&first);
    let key = project_key(&other);
    let mut tx = begin(store).await;
    tx.insert_project(&other, &key).await.unwrap();
    tx.insert_environment(&there).await.unwrap();
    tx.insert_secrets(&[first]).await.unwrap();
    tx.replace_secrets(from_ref(&second)).await.unwrap();

    let sample = committed(store, tx).await.sample(second.id).await.unwrap().unwrap();

    assert_eq!(sample.secret, second);
    assert_eq!(sample.key, Some(key));
}

/// Creates an instance with a cryptographic key for each purpose.
pub(super) fn installation() -> (InstanceRecord, Vec<InstanceKeyRecord>) {
    let instance = InstanceRecord {
        id: InstanceId::draw(at(0)),
        root_key: RootKeyId([0, 1, 2, 3, 252, 253, 254, 255]),
        kek_id: u32::MAX,
        wrapped_kek: (0..72).collect(),
        canary: (128..=u8::MAX).collect(),
        epoch: u64::try_from(i64::MAX).unwrap(),
        created_at: at(0),
    };
    let keys = InstanceKeyPurpose::ALL.map(|purpose| InstanceKeyRecord {
        purpose,
        kek_id: u32::MAX - purpose as u32,
        wrapped: vec![u8::try_from(purpose as u32).unwrap(); 72],
    });
    (instance, keys.into())
}

/// Creates three secrets with different creation times.
fn three(world: &World) -> [SecretRecord; 3] {
    [(10, "Z"), (20, "A"), (30, "M")].map(|(age, key)| SecretRecord {
        id: SecretId::draw(at(age)),
        ..secret(&world.production, key)
    })
}

fn all_of(instance: &InstanceRecord) -> impl PartialEq + std::fmt::Debug {
    let InstanceRecord { id, root_key, kek_id, wrapped_kek, canary, epoch, created_at } =
        instance.clone();
    (id, root_key, kek_id, wrapped_kek, canary, epoch, created_at)
}

/// Returns the IDs and contents of the cryptographic keys, ordered by purpose, for comparison.
fn all_of_keys(keys: &[InstanceKeyRecord]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut keys: Vec<_> =
        keys.iter().map(|key| (key.purpose as u32, key.kek_id, key.wrapped.clone())).collect();
    keys.sort();
    keys
}
