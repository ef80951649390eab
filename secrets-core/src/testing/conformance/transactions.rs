//! Conformance rules for transactions and readers.

use std::slice::from_ref;
use std::sync::Arc;

use futures_util::FutureExt;

use super::{assert_duplicate, assert_stale, begin, committed, instance, read};
use crate::model::{EnvironmentPath, Principal, Role, Subject};
use crate::store::{AuditFilter, Reads, Selection, Store, StoreError, TokenRecord, TokenScope, Tx};
use crate::testing::fixtures::{
    World, at, entry, environment, member, next_version, project, project_key, secret, team, token,
    user,
};

/// A running store responds to a ping.
pub async fn a_store_answers_its_health_check(store: &dyn Store) {
    store.ping().await.unwrap();
}

/// A transaction reads its own writes before it commits.
pub async fn a_transaction_reads_its_own_writes(store: &dyn Store) {
    let alice = user("alice");
    let mut tx = begin(store).await;

    tx.insert_user(&alice).await.unwrap();

    assert_eq!(tx.user(alice.id).await.unwrap(), Some(alice));
}

/// A reader sees no uncommitted changes, and does not block.
pub async fn uncommitted_changes_are_not_seen(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    change_everything(&mut *tx, &world).await;

    assert_unchanged(&mut *read(store).await, &world).await;
    drop(tx);
}

/// Dropping a transaction undoes all its changes, in every table.
pub async fn dropping_a_transaction_undoes_everything(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    change_everything(&mut *tx, &world).await;

    drop(tx);

    assert_unchanged(&mut *read(store).await, &world).await;
    assert_unchanged(&mut *begin(store).await, &world).await;
}

/// Dropping a transaction restores the records that it deleted, including those that were deleted
/// together with them (cascade).
pub async fn dropping_a_transaction_brings_back_what_it_deleted(store: &dyn Store) {
    let world = World::build(store).await;
    let first = secret(&world.staging, "KEY");
    let second = next_version(&first);
    let of_staging = TokenRecord { all_projects: false, ..token(&world.team, &world.owner) };
    let scope =
        TokenScope { projects: vec![world.project.id], environments: vec![world.staging.id] };
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&first)).await.unwrap();
    tx.replace_secrets(from_ref(&second)).await.unwrap();
    tx.insert_token(&of_staging, &scope).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = begin(store).await;
    tx.delete_environment(world.staging.id).await.unwrap();
    tx.delete_project(world.project.id, at(60)).await.unwrap();

    drop(tx);

    let mut seen = read(store).await;
    assert_eq!(seen.secrets(world.staging.id, &[first.key]).await.unwrap(), [second]);
    assert_eq!(seen.secret_versions(first.id, u32::MAX, u32::MAX).await.unwrap().len(), 1);
    assert_eq!(seen.token_scope(of_staging.id).await.unwrap(), scope);
}

/// A commit makes all changes visible, in every table.
pub async fn a_commit_makes_all_changes_visible(store: &dyn Store) {
    let world = World::build(store).await;
    let (alice, new_team) = (user("alice"), team(&world.owner, "new"));
    let new_project = project(&new_team, "new");
    let new_environment = environment(&new_project, "new");
    let new_secret = secret(&new_environment, "NEW");
    let new_token = token(&new_team, &alice);
    let new_entry = entry(&new_team, "new", at(1));
    let mut tx = begin(store).await;
    tx.insert_user(&alice).await.unwrap();
    tx.insert_team(&new_team).await.unwrap();
    tx.insert_member(&member(&new_team, &alice, Role::Owner)).await.unwrap();
    tx.insert_project(&new_project, &project_key(&new_project)).await.unwrap();
    tx.insert_environment(&new_environment).await.unwrap();
    tx.insert_secrets(from_ref(&new_secret)).await.unwrap();
    tx.insert_token(&new_token, &TokenScope::default()).await.unwrap();
    tx.insert_audit(from_ref(&new_entry)).await.unwrap();

    let mut seen = committed(store, tx).await;

    let path = EnvironmentPath::new("new", "new");
    let resolved = seen
        .resolve_environment(&path, Principal::User(alice.id), Selection::All)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(resolved.chain[0].secrets, [Arc::new(new_secret)]);
    assert_eq!(seen.token(new_token.id).await.unwrap(), Some(new_token));
    assert_eq!(
        seen.audit_entries(&AuditFilter::newest(new_team.id, 1)).await.unwrap(),
        [new_entry]
    );
}

/// No other transaction begins while a transaction is open in an exclusive store.
pub async fn no_transaction_begins_beside_an_exclusive_one(store: &dyn Store) {
    if !store.is_exclusive() {
        return;
    }
    let mut first = begin(store).await;
    let alice = user("alice");
    let mut second = store.begin();
    for _ in 0..20 {
        // Gives the store enough time to begin the second transaction.
        first.user(alice.id).await.unwrap();
        assert!(second.as_mut().now_or_never().is_none());
    }
    first.insert_user(&alice).await.unwrap();
    first.commit().await.unwrap();

    assert_eq!(second.await.unwrap().user(alice.id).await.unwrap(), Some(alice));
}

/// A reader also sees changes that are committed after the reader was opened.
pub async fn a_reader_sees_what_was_committed_before_each_call(store: &dyn Store) {
    let alice = user("alice");
    let mut seen = read(store).await;
    assert_eq!(seen.user(alice.id).await.unwrap(), None);
    let mut tx = begin(store).await;
    tx.insert_user(&alice).await.unwrap();
    assert_eq!(seen.user(alice.id).await.unwrap(), None);

    tx.commit().await.unwrap();

    assert_eq!(seen.user(alice.id).await.unwrap(), Some(alice));
}

/// A transaction sees the changes of all transactions that were committed before it began.
pub async fn a_transaction_sees_what_was_committed_before_it(store: &dyn Store) {
    let world = World::build(store).await;
    let first = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&first)).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    tx.replace_secrets(from_ref(&next_version(&first))).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    assert_eq!(tx.secret_versions(first.id, u32::MAX, u32::MAX).await.unwrap().len(), 1);
}

/// A transaction that wrote nothing can be committed, also after reading.
pub async fn a_transaction_may_do_nothing(store: &dyn Store) {
    begin(store).await.commit().await.unwrap();
    let mut tx = begin(store).await;
    tx.user(user("alice").id).await.unwrap();

    tx.commit().await.unwrap();

    drop(begin(store).await);
}

/// After a transaction is dropped, the next transaction can begin, however often this happens.
pub async fn a_dropped_transaction_lets_the_next_begin(store: &dyn Store) {
    let world = World::build(store).await;

    for _ in 0..40 {
        let mut tx = begin(store).await;
        tx.touch_environment(world.production.id, 1).await.unwrap();
    }

    let mut tx = begin(store).await;
    assert_eq!(tx.touch_environment(world.production.id, 1).await.unwrap().revision, 1);
}

/// Cancelling a call of `begin` that is waiting does not block other transactions.
pub async fn a_cancelled_begin_blocks_no_transaction(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    tx.touch_environment(world.production.id, 1).await.unwrap();

    for _ in 0..40 {
        drop(store.begin().now_or_never());
        drop(store.read().now_or_never());
    }
    tx.commit().await.unwrap();

    let mut tx = begin(store).await;
    assert_eq!(tx.touch_environment(world.production.id, 1).await.unwrap().revision, 2);
}

/// After a call within a transaction is cancelled, the transaction can be dropped, and the store
/// can still be used.
pub async fn a_cancelled_call_leaves_the_store_usable(store: &dyn Store) {
    let world = World::build(store).await;
    for number in 0..20 {
        let mut tx = begin(store).await;
        tx.touch_environment(world.production.id, 1).await.unwrap();
        drop(tx.insert_secrets(&[secret(&world.production, &format!("K{number}"))]).now_or_never());
    }

    let mut tx = begin(store).await;
    assert_eq!(tx.touch_environment(world.production.id, 1).await.unwrap().revision, 1);
    assert_eq!(tx.count_secrets(world.production.id).await.unwrap(), 0);
}

/// After a `Duplicate` error, the transaction can still be used; checked for every table.
pub async fn a_duplicate_leaves_the_transaction_usable(store: &dyn Store) {
    let world = World::build(store).await;
    let (own, hash) = (secret(&world.staging, "KEY"), token(&world.team, &world.owner));
    let (founded, keys) = instance::installation();
    let slug = project(&world.team, "billing");
    let mut tx = begin(store).await;
    tx.insert_instance(&founded, &keys).await.unwrap();
    tx.insert_secrets(from_ref(&own)).await.unwrap();
    tx.insert_token(&hash, &TokenScope::default()).await.unwrap();

    assert_duplicate(tx.insert_user(&user("owner")).await, Subject::User);
    assert_duplicate(tx.insert_team(&team(&world.owner, "acme")).await, Subject::Team);
    tx.insert_member(&member(&world.team, &world.owner, Role::Member)).await.unwrap_err();
    assert_duplicate(tx.insert_project(&slug, &project_key(&slug)).await, Subject::Project);
    let name = environment(&world.project, "staging");
    assert_duplicate(tx.insert_environment(&name).await, Subject::Environment);
    assert_duplicate(tx.insert_secrets(&[secret(&world.staging, "KEY")]).await, Subject::Secret);
    let again = TokenRecord { mac: hash.mac, ..token(&world.team, &world.owner) };
    assert_duplicate(tx.insert_token(&again, &TokenScope::default()).await, Subject::Token);
    let second = tx.insert_instance(&founded, &keys).await;
    assert!(matches!(second, Err(StoreError::Duplicate(_))), "{second:?}");

    tx.insert_user(&user("alice")).await.unwrap();
    let mut seen = committed(store, tx).await;
    assert!(seen.user_by_subject(&world.owner.issuer, "alice").await.unwrap().is_some());
    assert_eq!(seen.secrets(world.staging.id, from_ref(&own.key)).await.unwrap(), [own]);
    assert_eq!(seen.count_tokens(world.team.id).await.unwrap(), 1);
}

/// After a `Stale` error, the transaction can still be used; checked for every table.
pub async fn a_stale_record_leaves_the_transaction_usable(store: &dyn Store) {
    let world = World::build(store).await;
    let unknown = project(&world.team, "unknown");
    let nowhere = environment(&unknown, "nowhere");
    let missing = secret(&nowhere, "MISSING");
    let mut tx = begin(store).await;
    tx.insert_user(&user("before")).await.unwrap();

    assert_stale(tx.lock_team(team(&world.owner, "unknown").id).await, Subject::Team);
    assert_stale(tx.update_project(&unknown).await, Subject::Project);
    assert_stale(tx.delete_project(unknown.id, at(1)).await, Subject::Project);
    assert_stale(tx.lock_project(unknown.id).await, Subject::Project);
    assert_stale(tx.delete_environment(nowhere.id).await, Subject::Environment);
    assert_stale(tx.touch_environment(nowhere.id, 1).await, Subject::Environment);
    assert_stale(tx.replace_secrets(from_ref(&next_version(&missing))).await, Subject::Secret);
    assert_stale(tx.delete_secret(missing.id).await, Subject::Secret);
    assert_stale(tx.delete_token(token(&world.team, &world.owner).id).await, Subject::Token);

    tx.insert_user(&user("after")).await.unwrap();
    let mut seen = committed(store, tx).await;
    for subject in ["before", "after"] {
        assert!(seen.user_by_subject(&world.owner.issuer, subject).await.unwrap().is_some());
    }
}

/// Writes at least one row to every table.
async fn change_everything(tx: &mut dyn Tx, world: &World) {
    let alice = user("alice");
    let (founded, keys) = instance::installation();
    let new_team = team(&alice, "new");
    let new_project = project(&world.team, "new");
    tx.insert_instance(&founded, &keys).await.unwrap();
    tx.insert_user(&alice).await.unwrap();
    tx.insert_team(&new_team).await.unwrap();
    tx.insert_member(&member(&world.team, &alice, Role::Admin)).await.unwrap();
    tx.insert_project(&new_project, &project_key(&new_project)).await.unwrap();
    tx.insert_environment(&environment(&world.project, "new")).await.unwrap();
    tx.touch_environment(world.production.id, 1).await.unwrap();
    tx.insert_secrets(&[secret(&world.production, "NEW")]).await.unwrap();
    tx.insert_token(&token(&world.team, &alice), &TokenScope::default()).await.unwrap();
    tx.insert_audit(&[entry(&world.team, "new", at(1))]).await.unwrap();
    tx.delete_environment(world.development.id).await.unwrap();
}

/// Asserts that the store contains the unchanged test world and no other records.
async fn assert_unchanged(seen: &mut (impl Reads + ?Sized), world: &World) {
    let owner = Principal::User(world.owner.id);
    assert!(seen.instance().await.unwrap().is_none());
    assert_eq!(seen.user_by_subject(&world.owner.issuer, "alice").await.unwrap(), None);
    assert_eq!(seen.members(&[world.team.id]).await.unwrap().len(), 2);
    assert_eq!(seen.projects(owner).await.unwrap(), from_ref(&world.project));
    let environments = [&world.development, &world.staging, &world.production].map(Clone::clone);
    assert_eq!(seen.environments(world.project.id, owner).await.unwrap(), environments);
    assert_eq!(seen.count_secrets(world.production.id).await.unwrap(), 0);
    assert_eq!(seen.count_tokens(world.team.id).await.unwrap(), 0);
    assert_eq!(seen.audit_entries(&AuditFilter::newest(world.team.id, 1)).await.unwrap(), []);
}
