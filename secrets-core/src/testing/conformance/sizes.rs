//! Conformance rules for the sizes of an environment's secrets, and for deleting previous versions.

use std::slice::from_ref;

use super::{assert_duplicate, assert_stale, begin, committed, read};
use crate::model::{EnvironmentId, Subject};
use crate::store::{Change, EnvironmentCounters, MAX_PRUNED, SecretRecord, Store, Tx};
use crate::testing::fixtures::{
    World, at, environment, next_version, project, project_key, sealed, secret, team,
};

/// Returns the total size of an environment's secrets and the total size of their previous
/// versions, in bytes.
async fn sizes(tx: &mut dyn Tx, environment: EnvironmentId) -> (u64, u64) {
    let counters = tx.environment_counters(environment).await.unwrap();
    (counters.size, counters.history_size)
}

/// Returns the size of a secret's encrypted value in bytes, without the description.
fn value_size(secret: &SecretRecord) -> u64 {
    secret.sealed.as_bytes().len() as u64
}

/// Returns the version numbers of a secret's previous versions, newest first.
async fn numbers(tx: &mut dyn Tx, secret: &SecretRecord) -> Vec<u32> {
    let versions = tx.secret_versions(secret.id, u32::MAX, u32::MAX).await.unwrap();
    versions.iter().map(|version| version.version).collect()
}

/// Inserts a secret and replaces it until it has the given version. Returns the record of that
/// version.
async fn replaced(tx: &mut dyn Tx, first: SecretRecord, version: u32) -> SecretRecord {
    tx.insert_secrets(from_ref(&first)).await.unwrap();
    let mut newest = first;
    while newest.version < version {
        newest = next_version(&newest);
        tx.replace_secrets(from_ref(&newest)).await.unwrap();
    }
    newest
}

/// Every insert, replacement, new description and deletion updates the sizes of the environment.
pub async fn sizes_follow_every_write(store: &dyn Store) {
    let world = World::build(store).await;
    let (here, there) = (world.production.id, world.staging.id);
    let first =
        SecretRecord { description: Some(sealed(b"first")), ..secret(&world.production, "KEY") };
    let others = [secret(&world.production, "OTHER"), secret(&world.staging, "KEY")];
    let mut tx = begin(store).await;
    assert_eq!(sizes(&mut *tx, here).await, (0, 0));

    tx.insert_secrets(from_ref(&first)).await.unwrap();
    tx.insert_secrets(&others).await.unwrap();
    let other = others[0].size() as u64;
    assert_eq!(sizes(&mut *tx, here).await, (first.size() as u64 + other, 0));
    assert_eq!(sizes(&mut *tx, there).await, (others[1].size() as u64, 0));

    let second = SecretRecord { description: None, ..next_version(&first) };
    tx.replace_secrets(from_ref(&second)).await.unwrap();
    let history = value_size(&first);
    assert_eq!(sizes(&mut *tx, here).await, (second.size() as u64 + other, history));

    let described = SecretRecord { description: Some(sealed(b"a longer one")), ..second.clone() };
    tx.update_secret_description(&described).await.unwrap();
    assert_eq!(sizes(&mut *tx, here).await, (described.size() as u64 + other, history));
    tx.update_secret_description(&second).await.unwrap();
    assert_eq!(sizes(&mut *tx, here).await, (second.size() as u64 + other, history));

    tx.delete_secret(second.id).await.unwrap();
    assert_eq!(sizes(&mut *tx, here).await, (other, 0));
    let counters = committed(store, tx).await.environment_counters(here).await.unwrap();
    assert_eq!(
        counters,
        EnvironmentCounters { revision: 0, size: other, history_size: 0, manifest: None }
    );
}

/// A write that fails or is rolled back changes no stored size.
pub async fn sizes_follow_no_failed_write(store: &dyn Store) {
    let world = World::build(store).await;
    let held = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&held)).await.unwrap();
    tx.commit().await.unwrap();
    let before = (held.size() as u64, 0);

    let mut tx = begin(store).await;
    let taken = [secret(&world.production, "NEW"), secret(&world.production, "KEY")];
    assert_duplicate(tx.insert_secrets(&taken).await, Subject::Secret);
    assert_duplicate(tx.insert_secrets(&taken[1..]).await, Subject::Secret);
    let late = SecretRecord { version: 3, ..next_version(&held) };
    assert_stale(tx.replace_secrets(from_ref(&late)).await, Subject::Secret);
    assert_stale(tx.delete_secret(taken[0].id).await, Subject::Secret);
    assert_eq!(sizes(&mut *tx, world.production.id).await, before);
    tx.replace_secrets(from_ref(&next_version(&held))).await.unwrap();
    drop(tx);

    let counters = read(store).await.environment_counters(world.production.id).await.unwrap();
    assert_eq!((counters.size, counters.history_size), before);
}

/// The size of a team's secrets includes the secrets of all its environments and their previous
/// versions, even of deleted projects.
pub async fn a_team_stores_the_secrets_of_all_its_projects(store: &dyn Store) {
    let world = World::build(store).await;
    let elsewhere = project(&world.team, "elsewhere");
    let others = project(&world.other_team, "others");
    let [place, foreign] = [&elsewhere, &others].map(|project| environment(project, "place"));
    let [first, other] = [secret(&world.production, "KEY"), secret(&place, "KEY")];
    let foreign_secret = secret(&foreign, "KEY");
    let mut tx = begin(store).await;
    for (project, environment) in [(&elsewhere, &place), (&others, &foreign)] {
        tx.insert_project(project, &project_key(project)).await.unwrap();
        tx.insert_environment(environment).await.unwrap();
    }
    assert_eq!(tx.stored_bytes(world.team.id).await.unwrap(), 0);

    for secret in [&first, &other, &foreign_secret] {
        tx.insert_secrets(from_ref(secret)).await.unwrap();
    }
    let second = next_version(&first);
    tx.replace_secrets(from_ref(&second)).await.unwrap();
    let size = second.size() as u64 + value_size(&first) + other.size() as u64;
    assert_eq!(tx.stored_bytes(world.team.id).await.unwrap(), size);
    tx.delete_project(elsewhere.id, at(1)).await.unwrap();
    assert_eq!(tx.stored_bytes(world.team.id).await.unwrap(), size);
    let mut seen = committed(store, tx).await;

    assert_eq!(seen.stored_bytes(world.team.id).await.unwrap(), size);
    let unknown = team(&world.owner, "unknown").id;
    assert_eq!(seen.stored_bytes(unknown).await.unwrap(), 0);
}

/// `touch_environment` returns the sizes of the environment's secrets. It fails for an unknown
/// environment.
pub async fn touching_returns_the_sizes(store: &dyn Store) {
    let world = World::build(store).await;
    let held = secret(&world.production, "KEY");
    let mut tx = begin(store).await;
    tx.insert_secrets(from_ref(&held)).await.unwrap();

    let touched = tx.touch_environment(world.production.id, 3).await.unwrap();

    let size = held.size() as u64;
    assert_eq!(touched, EnvironmentCounters { revision: 3, size, history_size: 0, manifest: None });
    assert_eq!(tx.environment_counters(world.production.id).await.unwrap(), touched);
    let unknown = environment(&world.project, "unknown").id;
    assert_stale(tx.environment_counters(unknown).await, Subject::Environment);
}

/// A call that replaces secrets in several environments updates the stored size of the secrets and
/// the stored size of their previous versions, for each environment.
pub async fn sizes_follow_several_replacements(store: &dyn Store) {
    let world = World::build(store).await;
    let (here, there) = (world.production.id, world.staging.id);
    let first = [
        SecretRecord { description: Some(sealed(b"first")), ..secret(&world.production, "ONE") },
        secret(&world.production, "LONGER"),
        secret(&world.staging, "ONE"),
    ];
    let second = [
        SecretRecord { description: None, ..next_version(&first[0]) },
        SecretRecord { description: Some(sealed(b"second")), ..next_version(&first[1]) },
        next_version(&first[2]),
    ];
    let mut tx = begin(store).await;
    tx.insert_secrets(&first).await.unwrap();

    tx.replace_secrets(&second).await.unwrap();

    let current = (second[0].size() + second[1].size()) as u64;
    let history = value_size(&first[0]) + value_size(&first[1]);
    assert_eq!(sizes(&mut *tx, here).await, (current, history));
    let current = second[2].size() as u64;
    assert_eq!(sizes(&mut *tx, there).await, (current, value_size(&first[2])));
}

/// `prune_versions` deletes the oldest versions of several secrets, at most 200 versions
/// ([`MAX_PRUNED`]) in total.
pub async fn versions_of_several_secrets_are_deleted(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let count = MAX_PRUNED / 2 + 20;
    let one = replaced(&mut *tx, secret(&world.production, "ONE"), count).await;
    let two = replaced(&mut *tx, secret(&world.staging, "TWO"), count).await;

    tx.prune_versions(&[(one.id, count - 1), (two.id, count - 1)]).await.unwrap();

    let (of_one, of_two) = (numbers(&mut *tx, &one).await, numbers(&mut *tx, &two).await);
    assert_eq!(of_one, (MAX_PRUNED / 2 + 1..count).rev().collect::<Vec<_>>());
    assert_eq!(of_two, of_one);
    tx.prune_versions(&[(one.id, count), (two.id, count - 1)]).await.unwrap();
    assert!(numbers(&mut *tx, &one).await.is_empty());
    assert_eq!(numbers(&mut *tx, &two).await, [count - 1]);
    assert_eq!(sizes(&mut *tx, world.production.id).await.1, 0);
}

/// One call of `prune_versions` for more than 100 secrets deletes at most two versions of each
/// secret.
pub async fn versions_of_many_secrets_are_deleted(store: &dyn Store) {
    let world = World::build(store).await;
    let count = MAX_PRUNED / 2 + 10;
    let first: Vec<_> =
        (0..count).map(|n| secret(&world.production, &format!("KEY_{n}"))).collect();
    let mut tx = begin(store).await;
    tx.insert_secrets(&first).await.unwrap();
    let mut latest = first;
    for _ in 0..4 {
        latest = latest.iter().map(next_version).collect();
        tx.replace_secrets(&latest).await.unwrap();
    }
    let limits: Vec<_> = latest.iter().map(|secret| (secret.id, 4)).collect();

    tx.prune_versions(&limits).await.unwrap();

    for secret in [&latest[0], &latest[count as usize - 1]] {
        assert_eq!(numbers(&mut *tx, secret).await, [4, 3]);
    }
}

/// `prune_versions` deletes those previous versions of a secret whose number is below the given
/// number.
pub async fn versions_below_a_number_are_deleted(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let one = replaced(&mut *tx, secret(&world.production, "ONE"), 5).await;
    let two = replaced(&mut *tx, secret(&world.production, "TWO"), 3).await;
    let (_, before) = sizes(&mut *tx, world.production.id).await;

    tx.prune_versions(&[(one.id, 3)]).await.unwrap();

    assert_eq!(numbers(&mut *tx, &one).await, [4, 3]);
    assert_eq!(numbers(&mut *tx, &two).await, [2, 1]);
    let freed = sealed(b"ONE").as_bytes().len() + sealed(b"ONE 2").as_bytes().len();
    let (_, after) = sizes(&mut *tx, world.production.id).await;
    assert_eq!(before - after, freed as u64);
    tx.prune_versions(&[(one.id, 3)]).await.unwrap();
    tx.prune_versions(&[(secret(&world.production, "UNKNOWN").id, 9)]).await.unwrap();
    assert_eq!(sizes(&mut *tx, world.production.id).await.1, after);
}

/// `prune_history` deletes the versions that were replaced first, until enough bytes are freed.
pub async fn the_oldest_versions_are_deleted_first(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let one = replaced(&mut *tx, secret(&world.production, "ONE"), 4).await;
    let two = replaced(&mut *tx, secret(&world.production, "TWO"), 4).await;
    let apart = replaced(&mut *tx, secret(&world.staging, "ONE"), 4).await;
    let (current, before) = sizes(&mut *tx, world.production.id).await;

    // The first versions of both secrets are shorter than the others and were replaced at the same
    // time.
    let first = sealed(b"ONE").as_bytes().len() as u64;
    tx.prune_history(world.production.id, first + 1).await.unwrap();

    assert_eq!(numbers(&mut *tx, &one).await, [3, 2]);
    assert_eq!(numbers(&mut *tx, &two).await, [3, 2]);
    assert_eq!(numbers(&mut *tx, &apart).await, [3, 2, 1]);
    assert_eq!(sizes(&mut *tx, world.production.id).await, (current, before - 2 * first));
    tx.prune_history(world.production.id, 0).await.unwrap();
    assert_eq!(numbers(&mut *tx, &one).await, [3, 2]);
    tx.prune_history(world.production.id, before).await.unwrap();
    assert_eq!(sizes(&mut *tx, world.production.id).await, (current, 0));
}

/// `prune_history` keeps the last previous version of a secret if a rotation wrote the current
/// version.
pub async fn the_version_before_a_rotation_is_kept(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let before = replaced(&mut *tx, secret(&world.production, "KEY"), 3).await;
    let rotated = SecretRecord { change: Change::Rotated, ..next_version(&before) };
    tx.replace_secrets(from_ref(&rotated)).await.unwrap();

    tx.prune_history(world.production.id, 9_999).await.unwrap();

    assert_eq!(numbers(&mut *tx, &rotated).await, [3]);
    assert_eq!(sizes(&mut *tx, world.production.id).await.1, value_size(&before));
    tx.replace_secrets(from_ref(&next_version(&rotated))).await.unwrap();
    tx.prune_history(world.production.id, 9_999).await.unwrap();
    assert!(numbers(&mut *tx, &rotated).await.is_empty());
}

/// One call of `prune_history` deletes at most 200 versions ([`MAX_PRUNED`]), oldest first.
pub async fn a_long_history_is_deleted_in_pieces(store: &dyn Store) {
    let world = World::build(store).await;
    let mut tx = begin(store).await;
    let newest = replaced(&mut *tx, secret(&world.production, "KEY"), 2 * MAX_PRUNED + 5).await;

    tx.prune_history(world.production.id, u64::MAX).await.unwrap();
    let left = numbers(&mut *tx, &newest).await;
    assert_eq!((left.len(), left.last()), (MAX_PRUNED as usize + 4, Some(&(MAX_PRUNED + 1))));
    tx.prune_versions(&[(newest.id, newest.version)]).await.unwrap();
    let first = 2 * MAX_PRUNED + 1;
    assert_eq!(numbers(&mut *tx, &newest).await, [first + 3, first + 2, first + 1, first]);

    tx.prune_history(world.production.id, u64::MAX).await.unwrap();
    assert!(numbers(&mut *tx, &newest).await.is_empty());
    assert_eq!(sizes(&mut *tx, world.production.id).await.1, 0);
}
