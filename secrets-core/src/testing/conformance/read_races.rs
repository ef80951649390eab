//! Conformance rules for readers that run concurrently with commits.

use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::audit_batches::{add_batch, expand};
use super::races::insert;
use super::{Spawn, at_once, begin, begin_among_others};
use crate::model::{EnvironmentId, EnvironmentPath, Principal, SecretKey};
use crate::store::{AuditFilter, EnvironmentRecord, Selection, Store, StoreResult};
use crate::testing::fixtures::{World, at, entry, environment, next_version, secret};

/// Resolving an environment never returns only a part of a commit: two secrets that are always
/// changed together have the same version, and the revision matches.
pub async fn resolving_never_sees_half_a_commit(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let pair = ["ONE", "TWO"].map(|key| secret(&world.production, key));
    insert(&*store, &pair).await;
    let (environment, owner) = (world.production.id, Principal::User(world.owner.id));
    let keys = pair.map(|secret| secret.key);

    let succeeded = at_once(&store, spawn, 32, move |store, number| {
        let keys = keys.clone();
        async move {
            if number % 2 == 0 {
                return replace_all(&*store, environment, &keys).await.map(drop);
            }
            let path = EnvironmentPath::new("billing", environment);
            for _ in 0..8 {
                let resolved = store
                    .read()
                    .await?
                    .resolve_environment(&path, owner, Selection::All)
                    .await?
                    .unwrap();
                let link = &resolved.chain[0];
                let versions = [0, 1].map(|place| u64::from(link.secrets[place].version));
                assert_eq!(versions, [link.environment.revision + 1; 2]);
            }
            Ok(())
        }
    })
    .await;

    assert_eq!(succeeded, 32);
}

/// A reader sees every change that was committed before the reader was opened. This also holds in
/// an environment that inherits the secret, and for a secret that was read before.
pub async fn a_reader_is_never_behind_a_commit(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let (parent, owner) = (world.production.id, Principal::User(world.owner.id));
    let child =
        EnvironmentRecord { inherits_from: Some(parent), ..environment(&world.project, "child") };
    let mut tx = begin(&*store).await;
    tx.insert_environment(&child).await.unwrap();
    tx.insert_secrets(&[secret(&world.production, "KEY")]).await.unwrap();
    tx.commit().await.unwrap();
    let (key, committed) = ("KEY".parse::<SecretKey>().unwrap(), Arc::new(AtomicU64::new(1)));

    let succeeded = at_once(&store, spawn, 32, move |store, number| {
        let (key, committed) = (key.clone(), Arc::clone(&committed));
        async move {
            for _ in 0..8 {
                if number % 4 == 0 {
                    let version = replace_all(&*store, parent, from_ref(&key)).await?;
                    committed.fetch_max(version, Ordering::SeqCst);
                    continue;
                }
                let selection = if number % 2 == 0 { Selection::All } else { Selection::Key(&key) };
                let path = EnvironmentPath::new("billing", child.id);
                let least = committed.load(Ordering::SeqCst);
                let mut reads = store.read().await?;
                let resolved = reads.resolve_environment(&path, owner, selection).await?.unwrap();
                let version = u64::from(resolved.chain[1].secrets[0].version);
                assert!(version >= least, "version {version} after {least} was committed");
            }
            Ok(())
        }
    })
    .await;

    assert_eq!(succeeded, 32);
}

/// If several transactions concurrently move entries from batches to the log, a reader afterwards
/// sees all entries.
pub async fn concurrent_expansions_leave_every_entry(store: Arc<dyn Store>, spawn: Spawn) {
    let world = World::build(&*store).await;
    let team = world.team.clone();
    for number in 0..40 {
        add_batch(&*store, &[entry(&team, &format!("e{number}"), at(number))]).await;
    }

    let succeeded = at_once(&store, spawn, 8, move |store, _| {
        let team = team.clone();
        async move {
            expand(&*store, 3).await?;
            let mut reads = store.read().await?;
            let found = reads.audit_entries(&AuditFilter::newest(team.id, 100)).await?;
            assert_eq!(found.len(), 40);
            Ok(())
        }
    })
    .await;

    assert_eq!(succeeded, 8);
}

/// Replaces secrets by their next versions. Returns the highest version number.
async fn replace_all(
    store: &dyn Store,
    environment: EnvironmentId,
    keys: &[SecretKey],
) -> StoreResult<u64> {
    let mut tx = begin_among_others(store).await?;
    tx.touch_environment(environment, 1).await?;
    let mut highest = 0;
    for secret in tx.secrets(environment, keys).await? {
        let next = next_version(&secret);
        tx.replace_secrets(from_ref(&next)).await?;
        highest = highest.max(u64::from(next.version));
    }
    tx.commit().await?;
    Ok(highest)
}
