//! Tests of the purge of deleted projects: the keys of a project are destroyed before its rows are
//! deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use chrono::TimeDelta;
use secrets_core::crypto::{Key, StaticRootKey};
use secrets_core::engine::{Options, Ports, WorkItem};
use secrets_core::keys::{self, RootRotation};
use secrets_core::model::{Clock as _, Error, ProjectId, SecretId, Time, ids};
use secrets_core::store::{ProjectKeyCounts, Reads, Sample, Store, StoreError, StoreResult, Tx};
use secrets_core::{Service, projects};
use secrets_tests::{App, Build, Kind, Person, on_every_store, on_sql_stores, paths};
use serde_json::json;

/// Value of the secret of the project that stays.
const KEPT: &str = "kvc_kept";

/// A server without background workers, with a project that stays, and another project that was
/// deleted 31 days ago. Each project has a secret with a description and a previous version.
struct Deleted {
    app: App,
    team: String,
    kept: String,
    project: ProjectId,
    secret: SecretId,
}

impl Deleted {
    async fn on(kind: Kind) -> Self {
        let app = Build::on(kind).without_workers().start().await;
        let alice = app.person("alice").await;
        let web = filled(&alice, "Web", "kvc_web").await;
        let kept = filled(&alice, "Kept", KEPT).await;
        let secret = app.record(&web, "staging", "KEY").await.id;
        let project = ids::parse(paths::last(&web)).unwrap().into();
        alice.delete(&web).await.is(204);
        app.wait(TimeDelta::days(31));
        Self { app, team: alice.team.clone(), kept, project, secret }
    }

    async fn purge(&self) -> usize {
        projects::purge(self.app.service.engine()).await.unwrap()
    }

    /// Makes the database refuse to delete versions of secrets, so that a purge fails after its
    /// first transaction.
    async fn prevent_deletion(&self) {
        let create = match self.app.kind {
            Kind::Postgres => {
                "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'kept'; END $$;
                 CREATE TRIGGER kept BEFORE DELETE ON secret_versions
                 FOR EACH ROW EXECUTE FUNCTION keep()"
            }
            _ => {
                "CREATE TRIGGER kept BEFORE DELETE ON secret_versions
                 BEGIN SELECT RAISE(ABORT, 'kept'); END"
            }
        };
        self.app.sql(create).await;
    }

    async fn permit_deletion(&self) {
        let drop = match self.app.kind {
            Kind::Postgres => "DROP TRIGGER kept ON secret_versions",
            _ => "DROP TRIGGER kept",
        };
        self.app.sql(drop).await;
    }

    /// Returns the stored secret of the deleted project with its key, until the secret is deleted.
    async fn sample(&self) -> Option<Sample> {
        let mut reads = self.app.store.read().await.unwrap();
        let sample = reads.sample(self.secret).await.unwrap();
        sample.filter(|sample| sample.secret.id == self.secret)
    }

    /// Asserts that all records except those of the deleted project can be decrypted.
    async fn assert_whole(&self, service: &Service) {
        let verified = service.verify_records().await.unwrap();
        assert_eq!((verified.secrets, verified.records), (1, 3));
        assert_eq!(verified.unreadable, []);
        assert_eq!(verified.unreadable_rotations, []);
        assert_eq!(verified.changed_environments, []);
        let failures = service.engine().counts().decryption_failures;
        assert!(failures.iter().all(|(_, count)| *count == 0), "{failures:?}");
        // A new session, because the first one has expired.
        let alice = self.app.person("alice").await;
        let shown = alice.get(&paths::secret(&self.kept, "staging", "KEY")).await.is(200).json();
        assert_eq!(shown["secret"]["value"], KEPT);
    }
}

/// Wrapper of a store whose next transaction fails once, as if the store did not respond in time.
struct Slow {
    inner: Arc<dyn Store>,
    is_slow: AtomicBool,
}

#[async_trait]
impl Store for Slow {
    async fn read(&self) -> StoreResult<Box<dyn Reads>> {
        self.inner.read().await
    }

    async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
        if self.is_slow.swap(false, Ordering::SeqCst) {
            return Err(StoreError::Unavailable("timeout".into()));
        }
        self.inner.begin().await
    }

    async fn ping(&self) -> StoreResult<Option<Time>> {
        self.inner.ping().await
    }
}

/// Creates a project with a secret that has a description and a previous version.
async fn filled(person: &Person, name: &str, value: &str) -> String {
    let project = person.project(name).await;
    person.secret(&project, "staging", "KEY", "kvc_first").await;
    let change = json!({ "value": value, "description": "kvc_described" });
    person.put(&paths::secret(&project, "staging", "KEY"), &change).await.is(200);
    project
}

async fn a_project_that_can_be_restored_keeps_its_keys(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let web = filled(&alice, "Web", "kvc_web").await;
    alice.delete(&web).await.is(204);
    app.wait(TimeDelta::days(29));

    assert_eq!(projects::purge(app.service.engine()).await.unwrap(), 0);

    let alice = app.person("alice").await;
    alice.post(&format!("{web}/restore"), &json!({})).await.is(200);
    let shown = alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200).json();
    assert_eq!(shown["secret"]["value"], "kvc_web");
    let actions = app.actions(&alice.team).await;
    assert!(!actions.iter().any(|action| action == "project.keys_destroyed"), "{actions:?}");
}

async fn the_keys_are_destroyed_before_rows_are_deleted(kind: Kind) {
    let deleted = Deleted::on(kind).await;
    deleted.prevent_deletion().await;
    assert!(!deleted.sample().await.unwrap().key.unwrap().is_destroyed());

    assert_eq!(deleted.purge().await, 0);

    let sample = deleted.sample().await.unwrap();
    assert!(sample.key.unwrap().is_destroyed());
    let item = ("project purge".to_owned(), deleted.project.to_string(), 1);
    assert_eq!(deleted.app.failing().await, [item]);
    deleted.assert_whole(&deleted.app.service).await;
    // The second purge finds no key to destroy, so there is only one entry.
    assert_eq!(deleted.purge().await, 0);
    let entry = deleted.app.entry(&deleted.team, "project.keys_destroyed").await;
    assert_eq!((entry.actor_type.as_ref(), entry.metadata.as_str()), ("system", r#"{"keys":1}"#));
    assert_eq!(entry.project, Some(deleted.project));
}

async fn a_restarted_service_completes_the_purge(kind: Kind) {
    let deleted = Deleted::on(kind).await;
    deleted.prevent_deletion().await;
    assert_eq!(deleted.purge().await, 0);

    let restarted = deleted.app.without_workers_over(Arc::clone(&deleted.app.store)).await;
    deleted.permit_deletion().await;
    assert_eq!(projects::purge(restarted.service.engine()).await.unwrap(), 1);

    assert!(deleted.sample().await.is_none());
    deleted.assert_whole(&restarted.service).await;
    deleted.app.entry(&deleted.team, "project.keys_destroyed").await;
    deleted.app.entry(&deleted.team, "project.purged").await;
}

async fn new_keys_leave_out_destroyed_keys(kind: Kind) {
    let deleted = Deleted::on(kind).await;
    deleted.prevent_deletion().await;
    assert_eq!(deleted.purge().await, 0);
    let app = &deleted.app;

    keys::request_project_keys(app.store.as_ref(), app.clock.now()).await.unwrap();
    keys::replace_project_keys(app.service.engine()).await.unwrap();
    let root = Arc::new(StaticRootKey::new(&Key::generate()));
    let both = Ports { root: root.clone(), previous_root: Some(app.root.clone()), ..app.ports() };
    let command = Service::open(both, Options::default()).await.unwrap();
    let rotated = keys::rotate_root(command.engine()).await.unwrap();

    assert!(matches!(rotated, RootRotation::Replaced { .. }));
    let status = keys::status(app.store.as_ref()).await.unwrap();
    assert_eq!(status.projects, ProjectKeyCounts { current: 1, replaced: 1, retired: 0 });
    assert_eq!(status.requested_at, None);
    let replaced = Service::open(Ports { root, ..app.ports() }, Options::default()).await.unwrap();
    deleted.assert_whole(&replaced).await;
    assert!(deleted.sample().await.unwrap().key.unwrap().is_destroyed());
}

async fn a_key_that_was_emptied_in_the_database_is_reported(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let web = filled(&alice, "Web", "kvc_web").await;
    let secret = app.record(&web, "staging", "KEY").await.id;
    let empty = if kind == Kind::Postgres { "''" } else { "x''" };

    app.sql(&format!("UPDATE project_keys SET wrapped = {empty}")).await;

    let verified = app.service.verify_records().await.unwrap();
    assert_eq!((verified.secrets, verified.unreadable), (0, vec![secret]));
}

/// Checks that a new process completes a purge after another process was killed, when it had only
/// destroyed the keys.
async fn a_purge_continues_after_the_keys_were_destroyed(kind: Kind) {
    let deleted = Deleted::on(kind).await;
    let app = &deleted.app;
    let mut tx = app.store.begin().await.unwrap();
    let destroyed = tx.destroy_project_keys(deleted.project, app.clock.now()).await.unwrap();
    assert_eq!(destroyed, 1);
    tx.commit().await.unwrap();

    let restarted = app.without_workers_over(Arc::clone(&app.store)).await;

    deleted.assert_whole(&restarted.service).await;
    assert_eq!(projects::purge(restarted.service.engine()).await.unwrap(), 1);
    assert!(deleted.sample().await.is_none());
    app.entry(&deleted.team, "project.purged").await;
}

async fn a_project_that_is_purged_too_slowly_holds_up_no_other(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let (slow, other) = (alice.project("Slow").await, alice.project("Other").await);
    alice.delete(&slow).await.is(204);
    app.wait(TimeDelta::seconds(1));
    alice.delete(&other).await.is(204);
    app.wait(TimeDelta::days(31));
    let store = Arc::new(Slow { inner: Arc::clone(&app.store), is_slow: AtomicBool::new(false) });
    let ports = Ports { store: store.clone(), ..app.ports() };
    let node = Service::open(ports, Options::default()).await.unwrap();
    store.is_slow.store(true, Ordering::SeqCst);

    let purged = projects::purge(node.engine()).await;

    assert!(matches!(purged, Err(Error::Unavailable(_))), "{purged:?}");
    let failing: Vec<_> = node.engine().failing().iter().map(|failing| failing.item).collect();
    let slow = ids::parse(paths::last(&slow)).unwrap().into();
    assert_eq!(failing, [WorkItem::ProjectPurge(slow)]);
    assert_eq!(projects::purge(node.engine()).await.unwrap(), 1, "the other is purged already");
    assert_eq!(node.engine().failing(), []);
}

on_every_store![
    ;
    a_project_that_can_be_restored_keeps_its_keys,
    a_purge_continues_after_the_keys_were_destroyed,
    a_project_that_is_purged_too_slowly_holds_up_no_other,
];

mod stopped {
    use super::*;

    on_sql_stores![
        ;
        the_keys_are_destroyed_before_rows_are_deleted,
        a_restarted_service_completes_the_purge,
        new_keys_leave_out_destroyed_keys,
        a_key_that_was_emptied_in_the_database_is_reported
    ];
}
