//! Tests of the history of a rotation.

use chrono::TimeDelta;
use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Rotated, in_memory_and_on_postgres, paths};
use serde_json::json;

async fn a_history_is_a_bare_list_newest_first(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    app.wait(TimeDelta::seconds(1));
    app.database.script("apply", [Script::Fail(Fault::Privilege)]);
    main.rotate().await;
    app.wait(TimeDelta::seconds(1));
    main.succeed().await;

    let history = main.person.get(&format!("{}/history", main.path)).await.is(200).json();

    let history = history.as_array().unwrap();
    let versions: Vec<_> = history.iter().map(|entry| entry["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [3, 2, 1]);
    let statuses: Vec<_> = history.iter().map(|entry| entry["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["success", "failed", "success"]);
    assert_eq!(history[1]["started_at"], "2026-11-21T12:00:11Z");
    assert_eq!(history[1]["error_message"], Fault::Privilege.sentence());
    assert_eq!(history[0].get("error_message"), None);
}

async fn a_rotation_without_attempts_has_no_history(app: App) {
    let main = Rotated::create(&app, "alice").await;

    assert!(main.history().await.is_empty());
}

async fn an_entry_names_the_requesting_user(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let bob = app.person("bob").await;
    app.join(&main.person.team, &bob.id, secrets_core::model::Role::Member).await;

    bob.post(&format!("{}/rotate", main.path), &json!({})).await.is(200);

    assert_eq!(main.history().await[0]["triggered_by"], json!(bob.id));
}

async fn an_unknown_rotation_has_no_history(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let path = paths::rotation(&main.project, "staging", "none");

    main.person.get(&format!("{path}/history")).await.is(404).says("rotation not found");
}

async fn a_new_rotation_of_the_same_name_has_no_history(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.person.delete(&format!("{}?revoke=true", main.path)).await.is(204);

    let body = secrets_tests::postgresql("main-db");
    main.person.post(&paths::rotations(&main.project, "staging"), &body).await.is(201);

    assert!(main.history().await.is_empty());
    assert_eq!(main.rotate().await["version"], 1);
    main.works(&app).await;
}

in_memory_and_on_postgres![
    a_history_is_a_bare_list_newest_first,
    a_rotation_without_attempts_has_no_history,
    an_entry_names_the_requesting_user,
    an_unknown_rotation_has_no_history,
    a_new_rotation_of_the_same_name_has_no_history,
];
