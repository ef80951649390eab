//! Tests of rows that were changed with SQL, in ways that the functions of the store do not allow.

use std::collections::BTreeSet;
use std::sync::Arc;

use secrets_core::Service;
use secrets_core::crypto::KeyringError;
use secrets_core::engine::{Options, StartError};
use secrets_tests::{App, Build, Dump, Kind, Rotated, paths, postgresql};
use serde_json::json;

use super::{Victim, assert_internal};

async fn project_keys_that_changed_places_open_nothing(app: App) {
    let victim = Victim::of(app).await;
    let other = victim.person.project("api").await;
    victim.person.secret(&other, "development", "ONE", "kvc_other").await;

    let swap = "WITH old AS MATERIALIZED (SELECT project_id, wrapped FROM project_keys)
        UPDATE project_keys SET wrapped =
            (SELECT old.wrapped FROM old WHERE old.project_id <> project_keys.project_id)";
    victim.app.sql(swap).await;

    victim.is_broken(&victim.project, "development", "ONE").await;
    victim.is_broken(&other, "development", "ONE").await;
    // The service encrypts no new value with a key of another project.
    let new = json!({ "key": "NEW", "value": "kvc_new" });
    let path = paths::secrets(&victim.project, "development");
    assert_internal(&victim.person.post(&path, &new).await);
}

async fn environments_that_inherit_from_each_other_are_refused(app: App) {
    let victim = Victim::of(app).await;

    let circle = "UPDATE environments SET inherits_from =
            (SELECT other.id FROM environments other WHERE other.name = 'staging')
            WHERE name = 'development';
        UPDATE environments SET inherits_from =
            (SELECT other.id FROM environments other WHERE other.name = 'development')
            WHERE name = 'staging'";
    victim.app.sql(circle).await;

    for environment in ["development", "staging"] {
        for reply in victim.values(&victim.project, environment, "ONE").await {
            reply.is(400).code("circular_inheritance");
        }
    }
}

async fn an_invalid_role_grants_nothing(app: App) {
    let victim = Victim::of(app).await;

    victim.app.sql("UPDATE members SET role = 'root'").await;

    let path = paths::secret(&victim.project, "development", "ONE");
    assert_internal(&victim.person.get(&path).await);
    assert_internal(&victim.person.delete(&victim.project).await);
}

async fn a_changed_old_version_is_neither_shown_nor_restored(app: App) {
    for spoil in [
        "UPDATE secret_versions SET hidden = TRUE WHERE version = 1",
        "UPDATE secret_versions SET sealed = (SELECT sealed FROM secrets
             WHERE secrets.id = secret_versions.secret_id) WHERE version = 1",
    ] {
        let person = app.person("ann").await;
        let project = person.project("web").await;
        person.secret(&project, "development", "ONE", "kvc_first").await;
        let path = paths::secret(&project, "development", "ONE");
        person.put(&path, &json!({ "value": "kvc_second" })).await.is(200);
        person.get(&format!("{path}/history?values=true")).await.is(200);

        app.sql(spoil).await;

        assert_internal(&person.get(&format!("{path}/history?values=true")).await);
        person.get(&format!("{path}/history?values=false")).await.is(200);
        assert_internal(&person.post(&format!("{path}/rollback"), &json!({ "version": 1 })).await);
        let now = person.get(&path).await.is(200).json();
        assert_eq!(
            (&now["secret"]["version"], &now["secret"]["value"]),
            (&json!(2), &json!("kvc_second"))
        );
    }
}

/// Checks that rows of secrets, versions and rotations that cannot be decoded are reported like
/// records that cannot be decrypted, and that the other rows are verified.
async fn rows_that_cannot_be_decoded_are_reported_and_the_rest_is_verified(kind: Kind) {
    let victim = Victim::of(Build::on(kind).without_workers().start().await).await;
    let app = &victim.app;
    let two = app.record(&victim.project, "development", "TWO").await.id;
    let three = app.record(&victim.project, "staging", "ONE").await.id;
    let change = json!({ "value": "kvc_second" });
    victim.person.put(&paths::secret(&victim.project, "staging", "ONE"), &change).await.is(200);
    for (name, owner) in [("first", "bob"), ("second", "carol")] {
        Rotated::create_as(app, owner, &postgresql(name)).await;
    }
    let before = app.service.verify_records().await.unwrap();
    assert_eq!((before.secrets, before.rotations), (3, 2));

    app.sql("UPDATE secrets SET version = -1 WHERE key = 'TWO'").await;
    app.sql("UPDATE secret_versions SET change = 'other'").await;
    app.sql("UPDATE rotations SET interval_days = -1 WHERE name = 'first'").await;

    let verified = app.service.verify_records().await.unwrap();
    let unreadable: BTreeSet<_> = verified.unreadable.into_iter().collect();
    assert_eq!((verified.secrets, unreadable), (1, BTreeSet::from([two, three])));
    assert_eq!((verified.rotations, verified.unreadable_rotations.len()), (1, 1));
    app.sql("UPDATE rotations SET interval_days = 30, status = 'other'").await;
    let verified = app.service.verify_records().await.unwrap();
    assert_eq!((verified.rotations, verified.unreadable_rotations.len()), (0, 2));
}

async fn one_row_that_cannot_be_decoded_does_not_prevent_the_start(app: App) {
    let victim = Victim::of(app).await;
    for number in 0..9 {
        let key = format!("KEY_{number}");
        victim.person.secret(&victim.project, "staging", &key, "kvc_many").await;
    }

    victim.app.sql("UPDATE secrets SET version = -1 WHERE key = 'TWO'").await;

    let restarted = victim.app.restarted().await;
    let reader = restarted.bearer(&restarted.jwt("ann"));
    reader.get(&paths::secret(&victim.project, "staging", "KEY_1")).await.is(200);
    assert_internal(&reader.get(&paths::secret(&victim.project, "development", "TWO")).await);
}

async fn an_instance_with_a_changed_row_does_not_start_again(app: App) {
    let victim = Victim::of(app).await;
    victim.app.sql("UPDATE instance SET epoch = epoch + 1").await;
    let before = Dump::of(victim.app.store.as_ref(), &["ann"]).await;

    let error = Service::open(victim.app.ports(), Options::default()).await.err().unwrap();

    assert!(matches!(error, StartError::Keys(KeyringError::Tampered)), "{error}");
    let after = Dump::of(victim.app.store.as_ref(), &["ann"]).await;
    assert_eq!(before.changes(&after), Vec::<String>::new());
}

async fn an_instance_without_its_keys_does_not_start_again(app: App) {
    let victim = Victim::of(app).await;
    victim.app.sql("DELETE FROM instance_keys").await;

    let error = Service::open(victim.app.ports(), Options::default()).await.err().unwrap();

    assert!(matches!(error, StartError::Keys(KeyringError::Tampered)), "{error}");
}

async fn data_without_an_instance_gets_no_new_instance(app: App) {
    let victim = Victim::of(app).await;
    victim.app.sql("DELETE FROM instance_keys; DELETE FROM instance").await;
    let store = Arc::clone(&victim.app.store);
    let before = Dump::of(store.as_ref(), &["ann"]).await;

    let error = Service::open(victim.app.ports(), Options::default()).await.err().unwrap();

    assert!(matches!(error, StartError::OrphanData), "{error}");
    assert!(store.read().await.unwrap().instance().await.unwrap().is_none());
    let after = Dump::of(store.as_ref(), &["ann"]).await;
    assert_eq!(before.changes(&after), Vec::<String>::new());
}

secrets_tests::on_sql_stores!(
    project_keys_that_changed_places_open_nothing,
    environments_that_inherit_from_each_other_are_refused,
    an_invalid_role_grants_nothing,
    a_changed_old_version_is_neither_shown_nor_restored,
    one_row_that_cannot_be_decoded_does_not_prevent_the_start,
    an_instance_with_a_changed_row_does_not_start_again,
    an_instance_without_its_keys_does_not_start_again,
    data_without_an_instance_gets_no_new_instance;
    rows_that_cannot_be_decoded_are_reported_and_the_rest_is_verified
);
