//! Conformance tests for stores: the rules that a store must follow ([`crate::store`]), one rule
//! per test.
//!
//! [`store_conformance!`](crate::store_conformance) creates a test for every rule, each with a new
//! empty store. The rules are listed in that macro; if a rule is missing there, the test
//! `every_rule_is_listed` below fails.

use std::fmt::Debug;
use std::future::poll_fn;
use std::mem::replace;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use futures_util::future::join_all;

use crate::model::{ProjectId, Subject, Time};
use crate::store::{PurgeProgress, Reads, Store, StoreError, StoreResult, Tx};
use crate::testing::fixtures::at;

pub mod attempts;
pub mod audit;
pub mod audit_batches;
pub mod audit_chain;
pub mod changes;
pub mod claims;
pub mod committed_changes;
pub mod deleted_environments;
pub mod deleted_teams;
pub mod deletion_races;
pub mod device_logins;
pub mod environments;
pub mod inheritance_chains;
pub mod instance;
mod instance_list;
pub mod invitations;
pub mod keys;
mod list;
pub mod manifests;
pub mod outbox;
pub mod permissions;
pub mod projects;
pub mod purged_projects;
pub mod races;
pub mod read_races;
pub mod resolve_environment;
pub mod restoring;
pub mod rotation_leases;
mod rotation_list;
pub mod rotation_races;
pub mod rotations;
pub mod rotations_of_projects;
pub mod scans;
pub mod scopes;
pub mod secrets;
pub mod sessions;
pub mod sizes;
pub mod teams;
pub mod token_expiry;
pub mod tokens;
pub mod transactions;
pub mod users;
pub mod versions;
pub mod webhooks;

/// Task that a test runs concurrently with other tasks. The task ends without a result.
pub type TestTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Function that starts a task on the current runtime and returns a future that waits for its end.
/// That future panics if the task panicked.
pub type Spawn = fn(TestTask) -> TestTask;

async fn begin(store: &dyn Store) -> Box<dyn Tx> {
    store.begin().await.unwrap()
}

async fn read(store: &dyn Store) -> Box<dyn Reads> {
    store.read().await.unwrap()
}

/// Commits a transaction and opens a new reader.
async fn committed(store: &dyn Store, tx: Box<dyn Tx>) -> Box<dyn Reads> {
    tx.commit().await.unwrap();
    read(store).await
}

/// Purges a deleted project that can be purged at once, because its team was deleted or it received
/// a deleted environment. Each transaction deletes two rows.
async fn purge(store: &dyn Store, project: ProjectId) {
    purge_before(store, project, at(0)).await;
}

/// Purges a project that was deleted before this time. Each transaction deletes two rows.
async fn purge_before(store: &dyn Store, project: ProjectId, before: Time) {
    let mut progress = PurgeProgress::Partial;
    while progress == PurgeProgress::Partial {
        let mut tx = begin(store).await;
        progress = tx.purge_project(project, before, 2).await.unwrap();
        tx.commit().await.unwrap();
    }
    assert_eq!(progress, PurgeProgress::Complete);
}

#[track_caller]
fn assert_duplicate<T: Debug>(result: StoreResult<T>, subject: Subject) {
    let error = result.unwrap_err();
    assert!(matches!(error, StoreError::Duplicate(of) if of == subject), "{error:?}");
}

#[track_caller]
fn assert_stale<T: Debug>(result: StoreResult<T>, subject: Subject) {
    let error = result.unwrap_err();
    assert!(matches!(error, StoreError::Stale(of) if of == subject), "{error:?}");
}

/// Runs `times` tasks concurrently and returns how many of them succeeded. `attempt` creates a task
/// from the store and the number of the task. Tasks may fail only with `Duplicate` or `Stale`,
/// because another task was first.
async fn at_once<F>(
    store: &Arc<dyn Store>,
    spawn: Spawn,
    times: u32,
    attempt: impl Fn(Arc<dyn Store>, u32) -> F,
) -> u64
where
    F: Future<Output = StoreResult<()>> + Send + 'static,
{
    let succeeded = Arc::new(AtomicU64::new(0));
    let tasks = (0..times).map(|number| {
        let attempt = attempt(Arc::clone(store), number);
        let succeeded = Arc::clone(&succeeded);
        spawn(Box::pin(async move {
            match attempt.await {
                Ok(()) => _ = succeeded.fetch_add(1, Ordering::SeqCst),
                Err(StoreError::Duplicate(_) | StoreError::Stale(_)) => {}
                Err(failure) => panic!("{failure:?}"),
            }
        }))
    });
    join_all(tasks.collect::<Vec<_>>()).await;
    succeeded.load(Ordering::SeqCst)
}

/// Begins a transaction, then lets other tasks run several times, so that they begin transactions
/// too if the store permits concurrent transactions.
async fn begin_among_others(store: &dyn Store) -> StoreResult<Box<dyn Tx>> {
    let tx = store.begin().await?;
    for _ in 0..16 {
        let mut has_waited = false;
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
    Ok(tx)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn every_rule_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testing/conformance");
        let mut written = BTreeSet::new();
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let rules = text.lines().filter_map(|line| line.strip_prefix("pub async fn "));
            written
                .extend(rules.map(|rule| format!("{module}::{}", rule.split('(').next().unwrap())));
        }

        let listed = crate::store_conformance!(@names);

        assert_eq!(written, listed.into_iter().map(str::to_owned).collect());
    }
}
