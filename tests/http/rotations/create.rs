//! Tests of creating rotations.

use chrono::{DateTime, TimeDelta, Utc};
use secrets_core::model::Clock as _;
use secrets_tests::{App, STARTED, in_memory_and_on_postgres, lambda, paths, postgresql};
use serde_json::{Value, json};

/// Returns the request body that creates a rotation of a MySQL database through a Lambda function.
fn proxied(name: &str) -> Value {
    let mut body = postgresql(name);
    body["integration_type"] = json!("mysql");
    body["connection_method"] = json!("proxied");
    body["proxy"] = lambda();
    body
}

fn time(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap().parse().unwrap()
}

async fn a_created_rotation_is_returned_without_its_connection(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();

    let reply = alice.post(&paths::rotations(&web, "staging"), &postgresql("main-db")).await;

    let created = reply.is(201).json();
    assert_eq!(
        created,
        json!({
            "id": created["id"],
            "environment_id": staging["id"],
            "name": "main-db",
            "integration_type": "postgresql",
            "rotation_interval_days": 30,
            "connection_method": "direct",
            "status": "active",
            "next_rotation_at": created["next_rotation_at"],
            "injected_secrets": [],
            "created_at": STARTED,
            "updated_at": STARTED,
        })
    );
}

async fn the_first_rotation_is_an_interval_away_give_or_take_an_hour(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for (name, days) in [("daily", 1), ("monthly", 30), ("yearly", 365)] {
        let mut body = postgresql(name);
        body["rotation_interval_days"] = json!(days);
        body["secret_mapping"] = json!({});
        let created = alice.post(&paths::rotations(&web, "staging"), &body).await.is(201).json();

        let away = time(&created["next_rotation_at"]) - app.clock.now() - TimeDelta::days(days);
        assert!(away.abs() <= TimeDelta::hours(1), "{name}: {away}");
    }
}

async fn an_immediate_rotation_is_due_at_once(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut body = postgresql("main-db");
    body["rotate_immediately"] = json!(true);

    let created = alice.post(&paths::rotations(&web, "staging"), &body).await.is(201).json();

    assert_eq!(created["next_rotation_at"], STARTED);
}

async fn creating_a_rotation_makes_no_connection(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::rotations(&web, "staging");

    alice.post(&path, &postgresql("direct")).await.is(201);
    alice.post(&path, &proxied("through-a-function")).await.is(201);

    assert_eq!(app.database.calls(), [""; 0]);
}

async fn a_proxied_rotation_has_its_connection_method(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let reply = alice.post(&paths::rotations(&web, "staging"), &proxied("main-db")).await;

    let created = reply.is(201).json();
    assert_eq!(created["connection_method"], "proxied");
    assert_eq!(created["integration_type"], "mysql");
    assert_eq!(created.get("proxy"), None);
}

async fn port_and_tls_mode_have_defaults(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let token = alice.token(&json!({ "all_projects": true })).await;
    let reader = app.bearer(&token);

    for (kind, port) in [("postgresql", "5432"), ("mysql", "3306")] {
        let mut body = postgresql(kind);
        body["integration_type"] = json!(kind);
        let connection = body["connection"].as_object_mut().unwrap();
        connection.remove("port");
        connection.remove("ssl_mode");
        alice.post(&paths::rotations(&web, "staging"), &body).await.is(201);
        let rotate = format!("{}/rotate", paths::rotation(&web, "staging", kind));
        alice.post(&rotate, &json!({})).await.is(200);

        let key = format!("{}_PORT", kind.to_uppercase());
        let read = reader.get(&paths::eso_secret(&web, "staging", &key)).await.is(200).json();
        assert_eq!(read, json!({ "value": port }));
    }
}

async fn a_name_is_taken_in_its_own_environment_only(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.post(&paths::rotations(&web, "staging"), &postgresql("main-db")).await.is(201);

    let mut again = postgresql("main-db");
    again["secret_mapping"] = json!({
        "username": "U", "password": "P", "host": "H", "port": "O", "database": "D", "url": "L",
    });
    let reply = alice.post(&paths::rotations(&web, "staging"), &again).await;

    reply.is(400).code("already_exists").names("name");
    alice.post(&paths::rotations(&web, "production"), &postgresql("main-db")).await.is(201);
}

async fn keys_can_be_given_other_names(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut body = postgresql("main-db");
    body["secret_mapping"] = json!({ "username": "PGUSER", "password": "PGPASSWORD" });
    alice.post(&paths::rotations(&web, "staging"), &body).await.is(201);

    let path = paths::rotation(&web, "staging", "main-db");
    alice.post(&format!("{path}/rotate"), &json!({})).await.is(200);

    let keys = alice.get(&path).await.is(200).json()["injected_secrets"].clone();
    let expected = json!([
        "PGUSER",
        "PGPASSWORD",
        "MAIN_DB_HOST",
        "MAIN_DB_PORT",
        "MAIN_DB_DATABASE",
        "MAIN_DB_URL",
    ]);
    assert_eq!(keys, expected);
}

async fn creating_is_in_the_log_by_name_and_kind(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let reply = alice.post(&paths::rotations(&web, "staging"), &postgresql("main-db")).await;

    let entry = app.entry(&alice.team, "rotation.created").await;

    assert_eq!(entry.resource_name.as_deref(), Some("main-db"));
    assert_eq!(entry.resource_id.map(|id| id.to_string()), Some(reply.id()));
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    let expected = json!({ "integration_type": "postgresql", "permission_level": "read_write" });
    assert_eq!(details, expected);
}

in_memory_and_on_postgres![
    a_created_rotation_is_returned_without_its_connection,
    the_first_rotation_is_an_interval_away_give_or_take_an_hour,
    an_immediate_rotation_is_due_at_once,
    creating_a_rotation_makes_no_connection,
    a_proxied_rotation_has_its_connection_method,
    port_and_tls_mode_have_defaults,
    a_name_is_taken_in_its_own_environment_only,
    keys_can_be_given_other_names,
    creating_is_in_the_log_by_name_and_kind,
];
