//! Tests of starting the service with keys and data that do not belong together.

use std::sync::Arc;

use chrono::TimeDelta;
use secrets_core::Service;
use secrets_core::crypto::{
    InstanceKeyPurpose, InstanceKeyRecord, InstanceRecord, Key, KeyringError, StaticRootKey,
};
use secrets_core::engine::{Options, Ports, StartError};
use secrets_core::model::InstanceId;
use secrets_core::store::{SecretRecord, Store};
use secrets_core::testing::fixtures;
use secrets_tests::{App, Dump, Kind, flipped, paths};
use serde_json::json;

use super::Victim;

/// Stored records of an instance (one installation of the service): the instance record, and the
/// records of its keys.
type Rows = (InstanceRecord, Vec<InstanceKeyRecord>);

async fn another_root_key_does_not_start_and_writes_nothing(app: App) {
    let victim = Victim::of(app).await;
    let before = Dump::of(victim.app.store.as_ref(), &["ann"]).await;
    let another = Arc::new(StaticRootKey::new(&Key::generate()));

    let error = refusal(Ports { root: another, ..victim.app.ports() }).await;

    assert!(matches!(error, StartError::Keys(KeyringError::RootKey { .. })), "{error}");
    let after = Dump::of(victim.app.store.as_ref(), &["ann"]).await;
    assert_eq!(before.changes(&after), Vec::<String>::new());
    victim.is_whole("development", "ONE").await;
}

async fn a_changed_instance_row_does_not_start_and_writes_nothing(app: App) {
    let (instance, keys) = rows(app.store.as_ref()).await;

    for (what, rows) in tampered(&instance, &keys) {
        let held = app.kind.open().await;
        insert(held.store.as_ref(), &rows).await;
        let before = Dump::of(held.store.as_ref(), &[]).await;

        let error = refusal(Ports { store: Arc::clone(&held.store), ..app.ports() }).await;

        assert!(matches!(error, StartError::Keys(KeyringError::Tampered)), "{what}: {error}");
        let after = Dump::of(held.store.as_ref(), &[]).await;
        assert_eq!(before.changes(&after), Vec::<String>::new(), "{what}");
    }
}

async fn unchanged_instance_rows_open_in_another_store(app: App) {
    let held = app.kind.open().await;
    insert(held.store.as_ref(), &rows(app.store.as_ref()).await).await;

    let ports = Ports { store: Arc::clone(&held.store), ..app.ports() };

    assert!(Service::open(ports, Options::default()).await.is_ok());
}

async fn data_without_an_instance_row_does_not_start(kind: Kind) {
    let app = App::start(Kind::Memory).await;
    let held = kind.open().await;
    fixtures::World::build(held.store.as_ref()).await;

    let error = refusal(Ports { store: Arc::clone(&held.store), ..app.ports() }).await;

    assert!(matches!(error, StartError::OrphanData), "{error}");
    let mut reads = held.store.read().await.unwrap();
    assert!(reads.instance().await.unwrap().is_none(), "no key is created if there is data");
}

async fn data_without_a_decryptable_record_does_not_start(app: App) {
    let victim = Victim::of(app).await;
    let mut spoilt = Vec::new();
    for (environment, key) in [("development", "ONE"), ("development", "TWO"), ("staging", "ONE")] {
        let record = victim.app.record(&victim.project, environment, key).await;
        spoilt.push(SecretRecord { sealed: flipped(&record.sealed, 40), ..record });
    }
    victim.app.rewrite(&spoilt).await;

    let error = refusal(victim.app.ports()).await;

    assert!(matches!(error, StartError::Unreadable { tried: 3, failed: 3 }), "{error}");
}

async fn one_damaged_record_in_a_hundred_does_not_prevent_the_start(app: App) {
    let victim = Victim::of(app).await;
    let secret = |number| json!({ "key": format!("KEY_{number}"), "value": "kvc_many" });
    let import = json!({ "secrets": (0..100).map(secret).collect::<Vec<_>>() });
    let path = paths::secrets(&victim.project, "production");
    victim.person.post(&format!("{path}/bulk"), &import).await.is(200);
    let record = victim.app.record(&victim.project, "development", "TWO").await;
    let spoilt = SecretRecord { sealed: flipped(&record.sealed, 40), ..record };
    victim.app.rewrite(&[spoilt]).await;

    let restarted = victim.app.restarted().await;

    let reader = restarted.bearer(&restarted.jwt("ann"));
    reader.get(&format!("{path}/KEY_1")).await.is(200);
    reader.get(&paths::secret(&victim.project, "development", "TWO")).await.is(500);
}

async fn a_damaged_record_after_a_long_pause_does_not_prevent_the_start(app: App) {
    let victim = Victim::of(app).await;
    let secret = |number| json!({ "key": format!("KEY_{number}"), "value": "kvc_many" });
    let import = json!({ "secrets": (0..100).map(secret).collect::<Vec<_>>() });
    let path = paths::secrets(&victim.project, "production");
    victim.person.post(&format!("{path}/bulk"), &import).await.is(200);
    // A sample is the first record after a random time. Most random times are in the long pause, so
    // most samples are the record after the pause.
    victim.app.wait(TimeDelta::days(300));
    let late = victim.app.bearer(&victim.app.jwt("ann"));
    late.post(&path, &json!({ "key": "LATE", "value": "kvc_late" })).await.is(201);
    let record = victim.app.record(&victim.project, "production", "LATE").await;
    let spoilt = SecretRecord { sealed: flipped(&record.sealed, 40), ..record };
    victim.app.rewrite(&[spoilt]).await;

    let restarted = victim.app.restarted().await;

    let reader = restarted.bearer(&restarted.jwt("ann"));
    reader.get(&format!("{path}/KEY_1")).await.is(200);
    reader.get(&format!("{path}/LATE")).await.is(500);
}

secrets_tests::on_every_store!(
    another_root_key_does_not_start_and_writes_nothing,
    a_changed_instance_row_does_not_start_and_writes_nothing,
    unchanged_instance_rows_open_in_another_store,
    data_without_a_decryptable_record_does_not_start,
    one_damaged_record_in_a_hundred_does_not_prevent_the_start,
    a_damaged_record_after_a_long_pause_does_not_prevent_the_start;
    data_without_an_instance_row_does_not_start,
);

/// Opens a service with these ports, which must fail to start. Returns the error.
async fn refusal(ports: Ports) -> StartError {
    Service::open(ports, Options::default()).await.err().unwrap()
}

async fn rows(store: &dyn Store) -> Rows {
    store.read().await.unwrap().instance().await.unwrap().unwrap()
}

async fn insert(store: &dyn Store, (instance, keys): &Rows) {
    let mut tx = store.begin().await.unwrap();
    tx.insert_instance(instance, keys).await.unwrap();
    tx.commit().await.unwrap();
}

/// Returns copies of the records of an instance, each with one change. The string describes the
/// change.
fn tampered(instance: &InstanceRecord, keys: &[InstanceKeyRecord]) -> Vec<(String, Rows)> {
    let whole = || (instance.clone(), keys.to_vec());
    let changed = |what: &str, change: &dyn Fn(&mut Rows)| {
        let mut rows = whole();
        change(&mut rows);
        (what.to_owned(), rows)
    };
    let mut all = vec![
        changed("a bit of the wrapped key", &|(row, _)| row.wrapped_kek[30] ^= 1),
        changed("a wrapped key that was cut", &|(row, _)| row.wrapped_kek.truncate(71)),
        changed("no wrapped key", &|(row, _)| row.wrapped_kek.clear()),
        changed("the number of the key", &|(row, _)| row.kek_id += 1),
        changed("a bit of the canary", &|(row, _)| row.canary[30] ^= 1),
        changed("no canary", &|(row, _)| row.canary.clear()),
        changed("the epoch", &|(row, _)| row.epoch += 1),
        changed("another installation", &|(row, _)| row.id = InstanceId::draw(row.created_at)),
        changed("no keys", &|(_, keys)| keys.clear()),
        changed("keys that changed places", &|(_, keys)| {
            let first = keys[0].wrapped.clone();
            keys[0].wrapped = std::mem::replace(&mut keys[1].wrapped, first);
        }),
    ];
    for (place, purpose) in InstanceKeyPurpose::ALL.into_iter().enumerate() {
        let bit = |rows: &mut Rows| rows.1[place].wrapped[30] ^= 1;
        all.push(changed(&format!("a bit of the key for {purpose:?}"), &bit));
    }
    all
}
