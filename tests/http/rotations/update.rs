//! Tests of changing rotations: interval, pausing and resuming.

use chrono::{DateTime, TimeDelta, Utc};
use secrets_core::model::Clock as _;
use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Rotated, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

fn next(shown: &Value) -> DateTime<Utc> {
    shown["next_rotation_at"].as_str().unwrap().parse().unwrap()
}

async fn put(main: &Rotated, body: Value) -> Value {
    main.person.put(&main.path, &body).await.is(200).json()
}

async fn a_pause_keeps_the_time_that_is_left(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    let left = next(&main.shown().await) - app.clock.now() - TimeDelta::days(10);
    app.wait(TimeDelta::days(10));
    main.use_by(&app).await;

    let paused = put(&main, json!({ "status": "paused" })).await;

    assert_eq!(paused["status"], "paused");
    assert_eq!(paused.get("next_rotation_at"), None);
    assert_eq!(paused, main.shown().await);
    app.wait(TimeDelta::days(100));
    main.use_by(&app).await;
    let resumed = put(&main, json!({ "status": "active" })).await;
    assert_eq!(resumed["status"], "active");
    assert!((next(&resumed) - app.clock.now() - left).abs() <= TimeDelta::seconds(1));
    assert_eq!(resumed, main.shown().await);
}

async fn pausing_and_resuming_twice_is_the_same_as_once(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let before = next(&main.shown().await);

    put(&main, json!({ "status": "active" })).await;
    put(&main, json!({ "status": "paused" })).await;
    app.wait(TimeDelta::hours(1));
    put(&main, json!({ "status": "paused" })).await;
    put(&main, json!({ "status": "active" })).await;
    let resumed = put(&main, json!({ "status": "active" })).await;

    assert!((next(&resumed) - before - TimeDelta::hours(1)).abs() <= TimeDelta::seconds(1));
}

async fn an_interval_is_counted_from_the_last_rotation(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    app.wait(TimeDelta::days(5));
    main.use_by(&app).await;

    let changed = put(&main, json!({ "rotation_interval_days": 10 })).await;

    assert_eq!(changed["rotation_interval_days"], 10);
    assert_eq!(changed["status"], "active");
    let away = next(&changed) - app.clock.now();
    assert!((away - TimeDelta::days(5)).abs() <= TimeDelta::hours(1), "{away}");
    // The new interval is already over, so the next rotation is due now, and not in the past.
    let changed = put(&main, json!({ "rotation_interval_days": 1 })).await;
    assert_eq!(next(&changed), app.clock.now());
}

async fn both_can_change_at_once(app: App) {
    let main = Rotated::create(&app, "alice").await;

    let changed = put(&main, json!({ "rotation_interval_days": 7, "status": "paused" })).await;

    assert_eq!(
        [&changed["rotation_interval_days"], &changed["status"]],
        [&json!(7), &json!("paused")]
    );
    let resumed = put(&main, json!({ "status": "active" })).await;
    let away = next(&resumed) - app.clock.now();
    assert!((away - TimeDelta::days(7)).abs() <= TimeDelta::hours(1), "{away}");
}

async fn the_interval_of_a_paused_rotation_can_change(app: App) {
    let main = Rotated::create(&app, "alice").await;
    put(&main, json!({ "status": "paused" })).await;

    let changed = put(&main, json!({ "rotation_interval_days": 7 })).await;

    assert_eq!(changed["status"], "paused");
    let resumed = put(&main, json!({ "status": "active" })).await;
    let away = next(&resumed) - app.clock.now();
    assert!((away - TimeDelta::days(7)).abs() <= TimeDelta::hours(1), "{away}");
}

async fn a_rotation_in_error_can_be_paused_and_resumed(app: App) {
    let main = Rotated::create(&app, "alice").await;
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);
    main.rotate().await;
    assert_eq!(main.shown().await["status"], "error");

    assert_eq!(put(&main, json!({ "status": "paused" })).await["status"], "paused");
    let resumed = put(&main, json!({ "status": "active" })).await;

    assert_eq!(resumed["status"], "active");
    assert_eq!(resumed.get("error_message"), None);
    let away = next(&resumed) - app.clock.now();
    assert!((away - TimeDelta::days(30)).abs() <= TimeDelta::hours(1), "{away}");
}

async fn a_rotation_in_error_can_be_resumed(app: App) {
    let main = Rotated::create(&app, "alice").await;
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);
    main.rotate().await;

    let resumed = put(&main, json!({ "status": "active" })).await;

    assert_eq!(resumed["status"], "active");
    assert_eq!(resumed.get("error_message"), None);
}

async fn an_invalid_change_is_refused_and_changes_nothing(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let before = main.shown().await;
    let cases = [
        ("rotation_interval_days", json!({ "rotation_interval_days": 0 })),
        ("rotation_interval_days", json!({ "rotation_interval_days": 366 })),
        ("rotation_interval_days", json!({ "rotation_interval_days": "7" })),
        ("rotation_interval_days", json!({ "status": "paused", "rotation_interval_days": 400 })),
        ("status", json!({ "status": "disabled" })),
        ("status", json!({ "status": "error" })),
        ("status", json!({ "status": "kvc_status" })),
        ("status", json!({})),
        ("status", json!({ "status": null })),
        ("body", json!({ "name": "other" })),
        ("body", json!({ "status": "paused", "connection": { "host": "evil.example.com" } })),
    ];

    for (field, body) in cases {
        let reply = main.person.put(&main.path, &body).await;
        assert!(!reply.is(400).names(field).text().contains("kvc_"), "{}", reply.text());
    }
    assert_eq!(main.shown().await, before);
}

async fn an_unknown_rotation_is_not_changed(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let path = paths::rotation(&main.project, "staging", "none");

    main.person.put(&path, &json!({ "status": "paused" })).await.is(404).says("rotation not found");
}

async fn changes_are_recorded_by_their_kind(app: App) {
    let main = Rotated::create(&app, "alice").await;

    put(&main, json!({ "rotation_interval_days": 7 })).await;
    put(&main, json!({ "status": "paused" })).await;
    put(&main, json!({ "status": "active" })).await;

    for (action, days, status) in [
        ("rotation.updated", 7, "active"),
        ("rotation.paused", 7, "paused"),
        ("rotation.resumed", 7, "active"),
    ] {
        let entry = app.entry(&main.person.team, action).await;
        let details: Value = serde_json::from_str(&entry.metadata).unwrap();
        assert_eq!(details, json!({ "rotation_interval_days": days, "status": status }));
    }
}

in_memory_and_on_postgres![
    a_pause_keeps_the_time_that_is_left,
    pausing_and_resuming_twice_is_the_same_as_once,
    an_interval_is_counted_from_the_last_rotation,
    both_can_change_at_once,
    the_interval_of_a_paused_rotation_can_change,
    a_rotation_in_error_can_be_paused_and_resumed,
    a_rotation_in_error_can_be_resumed,
    an_invalid_change_is_refused_and_changes_nothing,
    an_unknown_rotation_is_not_changed,
    changes_are_recorded_by_their_kind,
];
