//! Tests of interrupted rotation attempts: the process died during the attempt, or its lease on the
//! rotation ended, so that other processes consider it dead.

use chrono::TimeDelta;
use secrets_core::model::Clock as _;
use secrets_core::model::rotations::{Outcome, RotationStatus, Slot};
use secrets_core::rotations::{self, slot_user};
use secrets_tests::{App, Rotated, on_every_store, on_sql_stores, paths};
use serde_json::json;

/// Time after which the lease of a dead process on a rotation has ended, so that another process
/// may continue the attempt.
const LEASE: TimeDelta = TimeDelta::seconds(61);

/// Time after which the service tries to disable the login of a credential that is not in the
/// secrets.
const RETIRE: TimeDelta = TimeDelta::minutes(5);

/// Creates a rotation, runs it once successfully, and stops the server.
async fn served(app: &mut App) -> Rotated {
    let main = Rotated::create(app, "alice").await;
    main.succeed().await;
    app.stop().await;
    main
}

/// Starts a new server with the same records, and makes the clients in `main` send their requests
/// to it.
async fn restarted(app: &App, main: &mut Rotated) -> App {
    let restarted = app.restarted().await;
    main.use_by(&restarted).await;
    restarted
}

async fn an_interrupted_attempt_is_resumed_after_its_lease(mut app: App) {
    for call in ["apply", "verify"] {
        let mut main = served(&mut app).await;
        main.die_at(&app, call).await;
        app = restarted(&app, &mut main).await;
        main.works(&app).await;
        assert_eq!(main.history().await.len(), 1);

        app.wait(LEASE);
        main.settle(&app).await;

        let history = main.history().await;
        assert_eq!(history.len(), 2, "{call}");
        assert_eq!(history[0]["status"], "success", "{call}");
        main.works(&app).await;
        main.person.delete(&main.project).await.is(204);
    }
}

async fn an_attempt_is_resumed_with_the_unknown_result_of_its_last_command(mut app: App) {
    let main = served(&mut app).await;
    main.die_at(&app, "apply").await;
    app.wait(LEASE);

    main.die_at(&app, "apply").await;

    let rotation = main.record(&app).await.id;
    let open = app.store.read().await.unwrap().open_attempt(rotation).await.unwrap().unwrap();
    assert_eq!((open.resumed, open.error_code.as_deref()), (1, Some("interrupted")));
    app.wait(LEASE);
    main.settle(&app).await;
    assert_eq!(main.record(&app).await.failure.code, None);
}

async fn a_request_joins_an_interrupted_attempt(mut app: App) {
    let mut main = served(&mut app).await;
    main.die_at(&app, "apply").await;
    app.wait(LEASE);

    let entry = main.rotate_alone(&app).await;

    assert_eq!((entry.status, entry.version), (Outcome::Success, 2));
    let app = restarted(&app, &mut main).await;
    assert_eq!(main.history().await.len(), 2);
    main.works(&app).await;
}

async fn an_attempt_whose_worker_crashed_four_times_is_an_error(mut app: App) {
    let mut main = served(&mut app).await;
    for _ in 0..4 {
        main.die_at(&app, "apply").await;
        app.wait(LEASE);
    }

    let app = restarted(&app, &mut main).await;
    main.settle(&app).await;

    let shown = main.shown().await;
    let message = "the worker crashed four times during this attempt";
    assert_eq!([&shown["status"], &shown["error_message"]], ["error", message]);
    assert_eq!(main.history().await[0]["status"], "failed");
    // One of the commands may have run, so the login of the changed user is disabled later.
    assert!(main.record(&app).await.slots.retire_at.is_some());
    main.works(&app).await;
    main.succeed().await;
}

async fn the_login_that_a_crashed_attempt_changed_is_disabled_later(mut app: App) {
    let mut main = served(&mut app).await;
    for _ in 0..4 {
        main.die_at(&app, "verify").await;
        app.wait(LEASE);
    }

    main.settle(&app).await;

    let record = main.record(&app).await;
    let changed = slot_user(record.id, Slot::B);
    let retire_at = app.clock.now() + RETIRE;
    assert_eq!((record.status, record.slots.retire_at), (RotationStatus::Error, Some(retire_at)));
    assert!(!app.database.is_shut_out(&changed));
    app.wait(RETIRE);
    main.settle(&app).await;
    assert!(app.database.is_shut_out(&changed), "the login still works");
    let app = restarted(&app, &mut main).await;
    main.works(&app).await;
}

async fn a_rotation_paused_meanwhile_completes_and_stays_paused(mut app: App) {
    let mut main = served(&mut app).await;
    main.die_at(&app, "verify").await;
    let app = restarted(&app, &mut main).await;
    main.person.put(&main.path, &json!({ "status": "paused" })).await.is(200);

    app.wait(LEASE);
    main.settle(&app).await;

    assert_eq!(main.history().await[0]["status"], "success");
    assert_eq!(main.shown().await["status"], "paused");
    main.works(&app).await;
}

async fn an_attempt_is_rolled_back_if_its_project_is_deleted_meanwhile(mut app: App) {
    let mut main = served(&mut app).await;
    main.die_at(&app, "verify").await;
    let app = restarted(&app, &mut main).await;
    let before = main.served().await;
    main.person.delete(&main.project).await.is(204);

    app.wait(LEASE);
    main.settle(&app).await;

    let record = main.record(&app).await;
    let mut reads = app.store.read().await.unwrap();
    let attempt = reads.concluded_attempts(record.id, 1).await.unwrap().remove(0);
    drop(reads);
    assert_eq!(attempt.error_code.as_deref(), Some("deleted"));
    assert_eq!(record.status, RotationStatus::Disabled);
    main.person.post(&format!("{}/restore", main.project), &json!({})).await.is(200);
    let history = main.history().await;
    let message = "the project or the environment was deleted";
    assert_eq!([&history[0]["status"], &history[0]["error_message"]], ["rolled_back", message]);
    assert_eq!(main.shown().await["status"], "disabled");
    assert_eq!(main.served().await, before);
    main.works(&app).await;
}

async fn a_rotation_deleted_meanwhile_stays_deleted(mut app: App) {
    let mut main = served(&mut app).await;
    main.die_at(&app, "verify").await;
    let app = restarted(&app, &mut main).await;

    main.person.delete(&main.path).await.is(204);

    main.works(&app).await;
    app.wait(LEASE);
    assert!(rotations::claim_rotations(app.service.engine()).await.unwrap().is_empty());
    let again = secrets_tests::postgresql("again");
    main.person.post(&paths::rotations(&main.project, "staging"), &again).await.is(201);
}

/// Claims the due rotations and works on them, as the background worker does. Returns the number of
/// claimed rotations.
async fn worked_on(app: &App) -> usize {
    let claims = rotations::claim_rotations(app.service.engine()).await.unwrap();
    let count = claims.len();
    for claim in claims {
        rotations::work(app.service.engine(), claim).await;
    }
    count
}

async fn a_damaged_rotation_is_tried_again_with_growing_delays(mut app: App) {
    let main = Rotated::create(&app, "alice").await;
    app.stop().await;
    app.sql("UPDATE rotations SET keys = 'damaged'").await;
    app.wait(TimeDelta::days(31));
    drop(main);

    let mut delay = TimeDelta::minutes(1);
    for _ in 0..8 {
        assert_eq!(worked_on(&app).await, 1);
        app.wait(delay - TimeDelta::seconds(1));
        assert_eq!(worked_on(&app).await, 0, "{delay}");
        app.wait(TimeDelta::seconds(1));
        delay = (delay * 2).min(TimeDelta::hours(1));
    }
}

mod damaged {
    use super::*;

    on_sql_stores!(a_damaged_rotation_is_tried_again_with_growing_delays);
}

on_every_store![
    an_interrupted_attempt_is_resumed_after_its_lease,
    an_attempt_is_resumed_with_the_unknown_result_of_its_last_command,
    a_request_joins_an_interrupted_attempt,
    an_attempt_whose_worker_crashed_four_times_is_an_error,
    the_login_that_a_crashed_attempt_changed_is_disabled_later,
    a_rotation_paused_meanwhile_completes_and_stays_paused,
    an_attempt_is_rolled_back_if_its_project_is_deleted_meanwhile,
    a_rotation_deleted_meanwhile_stays_deleted,
];
