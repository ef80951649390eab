//! Conformance rules for users.

use super::{assert_duplicate, assert_stale, begin, committed};
use crate::model::Subject;
use crate::store::{Store, UserRecord};
use crate::testing::fixtures::{World, at, user};

/// A user is found by ID. A lookup by an unknown ID finds no user.
pub async fn a_person_is_found_by_id(store: &dyn Store) {
    let (alice, unknown) = (user("alice"), user("unknown"));
    let mut tx = begin(store).await;

    tx.insert_user(&alice).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.user(alice.id).await.unwrap(), Some(alice));
    assert_eq!(seen.user(unknown.id).await.unwrap(), None);
}

/// A user is found only by the issuer and the subject together.
pub async fn a_person_is_found_by_issuer_and_subject(store: &dyn Store) {
    let alice = user("alice");
    let mut tx = begin(store).await;

    tx.insert_user(&alice).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.user_by_subject("https://other.example", "alice").await.unwrap(), None);
    assert_eq!(seen.user_by_subject(&alice.issuer, "bob").await.unwrap(), None);
    assert_eq!(seen.user_by_subject(&alice.issuer, "alice\0").await.unwrap(), None);
    assert_eq!(seen.user_by_subject(&alice.issuer, "alice").await.unwrap(), Some(alice));
}

/// Two users of one issuer cannot have the same subject.
pub async fn an_issuers_subject_is_unique(store: &dyn Store) {
    let mut tx = begin(store).await;
    tx.insert_user(&user("alice")).await.unwrap();

    let again = tx.insert_user(&user("alice")).await;

    assert_duplicate(again, Subject::User);
}

/// Two issuers may use the same subject for different users.
pub async fn two_issuers_may_use_the_same_subject(store: &dyn Store) {
    let ours = user("alice");
    let theirs = UserRecord { issuer: "https://other.example".to_owned(), ..user("alice") };
    let mut tx = begin(store).await;

    tx.insert_user(&ours).await.unwrap();
    tx.insert_user(&theirs).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.user_by_subject(&ours.issuer, "alice").await.unwrap(), Some(ours));
    assert_eq!(seen.user_by_subject(&theirs.issuer, "alice").await.unwrap(), Some(theirs));
}

/// Subjects that differ only in case, accents or spaces belong to different users.
pub async fn a_subject_is_compared_exactly(store: &dyn Store) {
    let people = ["alice", "Alice", "alicé", "alice\u{301}", " alice", "alice "].map(user);
    let mut tx = begin(store).await;

    for person in &people {
        tx.insert_user(person).await.unwrap();
    }

    let mut seen = committed(store, tx).await;
    for person in people {
        let found = seen.user_by_subject(&person.issuer, &person.subject).await.unwrap();
        assert_eq!(found, Some(person));
    }
}

/// Two users may have the same e-mail address, because two issuers may report the same address.
pub async fn an_email_address_is_not_unique(store: &dyn Store) {
    let alice = user("alice");
    let namesake = UserRecord { email: alice.email.clone(), ..user("namesake") };
    let mut tx = begin(store).await;
    tx.insert_user(&alice).await.unwrap();

    tx.insert_user(&namesake).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.user(namesake.id).await.unwrap(), Some(namesake));
}

/// All profile fields that an identity provider can report are stored unchanged.
pub async fn all_profile_fields_are_stored(store: &dyn Store) {
    let full = full_user();
    let mut tx = begin(store).await;

    tx.insert_user(&full).await.unwrap();

    assert_eq!(committed(store, tx).await.user(full.id).await.unwrap(), Some(full));
}

/// Profile fields that the identity provider does not report are `None`, and not empty strings.
pub async fn absent_profile_fields_stay_absent(store: &dyn Store) {
    let absent = UserRecord { email_verified: false, ..user("alice") };
    let empty = UserRecord { first_name: Some(String::new()), ..user("bob") };
    let mut tx = begin(store).await;

    tx.insert_user(&absent).await.unwrap();
    tx.insert_user(&empty).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.user(absent.id).await.unwrap(), Some(absent));
    assert_eq!(seen.user(empty.id).await.unwrap(), Some(empty));
}

/// Strings of any length and script, such as a user's name, are stored unchanged.
pub async fn a_long_name_in_any_script_survives(store: &dyn Store) {
    let name = "Zoë 'O\"Brien' \\ %_; -- 日本語 👩\u{200d}🚀 ".repeat(200);
    let person = UserRecord { name, ..user("alice") };
    let mut tx = begin(store).await;

    tx.insert_user(&person).await.unwrap();

    assert_eq!(committed(store, tx).await.user(person.id).await.unwrap(), Some(person));
}

/// An update replaces all fields of a user except ID, issuer, subject and creation time.
pub async fn an_update_keeps_the_identity_of_a_user(store: &dyn Store) {
    let alice = user("alice");
    let changed = UserRecord { id: alice.id, created_at: at(900), ..full_user() };
    let mut tx = begin(store).await;
    tx.insert_user(&alice).await.unwrap();

    tx.update_user(&changed).await.unwrap();

    let expected = UserRecord {
        issuer: alice.issuer.clone(),
        subject: alice.subject.clone(),
        created_at: alice.created_at,
        ..changed
    };
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.user(alice.id).await.unwrap(), Some(expected.clone()));
    assert_eq!(seen.user_by_subject(&alice.issuer, "alice").await.unwrap(), Some(expected));
}

/// An update can remove optional fields of a user.
pub async fn an_update_can_clear_profile_fields(store: &dyn Store) {
    let full = full_user();
    let reduced = UserRecord {
        email_verified: false,
        first_name: None,
        last_name: None,
        avatar_url: None,
        last_login_at: None,
        ..full.clone()
    };
    let mut tx = begin(store).await;
    tx.insert_user(&full).await.unwrap();

    tx.update_user(&reduced).await.unwrap();

    assert_eq!(committed(store, tx).await.user(full.id).await.unwrap(), Some(reduced));
}

/// An update changes only the given user.
pub async fn an_update_changes_no_other_user(store: &dyn Store) {
    let (alice, bob) = (user("alice"), user("bob"));
    let mut tx = begin(store).await;
    tx.insert_user(&alice).await.unwrap();
    tx.insert_user(&bob).await.unwrap();

    tx.update_user(&UserRecord { name: "Alice".to_owned(), ..alice }).await.unwrap();

    assert_eq!(committed(store, tx).await.user(bob.id).await.unwrap(), Some(bob));
}

/// Creates a user with every profile field set.
fn full_user() -> UserRecord {
    UserRecord {
        issuer: "https://issuer.example/tenant?x=1#y".to_owned(),
        email: "ünï+tag@exämple.com".to_owned(),
        email_verified: true,
        name: "Ünï Cödé 日本".to_owned(),
        first_name: Some("Ünï".to_owned()),
        last_name: Some("Cödé".to_owned()),
        avatar_url: Some("https://images.example/a.png?size=1&x=%20".to_owned()),
        created_at: at(1),
        updated_at: at(2),
        last_login_at: Some(at(3)),
        ..user("auth0|5f7c8ec7c33c6c004bbafe82")
    }
}

/// Erasing a user removes all personal data, but keeps the row and the references to it. A new user
/// can then have the same issuer and subject.
pub async fn a_forgotten_user_leaves_a_row_without_personal_data(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;

    tx.erase_user(world.owner.id, at(60)).await.unwrap();

    let mut seen = committed(store, tx).await;
    let left = seen.user(world.owner.id).await.unwrap().unwrap();
    let UserRecord { issuer, subject, .. } = &world.owner;
    assert_eq!(seen.user_by_subject(issuer, subject).await.unwrap(), None);
    assert_eq!((left.email.as_str(), left.name.as_str()), ("", "deleted user"));
    assert_eq!((left.first_name, left.avatar_url, left.last_login_at), (None, None, None));
    assert_eq!((left.created_at, left.updated_at), (world.owner.created_at, at(60)));
    assert!(!left.email_verified && left.issuer.is_empty());
    assert_eq!(seen.team(world.team.id).await.unwrap().unwrap().created_by, world.owner.id);
    let mut tx = begin(store).await;
    tx.insert_user(&user(subject)).await.unwrap();
    tx.erase_user(world.outsider.id, at(60)).await.unwrap();
    tx.commit().await.unwrap();
}

/// `update_user` has no effect on an erased user, even if the record was read before the user was
/// erased.
pub async fn a_forgotten_user_is_not_updated(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.erase_user(world.owner.id, at(60)).await.unwrap();

    tx.update_user(&world.owner).await.unwrap();

    let left = committed(store, tx).await.user(world.owner.id).await.unwrap().unwrap();
    assert_eq!(left.email, "");
}

/// The row of a user can be locked several times in one transaction. Locking an erased user fails.
pub async fn a_forgotten_user_cannot_be_locked(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.lock_user(world.owner.id).await.unwrap();
    tx.lock_user(world.owner.id).await.unwrap();

    tx.erase_user(world.owner.id, at(60)).await.unwrap();

    assert_stale(tx.lock_user(world.owner.id).await, Subject::User);
    assert_stale(tx.lock_user(user("unknown").id).await, Subject::User);
}
