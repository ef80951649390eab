//! Tests of the events that a rotation sends to its webhooks.

use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Build, Kind, Receiver, Rotated, STARTED, on_every_store, paths};
use serde_json::{Value, json};

use super::{EVENTS, HERE};

/// Starts a server, and creates a rotation with a webhook that sends these events to a receiver.
async fn world(kind: Kind, events: &[&str]) -> (App, Rotated, Receiver) {
    let app = Build::on(kind).webhooks(HERE).start().await;
    let main = Rotated::create(&app, "alice").await;
    let receiver = Receiver::start().await;
    let body = json!({ "url": receiver.url("/"), "events": events });
    main.person.post(&format!("{}/webhooks", main.path), &body).await.is(201);
    (app, main, receiver)
}

/// Waits until the receiver has received this number of events. Returns the events sorted by type.
async fn received(receiver: &Receiver, number: usize) -> Vec<Value> {
    let taken = receiver.wait_for(number).await;
    let mut payloads: Vec<_> = taken.iter().map(secrets_tests::Taken::json).collect();
    payloads.sort_by_key(|one| one["type"].as_str().unwrap().to_owned());
    payloads
}

/// Returns the fields that every event about the rotation's first attempt must have, with their
/// values.
async fn data(main: &Rotated) -> Value {
    let shown = main.shown().await;
    let project = main.person.get(&main.project).await.is(200).json();
    let project = project.get("project").unwrap_or(&project).clone();
    let environment = main.person.get(&paths::environment(&main.project, "staging")).await.id();
    let history = main.history().await;
    json!({
        "rotation_id": shown["id"],
        "rotation_name": "main-db",
        "integration_type": "postgresql",
        "team_id": main.person.team,
        "project_id": project["id"],
        "project_slug": project["slug"],
        "environment_id": environment,
        "environment_name": "staging",
        "history_id": history[0]["id"],
        "version": 1,
        "trigger_type": "manual",
        "triggered_by": main.person.id,
        "status": null,
        "started_at": STARTED,
        "completed_at": null,
        "injected_secrets": [
            "MAIN_DB_USERNAME",
            "MAIN_DB_PASSWORD",
            "MAIN_DB_HOST",
            "MAIN_DB_PORT",
            "MAIN_DB_DATABASE",
            "MAIN_DB_URL",
        ],
        "error_message": null,
    })
}

async fn a_success_is_sent_when_it_begins_and_when_it_is_served(kind: Kind) {
    let (_app, main, receiver) = world(kind, &EVENTS).await;

    main.succeed().await;

    let payloads = received(&receiver, 2).await;
    assert_eq!(
        [&payloads[0]["type"], &payloads[1]["type"]],
        ["rotation.completed", "rotation.started"]
    );
    let mut expected = data(&main).await;
    assert_eq!(payloads[1]["data"], expected);
    expected["status"] = json!("success");
    expected["completed_at"] = json!(STARTED);
    assert_eq!(payloads[0]["data"], expected);
    assert_ne!(payloads[0]["id"], payloads[1]["id"]);
}

async fn a_failure_is_sent_with_its_reason(kind: Kind) {
    let (app, main, receiver) = world(kind, &EVENTS).await;
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);

    let entry = main.rotate().await;

    let payloads = received(&receiver, 2).await;
    assert_eq!(
        [&payloads[0]["type"], &payloads[1]["type"]],
        ["rotation.failed", "rotation.started"]
    );
    assert_eq!(payloads[0]["data"]["status"], "failed");
    assert_eq!(payloads[0]["data"]["history_id"], entry["id"]);
    assert_eq!(payloads[0]["data"]["error_message"], entry["error_message"]);
    assert!(entry["error_message"].is_string());
}

async fn only_subscribed_events_are_sent(kind: Kind) {
    let (app, main, receiver) = world(kind, &["rotation.failed"]).await;

    main.succeed().await;
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);
    main.rotate().await;

    let payloads = received(&receiver, 1).await;
    assert_eq!(payloads[0]["data"]["version"], 2);
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(receiver.taken().len(), 1);
}

async fn no_event_holds_a_value(kind: Kind) {
    let (_app, main, receiver) = world(kind, &EVENTS).await;

    main.succeed().await;
    main.succeed().await;

    let (username, password) = main.served().await;
    for taken in receiver.wait_for(4).await {
        let text = format!("{taken:?}");
        for hidden in [username.as_str(), &password, "kvc_", "db.example.com"] {
            assert!(!text.contains(hidden), "{hidden}");
        }
    }
}

async fn a_rotation_that_is_deleted_takes_its_webhooks_with_it(kind: Kind) {
    let (app, main, receiver) = world(kind, &EVENTS).await;
    receiver.answer(500, &[]);
    main.succeed().await;
    receiver.wait_for(2).await;

    main.person.delete(&main.path).await.is(204);

    main.person.get(&format!("{}/webhooks", main.path)).await.is(404);
    app.wait(chrono::TimeDelta::hours(1));
    super::deliver(&app).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(receiver.taken().len(), 2);
}

on_every_store![;
    a_success_is_sent_when_it_begins_and_when_it_is_served,
    a_failure_is_sent_with_its_reason,
    only_subscribed_events_are_sent,
    no_event_holds_a_value,
    a_rotation_that_is_deleted_takes_its_webhooks_with_it,
];
