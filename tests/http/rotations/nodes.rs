//! Tests of several nodes (processes) that work on the rotations of one store, and of failures of
//! the store during this work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use chrono::TimeDelta;
use secrets_core::Service;
use secrets_core::engine::{Options, Ports, Worker as _};
use secrets_core::model::{Error, Time};
use secrets_core::rotations::{self, RotationWorker};
use secrets_core::store::{Reads, Store, StoreError, StoreResult, Tx};
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Build, Kind, Rotated, on_every_store, paths, postgresql, until};
use serde_json::json;

/// Wrapper of a store that fails to begin a transaction if `refuses` returns true.
struct Refusing<F> {
    inner: Arc<dyn Store>,
    refuses: F,
}

#[async_trait]
impl<F: Fn() -> bool + Send + Sync> Store for Refusing<F> {
    async fn read(&self) -> StoreResult<Box<dyn Reads>> {
        self.inner.read().await
    }

    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        if (self.refuses)() {
            return Err(StoreError::Unavailable("refused by the test".into()));
        }
        self.inner.begin().await
    }

    async fn ping(&self) -> StoreResult<Option<Time>> {
        self.inner.ping().await
    }
}

/// Starts a server without workers, with a rotation that is due.
async fn due(kind: Kind) -> (App, Rotated) {
    let app = Build::on(kind).without_workers().start().await;
    let mut body = postgresql("main-db");
    body["rotate_immediately"] = json!(true);
    let main = Rotated::create_as(&app, "alice", &body).await;
    (app, main)
}

/// Opens another service on this store, like a further node.
async fn node(app: &App, store: Arc<dyn Store>) -> Service {
    Service::open(Ports { store, ..app.ports() }, Options::default()).await.unwrap()
}

/// Opens another service on the store of this server. Its next transaction after a call of the fake
/// database fails, `failures` times in total.
async fn interrupted_node(app: &App, failures: usize) -> Service {
    let database = Arc::clone(&app.database);
    let (seen, left) = (AtomicUsize::new(0), AtomicUsize::new(failures));
    let refuses = move || {
        let calls = database.calls().len();
        let has_called = calls > seen.swap(calls, Ordering::SeqCst);
        let decrement = |left: usize| left.checked_sub(1);
        has_called && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, decrement).is_ok()
    };
    node(app, Arc::new(Refusing { inner: Arc::clone(&app.store), refuses })).await
}

/// Claims the due rotations for this node, and returns their number.
async fn claimed(node: &Service) -> usize {
    rotations::claim_rotations(node.engine()).await.unwrap().len()
}

/// Claims the due rotations for this node and works on them.
async fn work_on(node: &Service) {
    for claim in rotations::claim_rotations(node.engine()).await.unwrap() {
        rotations::work(node.engine(), claim).await;
    }
}

async fn the_worker_runs_a_due_rotation(kind: Kind) {
    let (app, main) = due(kind).await;

    for job in RotationWorker.jobs(app.service.engine(), 4).await.unwrap() {
        job.await.unwrap();
    }

    assert_eq!(main.history().await[0]["status"], "success");
}

async fn another_node_can_claim_a_rotation_after_a_minute(kind: Kind) {
    let (app, _main) = due(kind).await;
    let other = node(&app, Arc::clone(&app.store)).await;
    assert_eq!(claimed(&app.service).await, 1);

    app.wait(TimeDelta::seconds(59));
    assert_eq!(claimed(&other).await, 0);
    app.wait(TimeDelta::seconds(1));
    assert_eq!(claimed(&other).await, 1);
}

async fn a_node_that_works_on_a_rotation_keeps_its_lease(kind: Kind) {
    let (app, _main) = due(kind).await;
    let other = node(&app, Arc::clone(&app.store)).await;
    app.database.script("apply", [Script::Hang]);
    let claim = rotations::claim_rotations(app.service.engine()).await.unwrap().remove(0);
    app.wait(TimeDelta::seconds(50));
    let engine = Arc::clone(app.service.engine());

    let working = tokio::spawn(async move { rotations::work(&engine, claim).await });
    until("a call", async || !app.database.calls().is_empty()).await;
    app.wait(TimeDelta::seconds(50));

    assert_eq!(claimed(&other).await, 0);
    working.abort();
}

async fn no_node_retries_a_rotation_before_its_delay_has_ended(kind: Kind) {
    let (app, _main) = due(kind).await;
    let other = node(&app, Arc::clone(&app.store)).await;

    work_on(&interrupted_node(&app, 1).await).await;

    // The delay after the first failure of the store is 5 seconds.
    app.wait(TimeDelta::seconds(4));
    assert_eq!(claimed(&other).await, 0);
    app.wait(TimeDelta::seconds(1));
    assert_eq!(claimed(&other).await, 1);
}

async fn failures_of_the_store_are_not_counted_as_crashes(kind: Kind) {
    let (app, main) = due(kind).await;
    let node = interrupted_node(&app, 5).await;

    for _ in 0..6 {
        work_on(&node).await;
        app.wait(TimeDelta::minutes(1));
    }

    let history = main.history().await;
    assert_eq!((history.len(), &history[0]["status"]), (1, &json!("success")));
    let applied = app.database.calls().into_iter().filter(|call| *call == "apply").count();
    assert_eq!(applied, 6);
    main.works(&app).await;
}

async fn rotations_claimed_before_a_failure_of_the_store_are_worked_on(kind: Kind) {
    let (app, main) = due(kind).await;
    let mut body = postgresql("other-db");
    body["rotate_immediately"] = json!(true);
    body["connection"]["host"] = "other.example.com".into();
    main.person.post(&paths::rotations(&main.project, "staging"), &body).await.is(201);
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let counted = Arc::clone(&left);
    let refuses = move || {
        let decrement = |left: usize| left.checked_sub(1);
        counted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, decrement).is_err()
    };
    let node = node(&app, Arc::new(Refusing { inner: Arc::clone(&app.store), refuses })).await;

    left.store(1, Ordering::SeqCst);
    let claims = rotations::claim_rotations(node.engine()).await.unwrap();
    let result = rotations::claim_rotations(node.engine()).await;

    assert_eq!(claims.len(), 1);
    assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
}

on_every_store![;
    the_worker_runs_a_due_rotation,
    another_node_can_claim_a_rotation_after_a_minute,
    a_node_that_works_on_a_rotation_keeps_its_lease,
    no_node_retries_a_rotation_before_its_delay_has_ended,
    failures_of_the_store_are_not_counted_as_crashes,
    rotations_claimed_before_a_failure_of_the_store_are_worked_on,
];
