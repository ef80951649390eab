//! Tests of scheduled work on rotations: running due rotations, locking the previous database user
//! after its grace period, and checking that a login with the current credential still succeeds.

use chrono::TimeDelta;
use secrets_core::model::Clock as _;
use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Rotated, flipped, on_every_store, postgresql};
use serde_json::{Value, json};

async fn a_due_rotation_runs_without_a_user(app: App) {
    let mut main = Rotated::create(&app, "alice").await;

    app.wait(TimeDelta::days(30) + TimeDelta::hours(1));
    main.settle(&app).await;

    main.use_by(&app).await;
    let history = main.history().await;
    assert_eq!(history.len(), 1);
    assert_eq!([&history[0]["status"], &history[0]["trigger_type"]], ["success", "scheduled"]);
    assert_eq!(history[0].get("triggered_by"), None);
    assert_eq!(main.shown().await["last_rotation_at"], "2026-12-21T13:00:10Z");
    main.works(&app).await;
}

async fn a_rotation_that_is_not_due_does_not_run(app: App) {
    let mut main = Rotated::create(&app, "alice").await;

    app.wait(TimeDelta::days(29));
    main.settle(&app).await;

    main.use_by(&app).await;
    assert!(main.history().await.is_empty());
    assert_eq!(app.database.calls(), [""; 0]);
}

async fn an_immediate_rotation_runs_at_once(app: App) {
    let mut body = postgresql("main-db");
    body["rotate_immediately"] = json!(true);
    let main = Rotated::create_as(&app, "alice", &body).await;

    main.settle(&app).await;

    assert_eq!(main.history().await.len(), 1);
    main.works(&app).await;
}

async fn a_paused_rotation_does_not_run(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.person.put(&main.path, &json!({ "status": "paused" })).await.is(200);

    app.wait(TimeDelta::days(400));
    main.settle(&app).await;

    main.use_by(&app).await;
    assert!(main.history().await.is_empty());
}

async fn the_previous_credential_works_for_a_day_and_no_longer(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let previous = main.served().await;
    main.succeed().await;

    app.wait(TimeDelta::hours(24) - TimeDelta::seconds(1));
    main.settle(&app).await;
    assert!(app.database.admits(&previous.0, &previous.1), "its grace period is a day");
    app.wait(TimeDelta::seconds(1));
    main.settle(&app).await;

    assert!(!app.database.admits(&previous.0, &previous.1), "its grace period has ended");
    main.use_by(&app).await;
    main.works(&app).await;
    let entry = app.entry(&main.person.team, "rotation.retired").await;
    assert_eq!(entry.actor_type, "system");
    assert_eq!(
        [entry.project_name.as_deref(), entry.environment_name.as_deref()],
        [Some("Shop"), Some("staging")]
    );
}

async fn a_grace_is_at_most_half_an_interval(app: App) {
    let mut body = postgresql("main-db");
    body["rotation_interval_days"] = json!(1);
    let main = Rotated::create_as(&app, "alice", &body).await;
    main.succeed().await;
    let previous = main.served().await;
    main.succeed().await;

    app.wait(TimeDelta::hours(12));
    main.settle(&app).await;

    assert!(!app.database.admits(&previous.0, &previous.1));
    main.works(&app).await;
}

async fn a_login_that_could_not_be_disabled_is_disabled_later(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let previous = main.served().await;
    main.succeed().await;
    app.database.script("lock", [Script::Fail(Fault::Unreachable)]);
    app.wait(TimeDelta::hours(24));
    main.settle(&app).await;
    assert!(app.database.admits(&previous.0, &previous.1));

    app.wait(TimeDelta::minutes(5));
    main.settle(&app).await;

    assert!(!app.database.admits(&previous.0, &previous.1));
    main.use_by(&app).await;
    main.works(&app).await;
}

async fn a_login_that_cannot_be_disabled_for_a_day_is_reported(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let previous = main.served().await;
    main.succeed().await;
    app.database.script("lock", [Script::Fail(Fault::Unreachable); 3]);
    for hours in [24, 23] {
        app.wait(TimeDelta::hours(hours));
        main.settle(&app).await;
        main.use_by(&app).await;
        assert_eq!(main.shown().await.get("error_message"), None, "it is tried again");
    }

    app.wait(TimeDelta::hours(1));
    main.settle(&app).await;
    main.use_by(&app).await;

    let shown = main.shown().await;
    let message = shown["error_message"].as_str().unwrap();
    assert!(message.contains(&previous.0) && message.contains("for a day"), "{message}");
    assert!(message.contains(Fault::Unreachable.sentence()), "{message}");
    assert_eq!(shown["status"], "active");
    let entry = app.entry(&main.person.team, "rotation.retire_failed").await;
    assert_eq!(entry.actor_type, "system");
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(details["code"], Fault::Unreachable.code());
    app.wait(TimeDelta::hours(1));
    main.settle(&app).await;
    assert!(app.database.admits(&previous.0, &previous.1), "it is not tried again");

    main.succeed().await;
    assert!(!app.database.admits(&previous.0, &previous.1), "the rotation replaces the password");
    assert_eq!(main.shown().await.get("error_message"), None);
}

async fn a_credential_changed_outside_of_the_service_is_replaced(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let (username, password) = main.served().await;
    app.database.drift(&username);
    assert!(!app.database.admits(&username, &password));

    app.wait(TimeDelta::minutes(1));
    main.settle(&app).await;

    assert_ne!(main.served().await.0, username);
    main.works(&app).await;
    let history = main.history().await;
    assert_eq!([&history[0]["status"], &history[0]["trigger_type"]], ["success", "scheduled"]);
    let shown = main.shown().await;
    assert_eq!(shown["status"], "active");
    assert_eq!(shown.get("error_message"), None);
    app.entry(&main.person.team, "rotation.drifted").await;
}

/// Makes an attempt fail with an error after which the service starts no attempt by itself.
async fn fence(app: &App, main: &Rotated) {
    app.database.script("apply", [Script::Fail(Fault::Fenced)]);
    assert_eq!(main.rotate().await["status"], "failed");
    assert_eq!(main.shown().await["error_message"], Fault::Fenced.sentence());
}

async fn a_failed_check_keeps_an_error_that_needs_a_user(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    fence(&app, &main).await;
    app.database.drift(&main.served().await.0);

    for _ in 0..3 {
        app.wait(TimeDelta::days(2));
        main.settle(&app).await;
    }

    main.use_by(&app).await;
    assert_eq!(main.history().await.len(), 2, "no attempt starts by itself");
    let shown = main.shown().await;
    assert_eq!([&shown["status"], &shown["error_message"]], ["error", Fault::Fenced.sentence()]);
    let actions = app.actions(&main.person.team).await;
    assert!(actions.contains(&"rotation.drifted".to_owned()), "{actions:?}");
}

async fn a_login_that_cannot_be_disabled_keeps_an_error_that_needs_a_user(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.succeed().await;
    fence(&app, &main).await;
    app.database.script("lock", [Script::Fail(Fault::Unreachable); 2]);

    for _ in 0..2 {
        app.wait(TimeDelta::hours(24));
        main.settle(&app).await;
    }

    main.use_by(&app).await;
    app.entry(&main.person.team, "rotation.retire_failed").await;
    let shown = main.shown().await;
    assert_eq!([&shown["status"], &shown["error_message"]], ["error", Fault::Fenced.sentence()]);
}

async fn records_that_cannot_be_decrypted_do_not_keep_a_rotation_from_its_other_work(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.succeed().await;
    let mut record = main.record(&app).await;
    record.settings.connection = flipped(&record.settings.connection, 40);
    let mut tx = app.store.begin().await.unwrap();
    tx.update_rotation(&record).await.unwrap();
    tx.commit().await.unwrap();

    // Three kinds of work are due: disabling the previous credential, the check, and the next
    // attempt.
    app.wait(TimeDelta::days(31));
    main.settle(&app).await;

    main.use_by(&app).await;
    let message = "the stored records of this rotation cannot be decrypted";
    let history = main.history().await;
    assert_eq!([&history[0]["status"], &history[0]["error_message"]], ["failed", message]);
    assert_eq!(main.shown().await["status"], "error");
    app.entry(&main.person.team, "rotation.retire_failed").await;
    let found = app.failing().await;
    assert!(found.iter().any(|(kind, _, _)| kind == "rotation record"), "{found:?}");
    let record = main.record(&app).await;
    assert_eq!(record.slots.retire_at, None);
    assert!(record.slots.check_at.is_some_and(|at| at > app.clock.now()));
}

async fn a_credential_that_cannot_be_tried_is_not_replaced(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    app.database.script("verify", [Script::Fail(Fault::Unreachable)]);

    app.wait(TimeDelta::minutes(1));
    main.settle(&app).await;

    assert_eq!(main.history().await.len(), 1);
    assert_eq!(main.shown().await.get("error_message"), None);
}

async fn a_paused_rotation_reports_a_credential_changed_outside_of_the_service(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.person.put(&main.path, &json!({ "status": "paused" })).await.is(200);
    app.database.drift(&main.served().await.0);

    app.wait(TimeDelta::minutes(1));
    main.settle(&app).await;

    let shown = main.shown().await;
    assert_eq!(shown["status"], "paused");
    let message = shown["error_message"].as_str().unwrap();
    assert!(message.contains("it was changed outside of this service"), "{message}");
    assert_eq!(main.history().await.len(), 1);
}

async fn an_error_is_retried_once_a_day_for_30_days(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    app.database.script("apply", [Script::Fail(Fault::Privilege); 31]);
    main.rotate().await;

    for _ in 0..29 {
        app.wait(TimeDelta::days(1));
        main.settle(&app).await;
    }
    main.use_by(&app).await;
    assert_eq!(main.history().await.len(), 30);
    assert_eq!(main.shown().await["status"], "error");
    app.wait(TimeDelta::days(1));
    main.settle(&app).await;
    main.use_by(&app).await;
    assert_eq!(main.shown().await["status"], "disabled");
    app.wait(TimeDelta::days(30));
    main.settle(&app).await;

    main.use_by(&app).await;
    assert_eq!(main.history().await.len(), 31);
}

async fn actions_of_the_service_are_recorded_as_its_own(app: App) {
    let main = Rotated::create(&app, "alice").await;
    app.wait(TimeDelta::days(30) + TimeDelta::hours(1));
    main.settle(&app).await;

    for action in ["rotation.started", "rotation.completed"] {
        let entry = app.entry(&main.person.team, action).await;
        assert_eq!((entry.actor_type.as_ref(), entry.actor_id), ("system", None));
        assert_eq!(entry.resource_name.as_deref(), Some("main-db"));
        let details: Value = serde_json::from_str(&entry.metadata).unwrap();
        assert_eq!(
            [&details["version"], &details["trigger_type"]],
            [&json!(1), &json!("scheduled")]
        );
    }
}

on_every_store![
    a_due_rotation_runs_without_a_user,
    a_rotation_that_is_not_due_does_not_run,
    an_immediate_rotation_runs_at_once,
    a_paused_rotation_does_not_run,
    the_previous_credential_works_for_a_day_and_no_longer,
    a_grace_is_at_most_half_an_interval,
    a_login_that_could_not_be_disabled_is_disabled_later,
    a_login_that_cannot_be_disabled_for_a_day_is_reported,
    a_credential_changed_outside_of_the_service_is_replaced,
    a_failed_check_keeps_an_error_that_needs_a_user,
    a_login_that_cannot_be_disabled_keeps_an_error_that_needs_a_user,
    records_that_cannot_be_decrypted_do_not_keep_a_rotation_from_its_other_work,
    a_credential_that_cannot_be_tried_is_not_replaced,
    a_paused_rotation_reports_a_credential_changed_outside_of_the_service,
    an_error_is_retried_once_a_day_for_30_days,
    actions_of_the_service_are_recorded_as_its_own,
];
