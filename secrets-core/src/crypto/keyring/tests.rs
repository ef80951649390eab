use super::super::{StaticRootKey, TokenMac};
use super::*;

fn root() -> StaticRootKey {
    StaticRootKey::new(&Key::generate())
}

async fn create(root: &StaticRootKey) -> (InstanceRecord, Vec<InstanceKeyRecord>, Keyring) {
    Keyring::create(root, Time::from_timestamp(0, 0).unwrap()).await.unwrap()
}

#[test]
fn contexts_are_as_published() {
    let (instance, project) = ([0x11; 16], [0x22; 16]);
    let [instance_id, project_id] = [instance, project].map(uuid::Uuid::from_bytes);
    let number = 0x0102_0304;

    assert_eq!(
        kek_context(instance_id.into(), number),
        [b"SCv1\0kek".as_slice(), &instance, &[1, 2, 3, 4]].concat()
    );
    assert_eq!(
        dek_context(instance_id.into(), project_id.into(), number),
        [b"SCv1\0dek".as_slice(), &instance, &project, &[1, 2, 3, 4]].concat()
    );
    assert_eq!(
        canary::text((instance_id.into(), number, 5)),
        [instance.as_slice(), &[1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5]].concat()
    );
}

#[test]
fn a_purpose_is_stored_as_its_number() {
    let purposes = [0, 1, 2, 3, 4, 5].map(InstanceKeyPurpose::from_number);

    let [pepper, audit, manifest, signing] = InstanceKeyPurpose::ALL.map(Some);
    assert_eq!(purposes, [None, pepper, audit, manifest, signing, None]);
}

#[tokio::test]
async fn an_instance_that_is_not_that_of_its_canary_is_refused() {
    let root = root();
    let (record, keys, _) = create(&root).await;
    let other = create(&root).await.0;

    for (field, changed) in [
        ("epoch", InstanceRecord { epoch: 2, ..record.clone() }),
        ("canary", InstanceRecord { canary: other.canary, ..record.clone() }),
        ("instance key", InstanceRecord { wrapped_kek: other.wrapped_kek, ..record }),
    ] {
        let loaded = Keyring::load(&root, &changed, &keys).await;

        assert!(matches!(loaded, Err(KeyringError::Tampered)), "{field}");
    }
}

#[tokio::test]
async fn a_record_with_another_epoch_opens_and_keeps_the_rest() {
    let root = root();
    let (record, keys, keyring) = create(&root).await;

    let next = keyring.with_epoch(&record, 2).unwrap();

    assert_eq!((next.epoch, next.id, &next.wrapped_kek), (2, record.id, &record.wrapped_kek));
    assert!(Keyring::load(&root, &next, &keys).await.is_ok());
    for changed in [
        InstanceRecord { epoch: 3, ..next.clone() },
        InstanceRecord { canary: record.canary.clone(), ..next },
    ] {
        let refused = keyring.with_epoch(&changed, 4);
        assert!(matches!(refused, Err(KeyringError::Tampered)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_new_pepper_replaces_all_macs() {
    let root = root();
    let (record, mut keys, keyring) = create(&root).await;

    let new = keyring.draw_instance_key(InstanceKeyPurpose::TokenPepper);
    keys.retain(|key| key.purpose != new.purpose);
    keys.push(new);

    let loaded = Keyring::load(&root, &record, &keys).await.unwrap();
    let [before, after] = [&keyring, &loaded].map(|keyring| TokenMac::of(keyring, "env_1"));
    assert!(before != after);
    assert_eq!(loaded.signing().as_bytes(), keyring.signing().as_bytes());
}

#[tokio::test]
async fn only_the_root_key_that_wrapped_an_instance_key_opens_it() {
    let (root, other) = (root(), root());
    let (record, keys, _) = create(&root).await;

    let loaded = Keyring::load(&other, &record, &keys).await;
    let rewrapped = Keyring::rewrap(&record, &other, &root).await;

    let needed = format!("needs key {}, but the given key is {}", root.id(), other.id());
    for error in [loaded.err(), rewrapped.err()] {
        assert!(error.unwrap().to_string().contains(&needed));
    }
}

#[tokio::test]
async fn a_rewrapped_instance_key_opens_with_the_new_root_key_alone() {
    let (old, new) = (root(), root());
    let (record, keys, _) = create(&old).await;

    let record = Keyring::rewrap(&record, &old, &new).await.unwrap();

    assert!(Keyring::load(&new, &record, &keys).await.is_ok());
    assert!(Keyring::load(&old, &record, &keys).await.is_err());
}

#[tokio::test]
async fn a_project_key_opens_for_its_project_and_version_alone() {
    let keyring = create(&root()).await.2;
    let [project, other] = [1, 2].map(|number| uuid::Uuid::from_u128(number).into());
    let record = keyring.draw_project_key(project, 3);

    assert_eq!(keyring.project_key(&record).unwrap().version(), 3);
    for (field, changed) in [
        ("project", ProjectKeyRecord { project: other, ..record.clone() }),
        ("version", ProjectKeyRecord { version: 4, ..record.clone() }),
    ] {
        assert!(keyring.project_key(&changed).is_err(), "{field}");
    }
}

#[tokio::test]
async fn a_destroyed_project_key_is_no_failure_of_decryption() {
    let keyring = create(&root()).await.2;
    let record = keyring.draw_project_key(uuid::Uuid::from_u128(1).into(), 1);
    let destroyed = ProjectKeyRecord { wrapped: Vec::new(), ..record.clone() };
    let damaged = ProjectKeyRecord { wrapped: vec![7; record.wrapped.len()], ..record.clone() };
    let failures = || keyring.failures().values().iter().map(|(_, count)| count).sum::<u64>();

    assert!(destroyed.is_destroyed() && !record.is_destroyed() && !damaged.is_destroyed());
    assert_eq!(keyring.project_key(&destroyed).err(), Some(ProjectKeyError::Destroyed));
    assert_eq!(failures(), 0);
    assert_eq!(keyring.project_key(&damaged).err(), Some(ProjectKeyError::Undecryptable));
    assert_eq!(failures(), 1);
}

#[tokio::test]
async fn a_key_row_that_is_missing_is_noticed() {
    let root = root();
    let (record, keys, _) = create(&root).await;

    assert!(Keyring::load(&root, &record, &keys).await.is_ok());
    for missing in 0..keys.len() {
        let mut rest = keys.clone();
        rest.remove(missing);

        let opened = Keyring::load(&root, &record, &rest).await;

        assert!(matches!(opened, Err(KeyringError::Tampered)), "{:?}", keys[missing].purpose);
    }
}
