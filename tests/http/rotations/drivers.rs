//! Tests of kinds of database: with a driver that the program has registered, and without a driver.

use chrono::TimeDelta;
use secrets_core::model::rotations::RotationStatus;
use secrets_core::model::{EnvironmentPath, Origin};
use secrets_core::rotations::{self, RotateNow};
use secrets_tests::{App, Rotated, in_memory_and_on_postgres, on_sql_stores, paths, postgresql};
use serde_json::json;

async fn a_kind_of_database_with_a_registered_driver_can_be_rotated(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut body = postgresql("reports");
    body["integration_type"] = json!("sql_server");
    body["connection"].as_object_mut().unwrap().remove("port");
    let created = alice.post(&paths::rotations(&web, "staging"), &body).await.is(201).json();
    assert_eq!(created["integration_type"], "sql_server");

    let rotate = format!("{}/rotate", paths::rotation(&web, "staging", "reports"));
    alice.post(&rotate, &json!({})).await.is(200);

    let reader = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let path = paths::eso_secret(&web, "staging", "REPORTS_URL");
    let url = reader.get(&path).await.is(200).json()["value"].as_str().unwrap().to_owned();
    assert!(url.starts_with("sqlserver://kv_"), "{}", url.len());
    assert!(url.ends_with("@db.example.com:1433/shop"), "{}", url.len());
}

async fn a_kind_of_database_without_a_driver_is_refused_with_the_list_of_kinds(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut body = postgresql("reports");
    body["integration_type"] = json!("oracle");

    let reply = alice.post(&paths::rotations(&web, "staging"), &body).await;

    let error = reply.is(400).names("integration_type").json();
    let text = "must be one of: mysql, postgresql, sql_server";
    assert!(error.to_string().contains(text), "{error}");
}

async fn a_rotation_without_a_driver_waits_for_a_node_that_has_it(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let before = main.served().await;
    app.sql("UPDATE rotations SET integration = 'oracle'").await;
    main.person.delete(&format!("{}?revoke=true", main.path)).await.is(503).code("unavailable");
    assert_eq!(main.served().await, before);
    app.wait(TimeDelta::days(31));
    let engine = app.service.engine();

    for claim in rotations::claim_rotations(engine).await.unwrap() {
        rotations::work(engine, claim).await;
    }

    let record = main.record(&app).await;
    assert_eq!(record.status, RotationStatus::Active);
    let failing = app.failing().await;
    assert!(failing.iter().any(|(_, id, _)| *id == record.id.uuid().to_string()), "{failing:?}");
    let at = EnvironmentPath::new(paths::last(&main.project), "staging");
    let person = app.service.authenticate(&app.jwt("alice"), Origin::default()).await.unwrap();
    let now = RotateNow { at, name: "main-db".to_owned() };
    let refused = app.service.run(&person, now).await.unwrap_err();
    assert_eq!(refused.kind(), "unavailable");
    let mut reads = app.store.read().await.unwrap();
    assert_eq!(reads.concluded_attempts(record.id, 10).await.unwrap().len(), 1);
    assert!(reads.open_attempt(record.id).await.unwrap().is_none());
    drop(reads);
    assert_eq!(main.served().await, before);
    // Selects a kind with a driver, and waits longer than the delay after a failure.
    app.sql("UPDATE rotations SET integration = 'postgresql'").await;
    app.wait(TimeDelta::days(1));
    main.settle(&app).await;
    let attempts = app.store.read().await.unwrap().concluded_attempts(record.id, 10).await;
    assert_eq!(attempts.unwrap().len(), 2);
    main.works(&app).await;
}

in_memory_and_on_postgres![
    a_kind_of_database_with_a_registered_driver_can_be_rotated,
    a_kind_of_database_without_a_driver_is_refused_with_the_list_of_kinds,
];

mod databases {
    use super::*;

    on_sql_stores![a_rotation_without_a_driver_waits_for_a_node_that_has_it];
}
