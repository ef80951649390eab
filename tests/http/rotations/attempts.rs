//! Tests of rotation attempts that take a long time, and of requests that wait for them.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use secrets_core::model::Clock as _;
use secrets_core::ports::rotators::Timings;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Build, Kind, Rotated, on_every_store, until};
use serde_json::{Value, json};

/// Starts a server on which a request waits at most this number of seconds for a rotation.
/// Rotations run a thousand times faster in tests, so the real limit is this number of
/// milliseconds.
async fn waiting(kind: Kind, seconds: u64) -> App {
    let timings = Timings { budget: Duration::from_secs(seconds), ..Timings::default() };
    Build::on(kind).timings(timings).start().await
}

/// Waits until the service has called the function `call` of the fake database, such as `apply`.
async fn called(app: &App, call: &str) {
    until(call, async || app.database.calls().contains(&call)).await;
}

async fn a_database_that_never_answers_is_waited_for_45_seconds(kind: Kind) {
    let app = waiting(kind, 45).await;
    let main = Rotated::create(&app, "alice").await;
    app.database.script("apply", [Script::Hang]);
    let begun = Instant::now();

    let entry = main.rotate().await;

    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let message = "the database took longer than 45 seconds, so the attempt was stopped";
    assert_eq!([&entry["status"], &entry["error_message"]], ["failed", message]);
    let shown = main.shown().await;
    assert_eq!([&shown["status"], &shown["error_message"]], ["active", message]);
    assert_eq!(main.history().await, [entry]);
}

async fn the_served_credential_works_after_a_timeout_and_the_next_attempt_succeeds(kind: Kind) {
    for call in ["apply", "verify"] {
        let app = waiting(kind, 5_000).await;
        let main = Rotated::create(&app, "alice").await;
        main.succeed().await;
        let before = main.served().await;
        app.database.script(call, [Script::Hang]);

        assert_eq!(main.rotate().await["status"], "failed", "{call}");

        assert_eq!(main.served().await, before, "{call}");
        main.works(&app).await;
        main.succeed().await;
        assert_ne!(main.served().await.0, before.0, "{call}");
        main.works(&app).await;
    }
}

async fn concurrent_requests_share_an_attempt(kind: Kind) {
    let app = waiting(kind, 5_000).await;
    let main = Rotated::create(&app, "alice").await;
    app.database.script("apply", [Script::Hang]);
    // The four later requests reach the time limit at the same time.
    let later = async {
        called(&app, "apply").await;
        let others = (main.rotate(), main.rotate(), main.rotate(), main.rotate());
        <[Value; 4]>::from(tokio::join!(others.0, others.1, others.2, others.3))
    };

    let (first, others) = tokio::join!(main.rotate(), later);

    assert!(others.iter().all(|other| *other == first), "{first} {others:#?}");
    assert_eq!(first["status"], "failed");
    assert_eq!(main.history().await, [first]);
    let entries = app.audit(&main.person.team).await;
    let begun = entries.iter().filter(|entry| entry.action == "rotation.started");
    let joined: Vec<Value> = begun.map(|e| serde_json::from_str(&e.metadata).unwrap()).collect();
    assert_eq!(joined.len(), 5);
    assert_eq!(joined.iter().filter(|details| details["joined"] == json!(true)).count(), 4);
}

async fn an_attempt_that_waits_an_hour_after_a_failure_ends_at_the_time_limit(kind: Kind) {
    let timings = Timings { budget: Duration::from_secs(45), ..Timings::default() };
    let app = Build::on(kind).timings(timings).without_workers().start().await;
    let main = Rotated::create(&app, "alice").await;
    let (rotation, now) = (main.record(&app).await.id, app.clock.now());
    let mut tx = app.store.begin().await.unwrap();
    let lease = tx.acquire_lease(rotation, now, now + TimeDelta::hours(1)).await.unwrap();
    tx.commit().await.unwrap();
    assert!(lease.is_some());

    let entry = main.rotate().await;

    let message = "the database took longer than 45 seconds, so the attempt was stopped";
    assert_eq!([&entry["status"], &entry["error_message"]], ["failed", message]);
    assert_eq!(app.database.calls(), [""; 0]);
    let mut tx = app.store.begin().await.unwrap();
    let lease = tx.acquire_lease(rotation, now, now + TimeDelta::hours(1)).await.unwrap();
    assert!(lease.is_some(), "the lease was not released");
}

async fn a_client_that_hangs_up_stops_nothing(kind: Kind) {
    let app = waiting(kind, 2_000).await;
    let main = Rotated::create(&app, "alice").await;
    app.database.script("apply", [Script::Hang]);

    tokio::select! {
        _ = main.rotate() => panic!("the request was answered"),
        () = called(&app, "apply") => {}
    }

    until("the attempt ends", async || !main.history().await.is_empty()).await;
    assert_eq!(main.history().await[0]["status"], "failed");
}

on_every_store![;
    a_database_that_never_answers_is_waited_for_45_seconds,
    the_served_credential_works_after_a_timeout_and_the_next_attempt_succeeds,
    concurrent_requests_share_an_attempt,
    an_attempt_that_waits_an_hour_after_a_failure_ends_at_the_time_limit,
    a_client_that_hangs_up_stops_nothing,
];
