//! Tests of a database that was replaced by an earlier state of it, for example by a backup.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::TimeDelta;
use secrets_core::Service;
use secrets_core::crypto::{InstanceRecord, KeyringError};
use secrets_core::engine::{Options, Ports, StartError, WorkItem};
use secrets_core::keys::{EPOCH, accept_restore, check_epoch};
use secrets_core::model::{Cause, Clock as _, InstanceId};
use secrets_core::notices::NoticeMail;
use secrets_core::outbox;
use secrets_core::ports::epochs::{Epoch, EpochStore};
use secrets_core::rotations::slot_user;
use secrets_core::store::Store;
use secrets_tests::{App, Build, Dump, Kind, Rotated, paths};
use serde_json::json;
use tokio::task::JoinSet;

use super::Victim;

/// Copy of an epoch in the memory of the test.
#[derive(Default)]
struct Copy {
    epoch: Mutex<Option<Epoch>>,
    fails: AtomicBool,
}

#[async_trait]
impl EpochStore for Copy {
    async fn load(&self) -> Result<Option<Epoch>, Cause> {
        if self.fails.load(Ordering::Relaxed) {
            return Err("the volume is not mounted".into());
        }
        Ok(*self.epoch.lock().unwrap())
    }

    async fn save(&self, epoch: Epoch) -> Result<(), Cause> {
        *self.epoch.lock().unwrap() = Some(epoch);
        Ok(())
    }
}

impl Copy {
    fn number(&self) -> Option<u64> {
        self.epoch.lock().unwrap().map(|epoch| epoch.number)
    }
}

fn ports(app: &App, copy: &Arc<Copy>) -> Ports {
    Ports { epochs: Some(Arc::clone(copy) as Arc<dyn EpochStore>), ..app.ports() }
}

async fn open(app: &App, copy: &Arc<Copy>) -> Result<Service, StartError> {
    Service::open(ports(app, copy), Options::default()).await
}

async fn instance(store: &dyn Store) -> InstanceRecord {
    store.read().await.unwrap().instance().await.unwrap().unwrap().0
}

/// Replaces the instance's record by an earlier one, as restoring a backup does.
async fn roll_back(app: &App, earlier: &InstanceRecord) {
    let now = instance(app.store.as_ref()).await;
    let mut tx = app.store.begin().await.unwrap();
    tx.replace_epoch(&now, earlier).await.unwrap();
    tx.commit().await.unwrap();
}

/// Asserts that the service does not start with this copy, and that nothing changes.
async fn assert_refused(app: &App, copy: &Arc<Copy>) -> StartError {
    let (before, number) = (Dump::of(app.store.as_ref(), &["ann"]).await, copy.number());

    let checked = check_epoch(app.store.as_ref(), copy.as_ref()).await.unwrap_err();
    let refused = open(app, copy).await.err().unwrap();

    assert_eq!(checked.to_string(), refused.to_string());
    let after = Dump::of(app.store.as_ref(), &["ann"]).await;
    assert_eq!(before.changes(&after), Vec::<String>::new());
    assert_eq!(copy.number(), number);
    refused
}

async fn each_start_and_each_round_increase_the_epoch_and_its_copy(app: App) {
    let copy = Arc::new(Copy::default());
    let first = instance(app.store.as_ref()).await.epoch;

    let service = open(&app, &copy).await.unwrap();
    assert_eq!(copy.number(), Some(first + 1));
    (EPOCH.job)(Arc::clone(service.engine())).await.unwrap();
    assert_eq!(copy.number(), Some(first + 2));
    open(&app, &copy).await.unwrap();

    assert_eq!(copy.number(), Some(first + 3));
    assert_eq!(instance(app.store.as_ref()).await.epoch, first + 3);
    check_epoch(app.store.as_ref(), copy.as_ref()).await.unwrap();
    // Without a copy, the epoch is not increased.
    (EPOCH.job)(Arc::clone(app.service.engine())).await.unwrap();
    assert_eq!(instance(app.store.as_ref()).await.epoch, first + 3);
}

async fn nodes_that_start_together_increase_the_epoch_one_after_another(app: App) {
    let copies: Vec<_> = (0..6).map(|_| Arc::new(Copy::default())).collect();
    let first = instance(app.store.as_ref()).await.epoch;

    let mut nodes = JoinSet::new();
    for copy in &copies {
        nodes.spawn(Service::open(ports(&app, copy), Options::default()));
    }
    for opened in nodes.join_all().await {
        opened.unwrap();
    }

    let mut numbers: Vec<_> = copies.iter().filter_map(|copy| copy.number()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (first + 1..=first + 6).collect::<Vec<_>>());
    // A node that was stopped while the others continued starts again.
    open(&app, &copies[0]).await.unwrap();
}

/// Returns the failing background work of a service, with the number of failures.
fn failing(service: &Service) -> Vec<(WorkItem, u32)> {
    service.engine().failing().iter().map(|failing| (failing.item, failing.failures)).collect()
}

async fn an_earlier_state_does_not_start_and_writes_nothing(app: App) {
    let victim = Victim::of(app).await;
    let copy = Arc::new(Copy::default());
    open(&victim.app, &copy).await.unwrap();
    let backup = instance(victim.app.store.as_ref()).await;
    let running = open(&victim.app, &copy).await.unwrap();
    roll_back(&victim.app, &backup).await;

    let refused = assert_refused(&victim.app, &copy).await;

    let (stored, recorded) = (backup.epoch, backup.epoch + 1);
    assert!(
        matches!(refused, StartError::RolledBack { stored: at, recorded: was }
            if (at, was) == (stored, recorded)),
        "{refused}"
    );
    // A running service changes neither the copy nor the database, and reports the failure.
    (EPOCH.job)(Arc::clone(running.engine())).await.unwrap();
    assert_eq!(copy.number(), Some(recorded));
    assert_eq!(instance(victim.app.store.as_ref()).await.epoch, backup.epoch);
    assert_eq!(failing(&running), [(WorkItem::Epoch, 1)]);
    // The report ends with the next success.
    *copy.epoch.lock().unwrap() = Some(Epoch { instance: backup.id, number: stored });
    (EPOCH.job)(Arc::clone(running.engine())).await.unwrap();
    assert_eq!(failing(&running), []);
    // A higher number in the row alone does not match the canary.
    let forged = InstanceRecord { epoch: recorded + 1, ..backup };
    roll_back(&victim.app, &forged).await;
    let refused = open(&victim.app, &copy).await.err().unwrap();
    assert!(matches!(refused, StartError::Keys(KeyringError::Tampered)), "{refused}");
}

async fn a_copy_of_another_instance_or_an_unreadable_copy_does_not_start(app: App) {
    let copy = Arc::new(Copy::default());
    let id = InstanceId::draw(instance(app.store.as_ref()).await.created_at);
    *copy.epoch.lock().unwrap() = Some(Epoch { instance: id, number: 1 });

    let refused = assert_refused(&app, &copy).await;
    assert!(matches!(refused, StartError::OtherInstance { recorded, .. } if recorded == id));

    copy.fails.store(true, Ordering::Relaxed);
    let refused = assert_refused(&app, &copy).await;
    assert!(matches!(refused, StartError::Epochs(_)), "{refused}");
}

async fn an_accepted_restore_starts_without_the_earlier_credentials(app: App) {
    let victim = Victim::of(app).await;
    let app = &victim.app;
    let copy = Arc::new(Copy::default());
    let backup = instance(app.store.as_ref()).await;
    open(app, &copy).await.unwrap();
    roll_back(app, &backup).await;
    let tokens = victim.person.get("/api/v1/tokens").await.is(200).json();
    let path = paths::eso_secret(&victim.project, "development", "ONE");

    let accepted = accept_restore(app.service.engine(), Some(copy.as_ref()), true).await.unwrap();

    assert_eq!(copy.number(), Some(accepted.epoch));
    assert!(accepted.epoch > 1 << 32);
    let kept = app.with(ports(app, &copy)).await;
    let token = victim.token.as_str();
    kept.bearer(token).get(&path).await.is(200);

    let accepted = accept_restore(app.service.engine(), Some(copy.as_ref()), false).await.unwrap();

    assert!(accepted.epoch > 2 << 32);
    let restarted = app.with(ports(app, &copy)).await;
    restarted.bearer(token).get(&path).await.is(401);
    let ann = restarted.bearer(&restarted.jwt("ann"));
    ann.get(&paths::secret(&victim.project, "development", "ONE")).await.is(200);
    // Service tokens are still listed, and a new value makes one usable again.
    let listed = ann.get("/api/v1/tokens").await.is(200).json();
    assert_eq!(listed["tokens"][0]["id"], tokens["tokens"][0]["id"]);
    let rotate = format!("/api/v1/tokens/{}/rotate", listed["tokens"][0]["id"].as_str().unwrap());
    let new = ann.post(&rotate, &json!({})).await.is(200).json();
    restarted.bearer(new["token"].as_str().unwrap()).get(&path).await.is(200);
}

async fn an_accepted_restore_stops_rotations_until_a_user_resumes_them(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let backup = main.record(&app).await;
    main.succeed().await;
    main.succeed().await;
    let mut tx = app.store.begin().await.unwrap();
    tx.update_rotation(&backup).await.unwrap();
    tx.commit().await.unwrap();

    let accepted = accept_restore(app.service.engine(), None, false).await.unwrap();

    assert_eq!(accepted.rotations, 1);
    let restarted = app.with(app.ports()).await;
    main.person = restarted.person("alice").await;
    let shown = main.shown().await;
    assert_eq!(shown["status"], "error");
    assert!(shown["error_message"].as_str().unwrap().contains("restored from a backup"));
    // Neither the check of the credential nor the end of the previous login runs by itself.
    let calls = app.database.calls().len();
    app.wait(TimeDelta::days(40));
    main.person = restarted.person("alice").await;
    main.settle(&restarted).await;
    assert_eq!(app.database.calls().len(), calls);
    assert_eq!(main.record(&app).await.status.as_str(), "error");
    // The credential in the secrets is checked at once, and replaced because it does not work.
    app.database.drift(&slot_user(backup.id, backup.slots.active.unwrap()));
    main.person.put(&main.path, &json!({ "status": "active" })).await.is(200);
    main.settle(&restarted).await;
    let history = main.history().await;
    assert_eq!([&history[0]["status"], &history[0]["trigger_type"]], ["success", "scheduled"]);
    // The target database has seen higher attempt numbers than the backup contains.
    main.succeed().await;
    assert_eq!(main.shown().await["status"], "active");
}

async fn the_team_of_stopped_rotations_is_told_once(kind: Kind) {
    let app = Build::on(kind).mail().workers(Vec::new()).start().await;
    let main = Rotated::create(&app, "alice").await;

    for _ in 0..2 {
        let accepted = accept_restore(app.service.engine(), None, true).await.unwrap();
        assert_eq!(accepted.rotations, 1);
    }

    // One notice waits, even if no mail server is configured.
    let mut reads = app.store.read().await.unwrap();
    let due = reads.due_deliveries("notice", app.clock.now(), None, 9).await.unwrap();
    drop(reads);
    assert_eq!((due.len(), due[0].id.to_string()), (1, main.person.team.clone()));
    let service = Service::open(app.ports(), Options::default()).await.unwrap();
    while outbox::deliver_due(service.engine(), &NoticeMail).await.unwrap() > 0 {}
    let sent = app.mailer.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].to, "alice@example.com");
    assert!(sent[0].subject.starts_with("The rotations of the team"), "{}", sent[0].subject);
    let expected = "are stopped until a user sets their status to active";
    assert!(sent[0].text.contains(expected), "{}", sent[0].text);
}

secrets_tests::on_every_store!(
    each_start_and_each_round_increase_the_epoch_and_its_copy,
    nodes_that_start_together_increase_the_epoch_one_after_another,
    an_earlier_state_does_not_start_and_writes_nothing,
    a_copy_of_another_instance_or_an_unreadable_copy_does_not_start,
    an_accepted_restore_starts_without_the_earlier_credentials,
    an_accepted_restore_stops_rotations_until_a_user_resumes_them;
    the_team_of_stopped_rotations_is_told_once,
);
