//! Conformance rules for concurrent operations.

use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Spawn, at_once, begin, begin_among_others, instance, read};
use crate::model::Principal;
use crate::store::{SecretRecord, Store, TokenScope};
use crate::testing::fixtures::{
    World, environment, next_version, project, project_key, sealed, secret, token, user,
};

/// Number of tasks that run concurrently.
pub(super) const MANY: u32 = 64;

/// Concurrent replacements of a secret all succeed if each calls `touch_environment` before it
/// reads the version. The resulting versions have no gaps.
pub async fn concurrent_replacements_make_dense_versions(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let first = secret(&world.production, "KEY");
    insert(&*store, from_ref(&first)).await;

    let (environment, key) = (world.production.id, first.key.clone());
    let succeeded = at_once(&store, spawn, MANY, move |store, number| {
        let key = key.clone();
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.touch_environment(environment, 1).await?;
            let found = tx.secrets(environment, &[key]).await?;
            let value = sealed(number.to_string().as_bytes());
            tx.replace_secrets(from_ref(&SecretRecord {
                sealed: value,
                ..next_version(&found[0])
            }))
            .await?;
            tx.commit().await
        }
    })
    .await;

    let mut seen = read(&*store).await;
    let present = seen.secrets(environment, &[first.key]).await.unwrap();
    let versions = seen.secret_versions(first.id, u32::MAX, u32::MAX).await.unwrap();
    let numbers: Vec<_> = versions.iter().map(|version| version.version).collect();
    let mut values: Vec<_> = versions.iter().map(|version| version.sealed.as_bytes()).collect();
    values.sort_unstable();
    values.dedup();
    assert_eq!(succeeded, u64::from(MANY));
    assert_eq!(present[0].version, MANY + 1);
    assert_eq!(numbers, (1..=MANY).rev().collect::<Vec<_>>());
    assert_eq!(values.len(), MANY as usize, "no value was lost");
}

/// Only one of many concurrent attempts to replace the same version of a secret succeeds; the
/// others fail with `Stale`.
pub async fn one_of_many_replaces_a_version(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let first = secret(&world.production, "KEY");
    insert(&*store, from_ref(&first)).await;

    let second = next_version(&first);
    let succeeded = at_once(&store, spawn, MANY, move |store, _| {
        let second = second.clone();
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.touch_environment(second.environment, 1).await?;
            tx.replace_secrets(from_ref(&second)).await?;
            tx.commit().await
        }
    })
    .await;

    assert_eq!(succeeded, 1);
    assert_eq!(
        read(&*store).await.secret_versions(first.id, u32::MAX, u32::MAX).await.unwrap().len(),
        1
    );
}

/// Concurrent calls of `touch_environment` all increase the revision, and each returns a different
/// revision.
pub async fn concurrent_touches_are_all_counted(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let environment = world.production.id;
    let sum = Arc::new(AtomicU64::new(0));

    let counted = Arc::clone(&sum);
    let succeeded = at_once(&store, spawn, MANY, move |store, _| {
        let counted = Arc::clone(&counted);
        async move {
            let mut tx = begin_among_others(&*store).await?;
            let revision = tx.touch_environment(environment, 1).await?.revision;
            tx.commit().await?;
            counted.fetch_add(revision, Ordering::SeqCst);
            Ok(())
        }
    })
    .await;

    let many = u64::from(MANY);
    assert_eq!(succeeded, many);
    assert_eq!(sum.load(Ordering::SeqCst), many * (many + 1) / 2);
    assert_eq!(
        begin(&*store).await.touch_environment(environment, 1).await.unwrap().revision,
        many + 1
    );
}

/// Calls of `touch_environment` in dropped transactions do not increase the revision, even if other
/// calls are committed concurrently.
pub async fn dropped_touches_are_not_counted(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let environment = world.production.id;

    at_once(&store, spawn, MANY, move |store, number| async move {
        let mut tx = begin_among_others(&*store).await?;
        tx.touch_environment(environment, 1).await?;
        if number % 2 == 0 { tx.commit().await } else { Ok(()) }
    })
    .await;

    let next = begin(&*store).await.touch_environment(environment, 1).await.unwrap().revision;
    assert_eq!(next, u64::from(MANY / 2) + 1);
}

/// Concurrent inserts of secrets with different secret keys in one environment all succeed.
pub async fn concurrent_inserts_of_different_keys_all_succeed(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let production = world.production.clone();

    let succeeded = at_once(&store, spawn, MANY, move |store, number| {
        let own = secret(&production, &format!("KEY_{number}"));
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.touch_environment(own.environment, 1).await?;
            tx.insert_secrets(&[own]).await?;
            tx.commit().await
        }
    })
    .await;

    let count = read(&*store).await.count_secrets(world.production.id).await.unwrap();
    assert_eq!((succeeded, count), (u64::from(MANY), u64::from(MANY)));
}

/// Only one of many concurrent attempts to create the same secret succeeds.
pub async fn one_of_many_inserts_a_secret(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let production = world.production.clone();

    let succeeded = at_once(&store, spawn, MANY, move |store, _| {
        let own = secret(&production, "KEY");
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.touch_environment(own.environment, 1).await?;
            tx.insert_secrets(&[own]).await?;
            tx.commit().await
        }
    })
    .await;

    let count = read(&*store).await.count_secrets(world.production.id).await.unwrap();
    assert_eq!((succeeded, count), (1, 1));
}

/// Only one of many concurrent attempts to delete the same secret succeeds.
pub async fn one_of_many_deletes_a_secret(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let deleted = secret(&world.production, "KEY");
    insert(&*store, from_ref(&deleted)).await;

    let succeeded = at_once(&store, spawn, MANY, move |store, _| async move {
        let mut tx = begin_among_others(&*store).await?;
        tx.touch_environment(deleted.environment, 1).await?;
        tx.delete_secret(deleted.id).await?;
        tx.commit().await
    })
    .await;

    assert_eq!(succeeded, 1);
}

/// Only one of many concurrent attempts to create the instance succeeds.
pub async fn one_of_many_creates_the_instance(store: Arc<dyn Store>, spawn: Spawn) {
    let succeeded = at_once(&store, spawn, 8, |store, _| async move {
        let (founded, keys) = instance::installation();
        let mut tx = begin_among_others(&*store).await?;
        tx.insert_instance(&founded, &keys).await?;
        tx.commit().await
    })
    .await;

    let (_, keys) = read(&*store).await.instance().await.unwrap().unwrap();
    assert_eq!((succeeded, keys.len()), (1, 4));
}

/// Only one of many concurrent inserts of the same user succeeds.
pub async fn one_of_many_first_sign_ins_creates_the_user(store: Arc<dyn Store>, spawn: Spawn) {
    let succeeded = at_once(&store, spawn, 16, |store, _| async move {
        let mut tx = begin_among_others(&*store).await?;
        tx.insert_user(&user("alice")).await?;
        tx.commit().await
    })
    .await;

    assert_eq!(succeeded, 1);
}

/// Only one of many concurrent attempts to take a slug succeeds.
pub async fn one_of_many_gets_a_slug(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let team = world.team.clone();

    let succeeded = at_once(&store, spawn, 16, move |store, _| {
        let wanted = project(&team, "wanted");
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.insert_project(&wanted, &project_key(&wanted)).await?;
            tx.commit().await
        }
    })
    .await;

    let count = read(&*store).await.count_projects(world.team.id).await.unwrap();
    assert_eq!((succeeded, count), (1, 2));
}

/// If the team is locked before its projects and service tokens are counted, concurrent insertions
/// never exceed a limit.
pub async fn a_locked_team_is_counted_exactly(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let (team, owner) = (world.team.clone(), world.owner.clone());

    at_once(&store, spawn, MANY, move |store, number| {
        let new_project = project(&team, &format!("p{number}"));
        let new_token = token(&team, &owner);
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.lock_team(new_project.team).await?;
            if tx.count_projects(new_project.team).await? < 10 {
                tx.insert_project(&new_project, &project_key(&new_project)).await?;
            }
            if tx.count_tokens(new_project.team).await? < 10 {
                tx.insert_token(&new_token, &TokenScope::default()).await?;
            }
            tx.commit().await
        }
    })
    .await;

    let mut seen = read(&*store).await;
    assert_eq!(seen.count_projects(world.team.id).await.unwrap(), 10);
    assert_eq!(seen.count_tokens(world.team.id).await.unwrap(), 10);
}

/// If the size of a team's secrets is locked before it is read, concurrent insertions into
/// different environments never exceed a limit.
pub async fn a_locked_team_size_is_read_exactly(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let team = world.team.id;
    let places = [world.development, world.staging, world.production];
    let size = secret(&places[0], "KEY_00").size() as u64;

    at_once(&store, spawn, MANY, move |store, number| {
        let secret = secret(&places[number as usize % 3], &format!("KEY_{number:02}"));
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.lock_environment(secret.environment).await?;
            tx.lock_team_size(team).await?;
            if tx.stored_bytes(team).await? < 10 * size {
                tx.insert_secrets(from_ref(&secret)).await?;
            }
            tx.commit().await
        }
    })
    .await;

    let mut seen = read(&*store).await;
    assert_eq!(seen.stored_bytes(world.team.id).await.unwrap(), 10 * size);
}

/// If the project is locked before its environments are counted, concurrent insertions never exceed
/// a limit.
pub async fn a_locked_project_is_counted_exactly(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let (of, owner) = (world.project.clone(), Principal::User(world.owner.id));

    at_once(&store, spawn, MANY, move |store, number| {
        let new = environment(&of, &format!("e{number}"));
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.lock_project(new.project).await?;
            if tx.environments(new.project, owner).await?.len() < 10 {
                tx.insert_environment(&new).await?;
            }
            tx.commit().await
        }
    })
    .await;

    let found = read(&*store).await.environments(world.project.id, owner).await.unwrap();
    assert_eq!(found.len(), 10);
}

/// If `touch_environment` is called before the secrets of the environment are counted, concurrent
/// insertions never exceed a limit.
pub async fn a_touched_environment_is_counted_exactly(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let production = world.production.clone();

    at_once(&store, spawn, MANY, move |store, number| {
        let new = secret(&production, &format!("KEY_{number}"));
        async move {
            let mut tx = begin_among_others(&*store).await?;
            tx.touch_environment(new.environment, 1).await?;
            if tx.count_secrets(new.environment).await? < 10 {
                tx.insert_secrets(&[new]).await?;
            }
            tx.commit().await
        }
    })
    .await;

    let count = read(&*store).await.count_secrets(world.production.id).await.unwrap();
    assert_eq!(count, 10);
}

/// A transaction sees no uncommitted changes of another transaction, whichever of the two began
/// first.
pub async fn another_transaction_sees_nothing_uncommitted(store: Arc<dyn Store>, spawn: Spawn) {
    let alice = user("alice");
    let mut tx = begin(&*store).await;
    tx.insert_user(&alice).await.unwrap();

    let other = Arc::clone(&store);
    let looking = spawn(Box::pin(async move {
        let mut tx = begin(&*other).await;
        assert_eq!(tx.user(alice.id).await.unwrap(), None);
    }));
    // These reads run while the other transaction reads, if the store permits concurrent
    // transactions.
    for _ in 0..50 {
        assert_eq!(read(&*store).await.user(alice.id).await.unwrap(), None);
    }
    drop(tx);

    looking.await;
}

pub(super) async fn insert(store: &dyn Store, secrets: &[SecretRecord]) {
    let mut tx = begin(store).await;
    tx.insert_secrets(secrets).await.unwrap();
    tx.commit().await.unwrap();
}
