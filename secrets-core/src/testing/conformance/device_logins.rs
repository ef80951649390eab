//! Conformance rules for device logins of command-line clients.

use chrono::TimeDelta;

use super::{assert_duplicate, assert_stale, begin, committed};
use crate::crypto::{TokenMac, random};
use crate::model::{DeviceLoginId, Subject};
use crate::store::{DeviceClient, DeviceLoginRecord, DeviceStatus, Store};
use crate::testing::fixtures::{World, at};

fn login() -> DeviceLoginRecord {
    DeviceLoginRecord {
        id: DeviceLoginId::draw(at(0)),
        device: TokenMac(random()),
        code: TokenMac(random()),
        client: DeviceClient::default(),
        status: DeviceStatus::Pending,
        user: None,
        poll_seconds: 5,
        polled_at: None,
        created_at: at(0),
        expires_at: at(600),
    }
}

/// Creates the details of a command-line client, with every field set.
pub(super) fn telling() -> DeviceClient {
    DeviceClient {
        name: Some("secrets 1.0".parse().unwrap()),
        hostname: Some("Ünï's laptop".parse().unwrap()),
        os: Some("linux".parse().unwrap()),
        address: Some([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into()),
    }
}

/// All fields of a device login are stored. The login can be found by its device code and by its
/// user code.
pub async fn a_login_is_found_by_either_code(store: &dyn Store) {
    let world = World::build(store).await;
    let bare = login();
    let full = DeviceLoginRecord {
        client: telling(),
        status: DeviceStatus::Approved,
        user: Some(world.owner.id),
        polled_at: Some(at(3)),
        ..login()
    };
    let mut tx = begin(store).await;

    for login in [&bare, &full] {
        tx.insert_device_login(login).await.unwrap();
    }

    let mut reads = committed(store, tx).await;
    for login in [bare, full] {
        assert_eq!(reads.login_by_device_code(&login.device).await.unwrap(), Some(login.clone()));
        assert_eq!(reads.login_by_user_code(&login.code).await.unwrap(), Some(login.clone()));
        assert_eq!(reads.login_by_device_code(&login.code).await.unwrap(), None);
        assert_eq!(reads.login_by_user_code(&login.device).await.unwrap(), None);
    }
}

/// Inserting a login fails if another login has the same device code or the same user code.
pub async fn a_code_belongs_to_one_login(store: &dyn Store) {
    let first = login();
    let mut tx = begin(store).await;
    tx.insert_device_login(&first).await.unwrap();

    for other in [
        DeviceLoginRecord { code: first.code, ..login() },
        DeviceLoginRecord { device: first.device, ..login() },
    ] {
        assert_duplicate(tx.insert_device_login(&other).await, Subject::DeviceLogin);
    }
    tx.insert_device_login(&login()).await.unwrap();
}

/// Updating a login fails if its stored status is not the expected one.
pub async fn a_login_is_decided_once(store: &dyn Store) {
    let world = World::build(store).await;
    let pending = login();
    let mut tx = begin(store).await;
    tx.insert_device_login(&pending).await.unwrap();
    let approved = DeviceLoginRecord {
        status: DeviceStatus::Approved,
        user: Some(world.owner.id),
        poll_seconds: 10,
        polled_at: Some(at(5)),
        ..pending.clone()
    };

    tx.update_device_login(&approved, DeviceStatus::Pending).await.unwrap();

    let denied = DeviceLoginRecord { status: DeviceStatus::Denied, ..pending.clone() };
    let result = tx.update_device_login(&denied, DeviceStatus::Pending).await;
    assert_stale(result, Subject::DeviceLogin);
    let unknown = login();
    let result = tx.update_device_login(&unknown, DeviceStatus::Pending).await;
    assert_stale(result, Subject::DeviceLogin);
    let mut reads = committed(store, tx).await;
    assert_eq!(reads.login_by_user_code(&pending.code).await.unwrap(), Some(approved));
}

/// `delete_device_logins` deletes the logins that a user approved or denied, and no other logins.
pub async fn decided_logins_are_deleted_by_user(store: &dyn Store) {
    let world = World::build(store).await;
    let decided =
        |user| DeviceLoginRecord { status: DeviceStatus::Denied, user: Some(user), ..login() };
    let (own, other, pending) = (decided(world.owner.id), decided(world.member.id), login());
    let mut tx = begin(store).await;
    for login in [&own, &other, &pending] {
        tx.insert_device_login(login).await.unwrap();
    }

    tx.delete_device_logins(world.owner.id).await.unwrap();

    let mut reads = committed(store, tx).await;
    assert_eq!(reads.login_by_user_code(&own.code).await.unwrap(), None);
    for kept in [other, pending] {
        assert_eq!(reads.login_by_user_code(&kept.code).await.unwrap(), Some(kept));
    }
}

/// `delete_ended_logins` deletes expired logins, with microsecond precision, up to the limit.
pub async fn ended_logins_are_removed(store: &dyn Store) {
    let (over, alive) = (
        DeviceLoginRecord { expires_at: at(60), ..login() },
        DeviceLoginRecord { expires_at: at(60) + TimeDelta::microseconds(1), ..login() },
    );
    let others = [(); 2].map(|()| DeviceLoginRecord { expires_at: at(59), ..login() });
    let mut tx = begin(store).await;
    for login in others.iter().chain([&over, &alive]) {
        tx.insert_device_login(login).await.unwrap();
    }

    let two = tx.delete_ended_logins(at(60), 2).await.unwrap();
    let one = tx.delete_ended_logins(at(60), 2).await.unwrap();

    assert_eq!((two, one), (2, 1));

    let mut reads = committed(store, tx).await;
    assert_eq!(reads.login_by_user_code(&over.code).await.unwrap(), None);
    assert_eq!(reads.login_by_user_code(&alive.code).await.unwrap(), Some(alive));
}
