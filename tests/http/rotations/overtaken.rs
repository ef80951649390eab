//! Tests of rotation attempts during which another event happens: after the new credential was
//! verified, and before it is written to the secrets.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::TimeDelta;
use secrets_core::Service;
use secrets_core::engine::{Options, Ports};
use secrets_core::model::rotations::AttemptState;
use secrets_core::model::{Clock as _, RotationId, Time};
use secrets_core::rotations;
use secrets_core::store::{Reads, Store, StoreResult, Tx};
use secrets_core::testing::fixtures;
use secrets_tests::{App, Build, Kind, Rotated, on_every_store};
use serde_json::json;

type Act = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Wrapper of a store that runs an action once, before a transaction begins.
struct Overtaken {
    inner: Arc<dyn Store>,
    /// Rotation whose attempt must have verified its new credential before the action runs; `None`
    /// if the action runs before the next transaction.
    verified: Option<RotationId>,
    act: Mutex<Option<Act>>,
}

#[async_trait]
impl Store for Overtaken {
    async fn read(&self) -> StoreResult<Box<dyn Reads>> {
        self.inner.read().await
    }

    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        let is_due = match self.verified {
            Some(rotation) => {
                let open = self.inner.read().await?.open_attempt(rotation).await?;
                open.is_some_and(|attempt| attempt.state == AttemptState::Verified)
            }
            None => true,
        };
        let act = self.act.lock().unwrap().take_if(|_| is_due);
        if let Some(act) = act {
            act.await;
        }
        self.inner.begin().await
    }

    async fn ping(&self) -> StoreResult<Option<Time>> {
        self.inner.ping().await
    }
}

/// Creates a rotation, runs it once successfully, and advances the clock until it is due again. The
/// server has no workers.
async fn due(kind: Kind) -> (App, Rotated) {
    let app = Build::on(kind).without_workers().start().await;
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    app.wait(TimeDelta::days(31));
    main.use_by(&app).await;
    (app, main)
}

/// Runs the due rotation in another service with the same store. Runs `act` after the service has
/// verified the new credential, and before it writes the credential to the secrets.
async fn rotate_overtaken(
    app: &App,
    main: &Rotated,
    act: impl Future<Output = ()> + Send + 'static,
) {
    let act: Act = Box::pin(act);
    let store = Arc::new(Overtaken {
        inner: Arc::clone(&app.store),
        verified: Some(main.record(app).await.id),
        act: Mutex::new(Some(act)),
    });
    let ports = Ports { store: store.clone(), ..app.ports() };
    let node = Service::open(ports, Options::default()).await.unwrap();

    // Several kinds of work may be due, one after the other.
    for _ in 0..4 {
        for claim in rotations::claim_rotations(node.engine()).await.unwrap() {
            rotations::work(node.engine(), claim).await;
        }
    }

    assert!(store.act.lock().unwrap().is_none(), "it came as far as that");
}

/// Plans an attempt, as a request to rotate does.
async fn plan_attempt(store: &dyn Store, rotation: RotationId, now: Time) {
    let mut tx = store.begin().await.unwrap();
    let mut record = tx.rotation(rotation).await.unwrap().unwrap();
    record.sequence += 1;
    record.schedule.work_at = Some(now);
    tx.insert_attempt(&fixtures::attempt(&record, record.sequence)).await.unwrap();
    tx.update_rotation(&record).await.unwrap();
    tx.commit().await.unwrap();
}

/// Works on the due rotation `times` times in another service with the same store. The last time,
/// plans an attempt before the first transaction of the service. Asserts that this attempt is
/// unchanged, and that the rotation is due.
async fn work_beside_a_planned_attempt(app: &App, main: &Rotated, times: usize) {
    let inner = Arc::clone(&app.store);
    let store = Arc::new(Overtaken { inner, verified: None, act: Mutex::default() });
    let ports = Ports { store: store.clone(), ..app.ports() };
    let node = Service::open(ports, Options::default()).await.unwrap();
    let (inner, rotation) = (Arc::clone(&app.store), main.record(app).await.id);
    let now = app.clock.now();

    for round in 1..=times {
        let claim = rotations::claim_rotations(node.engine()).await.unwrap().remove(0);
        if round == times {
            let inner = Arc::clone(&inner);
            let act: Act =
                Box::pin(async move { plan_attempt(inner.as_ref(), rotation, now).await });
            *store.act.lock().unwrap() = Some(act);
        }
        rotations::work(node.engine(), claim).await;
    }

    assert!(store.act.lock().unwrap().is_none(), "the work has begun a transaction");
    let open = inner.read().await.unwrap().open_attempt(rotation).await.unwrap().unwrap();
    assert_eq!(open.state, AttemptState::Planned);
    let record = main.record(app).await;
    assert_eq!(record.sequence, open.sequence);
    assert!(record.schedule.work_at.is_some_and(|at| at <= now), "{:?}", record.schedule);
    assert!(node.engine().failing().is_empty());
    assert_eq!(rotations::claim_rotations(node.engine()).await.unwrap().len(), 1);
}

async fn an_attempt_that_is_planned_during_a_check_stays_due(kind: Kind) {
    let (app, main) = due(kind).await;

    work_beside_a_planned_attempt(&app, &main, 1).await;
}

async fn an_attempt_that_is_planned_before_a_scheduled_one_is_the_only_one(kind: Kind) {
    let (app, main) = due(kind).await;

    // The first work is the check of the credential, the second is the scheduled attempt.
    work_beside_a_planned_attempt(&app, &main, 2).await;
}

async fn a_pause_right_before_the_swap_stays(kind: Kind) {
    let (app, main) = due(kind).await;
    let (person, path) = (main.person.clone(), main.path.clone());

    rotate_overtaken(&app, &main, async move {
        person.put(&path, &json!({ "status": "paused" })).await.is(200);
    })
    .await;

    let history = main.history().await;
    assert_eq!((history.len(), &history[0]["status"]), (2, &json!("success")));
    assert_eq!(main.shown().await["status"], "paused");
    main.works(&app).await;
}

async fn a_worker_that_lost_the_lease_does_not_swap(kind: Kind) {
    let (app, main) = due(kind).await;
    let before = main.served().await;
    let (store, rotation) = (Arc::clone(&app.store), main.record(&app).await.id);
    let now = app.clock.now();

    rotate_overtaken(&app, &main, async move {
        let mut tx = store.begin().await.unwrap();
        tx.release_all_leases().await.unwrap();
        let lease = tx.acquire_lease(rotation, now, now + TimeDelta::hours(1)).await.unwrap();
        tx.commit().await.unwrap();
        assert!(lease.is_some());
    })
    .await;

    assert_eq!(main.served().await, before);
    assert_eq!(main.history().await.len(), 1);
    let open = app.store.read().await.unwrap().open_attempt(rotation).await.unwrap();
    assert_eq!(open.unwrap().state, AttemptState::Verified);
}

on_every_store![;
    an_attempt_that_is_planned_during_a_check_stays_due,
    an_attempt_that_is_planned_before_a_scheduled_one_is_the_only_one,
    a_pause_right_before_the_swap_stays,
    a_worker_that_lost_the_lease_does_not_swap,
];
