//! Rules for device logins of command-line clients, and for their sessions.

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::crypto::{TokenMac, random};
use crate::model::{CliSessionId, DeviceLoginId, Subject};
use crate::store::{
    CliSessionRecord, DeviceClient, DeviceLoginRecord, DeviceStatus, Store, UserRecord,
};
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

fn telling() -> DeviceClient {
    DeviceClient {
        name: Some("secrets 1.0".parse().unwrap()),
        hostname: Some("Ünï's laptop".parse().unwrap()),
        os: Some("linux".parse().unwrap()),
        address: Some([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into()),
    }
}

fn session(user: &UserRecord, seconds: i64) -> CliSessionRecord {
    CliSessionRecord {
        id: CliSessionId::draw(at(seconds)),
        user: user.id,
        mac: TokenMac(random()),
        prefix: "cli_0Eoh211G".to_owned(),
        client: DeviceClient::default(),
        created_at: at(seconds),
        expires_at: at(seconds + 60),
    }
}

/// All fields of a login are stored, and the login is found by its device code and by its user
/// code.
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

/// A login cannot be inserted if another login has its device code or its user code.
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

/// A login can be updated only if its stored status is the expected status.
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

/// All fields of a session are stored, and it is loaded with its user.
pub async fn a_session_is_found_with_its_person(store: &dyn Store) {
    let world = World::build(store).await;
    let session = CliSessionRecord { client: telling(), ..session(&world.owner, 0) };
    let mut tx = begin(store).await;

    tx.insert_cli_session(&session).await.unwrap();

    let mut reads = committed(store, tx).await;
    let found = reads.cli_session(&session.mac).await.unwrap();
    assert_eq!(found, Some((session, world.owner.clone())));
    assert_eq!(reads.cli_session(&TokenMac([0; 32])).await.unwrap(), None);
}

/// A user's sessions are listed oldest first, without sessions of other users.
pub async fn sessions_come_oldest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let (late, early) = (session(&world.owner, 9), session(&world.owner, 1));
    let mut tx = begin(store).await;
    for session in [&late, &early, &session(&world.member, 5)] {
        tx.insert_cli_session(session).await.unwrap();
    }

    let found = committed(store, tx).await.cli_sessions(world.owner.id).await.unwrap();

    assert_eq!(found, [early, late]);
}

/// A session can be deleted only by its own user, and only once.
pub async fn a_session_ends_once(store: &dyn Store) {
    let world = World::build(store).await;
    let session = session(&world.owner, 0);
    let mut tx = begin(store).await;
    tx.insert_cli_session(&session).await.unwrap();

    let result = tx.delete_cli_session(world.member.id, session.id).await;
    assert_stale(result, Subject::CliSession);
    tx.delete_cli_session(world.owner.id, session.id).await.unwrap();
    let result = tx.delete_cli_session(world.owner.id, session.id).await;
    assert_stale(result, Subject::CliSession);

    assert_eq!(committed(store, tx).await.cli_session(&session.mac).await.unwrap(), None);
}

/// `delete_cli_sessions` deletes all sessions of a user, and no sessions of other users.
pub async fn all_sessions_of_a_person_end(store: &dyn Store) {
    let world = World::build(store).await;
    let other = session(&world.member, 0);
    let mut tx = begin(store).await;
    for session in [&session(&world.owner, 0), &session(&world.owner, 1), &other] {
        tx.insert_cli_session(session).await.unwrap();
    }

    tx.delete_cli_sessions(world.owner.id).await.unwrap();

    let mut reads = committed(store, tx).await;
    assert_eq!(reads.cli_sessions(world.owner.id).await.unwrap(), []);
    assert_eq!(reads.cli_sessions(world.member.id).await.unwrap(), [other]);
}

/// `delete_ended_logins` deletes expired logins and sessions, with microsecond precision.
pub async fn what_is_over_is_removed(store: &dyn Store) {
    let world = World::build(store).await;
    let (over, alive) = (session(&world.owner, 0), session(&world.owner, 1));
    let old = DeviceLoginRecord { expires_at: at(60), ..login() };
    let mut tx = begin(store).await;
    for session in [&over, &alive] {
        tx.insert_cli_session(session).await.unwrap();
    }
    tx.insert_device_login(&old).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = begin(store).await;

    tx.delete_ended_logins(at(60)).await.unwrap();

    tx.commit().await.unwrap();
    let mut reads = read(store).await;
    assert_eq!(reads.cli_sessions(world.owner.id).await.unwrap(), [alive]);
    assert_eq!(reads.login_by_user_code(&old.code).await.unwrap(), None);
}
