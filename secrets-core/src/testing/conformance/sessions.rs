//! Conformance rules for sessions of command-line clients and browsers.

use chrono::TimeDelta;

use super::device_logins::telling;
use super::{assert_duplicate, assert_stale, begin, committed};
use crate::crypto::{TokenMac, random};
use crate::model::{SessionId, SessionKind, Subject};
use crate::store::{DeviceClient, SessionRecord, Store, UserRecord};
use crate::testing::fixtures::{World, at};

fn session(user: &UserRecord, seconds: i64) -> SessionRecord {
    SessionRecord {
        id: SessionId::draw(at(seconds)),
        kind: SessionKind::Cli,
        user: user.id,
        mac: TokenMac(random()),
        prefix: "cli_0Eoh211G".to_owned(),
        client: DeviceClient::default(),
        created_at: at(seconds),
        expires_at: at(seconds + 60),
        last_used_at: None,
    }
}

/// Creates a browser session that ends because of inactivity long before its expiry time.
fn browser_session(user: &UserRecord, seconds: i64) -> SessionRecord {
    SessionRecord {
        kind: SessionKind::Browser,
        prefix: "web_0Eoh211G".to_owned(),
        expires_at: at(seconds + 10_000),
        ..session(user, seconds)
    }
}

/// All fields of a session are stored, and the session is loaded together with its user.
pub async fn a_session_is_found_with_its_person(store: &dyn Store) {
    let world = World::build(store).await;
    let full = SessionRecord {
        client: telling(),
        last_used_at: Some(at(7)),
        ..browser_session(&world.owner, 0)
    };
    let bare = session(&world.member, 0);
    let mut tx = begin(store).await;

    for session in [&full, &bare] {
        tx.insert_session(session).await.unwrap();
    }

    let mut reads = committed(store, tx).await;
    for (session, user) in [(full, &world.owner), (bare, &world.member)] {
        let found = reads.session(&session.mac).await.unwrap();
        assert_eq!(found, Some((session, user.clone())));
    }
    assert_eq!(reads.session(&TokenMac([0; 32])).await.unwrap(), None);
}

/// Two sessions cannot have the same credential.
pub async fn a_session_credential_is_unique(store: &dyn Store) {
    let world = World::build(store).await;
    let first = session(&world.owner, 0);
    let mut tx = begin(store).await;
    tx.insert_session(&first).await.unwrap();

    let other = SessionRecord { mac: first.mac, ..browser_session(&world.member, 1) };

    assert_duplicate(tx.insert_session(&other).await, Subject::Session);
}

/// A user's sessions are listed oldest first, without sessions of other users.
pub async fn sessions_come_oldest_first(store: &dyn Store) {
    let world = World::build(store).await;
    let (late, early) = (session(&world.owner, 9), browser_session(&world.owner, 1));
    let mut tx = begin(store).await;
    for session in [&late, &early, &session(&world.member, 5)] {
        tx.insert_session(session).await.unwrap();
    }

    let found = committed(store, tx).await.sessions(world.owner.id).await.unwrap();

    assert_eq!(found, [early, late]);
}

/// `record_session_use` does nothing if the last use was recorded less than a minute before, or if
/// the session is deleted.
pub async fn a_use_of_a_session_is_stored_once_per_interval(store: &dyn Store) {
    let world = World::build(store).await;
    let used = browser_session(&world.owner, 0);
    let mut tx = begin(store).await;
    tx.insert_session(&used).await.unwrap();

    for (seconds, kept) in [(0, 0), (59, 0), (60, 60), (-5, 60), (119, 60), (130, 130)] {
        tx.record_session_use(used.id, at(seconds)).await.unwrap();

        let (found, _) = tx.session(&used.mac).await.unwrap().unwrap();
        assert_eq!(found.last_used_at, Some(at(kept)), "{seconds}");
    }
    let gone = session(&world.owner, 0);
    tx.record_session_use(gone.id, at(0)).await.unwrap();

    let mut reads = committed(store, tx).await;
    let last = SessionRecord { last_used_at: Some(at(130)), ..used };
    assert_eq!(reads.sessions(world.owner.id).await.unwrap(), [last]);
}

/// A session can be deleted only by its own user, and only once.
pub async fn a_session_ends_once(store: &dyn Store) {
    let world = World::build(store).await;
    let session = session(&world.owner, 0);
    let mut tx = begin(store).await;
    tx.insert_session(&session).await.unwrap();

    let result = tx.delete_session(world.member.id, session.id).await;
    assert_stale(result, Subject::Session);
    tx.delete_session(world.owner.id, session.id).await.unwrap();
    let result = tx.delete_session(world.owner.id, session.id).await;
    assert_stale(result, Subject::Session);

    assert_eq!(committed(store, tx).await.session(&session.mac).await.unwrap(), None);
}

/// `delete_sessions` deletes all sessions of a user, or all but one, and no sessions of other
/// users.
pub async fn all_sessions_of_a_person_end(store: &dyn Store) {
    let world = World::build(store).await;
    let (other, kept) = (session(&world.member, 0), browser_session(&world.owner, 2));
    let mut tx = begin(store).await;
    for session in [&session(&world.owner, 0), &browser_session(&world.owner, 1), &kept, &other] {
        tx.insert_session(session).await.unwrap();
    }

    let deleted = tx.delete_sessions(world.owner.id, Some(kept.id)).await.unwrap();

    assert_eq!(deleted, 2);
    assert_eq!(tx.sessions(world.owner.id).await.unwrap(), [kept]);
    assert_eq!(tx.delete_sessions(world.owner.id, None).await.unwrap(), 1);
    let mut reads = committed(store, tx).await;
    assert_eq!(reads.sessions(world.owner.id).await.unwrap(), []);
    assert_eq!(reads.sessions(world.member.id).await.unwrap(), [other]);
}

/// `ended_sessions` lists expired sessions of both kinds, with microsecond precision, up to the
/// limit, and `delete_ended_sessions` deletes them.
pub async fn ended_sessions_are_removed(store: &dyn Store) {
    let world = World::build(store).await;
    let microsecond = TimeDelta::microseconds(1);
    let over = [session(&world.owner, 0), browser_session(&world.owner, 0)];
    let alive = over.clone().map(|over| SessionRecord {
        id: SessionId::draw(at(1)),
        mac: TokenMac(random()),
        created_at: at(1),
        expires_at: at(60) + microsecond,
        ..over
    });
    let mut tx = begin(store).await;
    for over in over {
        tx.insert_session(&SessionRecord { expires_at: at(60), ..over }).await.unwrap();
    }
    for alive in &alive {
        tx.insert_session(alive).await.unwrap();
    }

    let (by, idle) = (at(60), at(-1));
    let first = tx.ended_sessions(by, idle, 1).await.unwrap();
    let one = tx.delete_ended_sessions(&first, by, idle).await.unwrap();
    let rest = tx.ended_sessions(by, idle, 9).await.unwrap();
    let another = tx.delete_ended_sessions(&rest, by, idle).await.unwrap();

    assert_eq!((first.len(), one, rest.len(), another), (1, 1, 1, 1));
    assert_eq!(tx.ended_sessions(by, idle, 9).await.unwrap(), []);

    let found = committed(store, tx).await.sessions(world.owner.id).await.unwrap();
    assert_eq!(found.len(), 2);
    assert!(alive.iter().all(|alive| found.contains(alive)), "{found:?}");
}

/// `ended_sessions` lists browser sessions whose last activity was before a given time, and
/// `delete_ended_sessions` deletes them. A session that was never used was last active at its
/// creation. Sessions of command-line clients are not deleted for inactivity.
pub async fn idle_browser_sessions_are_removed(store: &dyn Store) {
    let world = World::build(store).await;
    let cli = SessionRecord { expires_at: at(10_000), ..session(&world.owner, 0) };
    let used = |seconds, last| SessionRecord {
        last_used_at: Some(at(last)),
        ..browser_session(&world.owner, seconds)
    };
    let idle = [browser_session(&world.owner, 9), browser_session(&world.owner, 10), used(1, 10)];
    let active = [used(2, 11), browser_session(&world.owner, 11)];
    let mut tx = begin(store).await;
    for session in idle.iter().chain(&active).chain([&cli]) {
        tx.insert_session(session).await.unwrap();
    }

    let ended = tx.ended_sessions(at(12), at(10), 9).await.unwrap();
    let deleted = tx.delete_ended_sessions(&ended, at(12), at(10)).await.unwrap();

    assert_eq!((ended.len(), deleted), (3, 3));

    let found = committed(store, tx).await.sessions(world.owner.id).await.unwrap();
    let [used, unused] = active;
    assert_eq!(found, [cli, used, unused]);
}

/// `delete_ended_sessions` deletes no session that was used after it was listed, no session that
/// has not ended, and no session that is not given. It accepts an empty list and unknown IDs.
pub async fn a_session_that_was_used_again_is_not_removed(store: &dyn Store) {
    let world = World::build(store).await;
    let [used, idle, not_given] = [0, 1, 2].map(|age| browser_session(&world.owner, age));
    let alive = SessionRecord { expires_at: at(10_000), ..session(&world.owner, 3) };
    let mut tx = begin(store).await;
    for session in [&used, &idle, &not_given, &alive] {
        tx.insert_session(session).await.unwrap();
    }
    let (by, idle_since) = (at(60), at(10));
    assert_eq!(tx.ended_sessions(by, idle_since, 9).await.unwrap().len(), 3);

    tx.record_session_use(used.id, at(70)).await.unwrap();
    let given = [used.id, idle.id, alive.id, SessionId::draw(at(0))];
    let deleted = tx.delete_ended_sessions(&given, by, idle_since).await.unwrap();
    let none = tx.delete_ended_sessions(&[], by, idle_since).await.unwrap();

    assert_eq!((deleted, none), (1, 0));
    let used = SessionRecord { last_used_at: Some(at(70)), ..used };
    let found = committed(store, tx).await.sessions(world.owner.id).await.unwrap();
    assert_eq!(found, [used, not_given, alive]);
}
