//! Tests of stopping the server program.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::program::{Program, folder, jwt};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_under_way_is_answered_before_the_end() {
    let mut program = Program::serve("stop", &folder("stop").join("secrets.db")).start();
    let client = program.bearer(&jwt("alice"));
    client.post("/api/v1/auth/sync", &json!({})).await.is(200);
    let requests: Vec<_> = (0..32)
        .map(|number| {
            let client = client.clone();
            let body = json!({ "name": format!("Project {number}") });
            tokio::spawn(async move { client.try_post("/api/v1/projects", &body).await })
        })
        .collect();
    // Some requests are running, and others are not yet sent. The service may refuse unsent
    // requests, but must not cut off a response.
    tokio::time::sleep(Duration::from_millis(15)).await;

    let status = tokio::task::spawn_blocking(move || program.terminate(Duration::from_secs(15)))
        .await
        .unwrap();

    assert_eq!(status.code(), Some(0));
    for request in requests {
        if let Some(reply) = request.await.unwrap() {
            reply.is(201);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_accepted_during_the_shutdown_delay_while_health_is_503() {
    let program = Program::serve("stop_delayed", &folder("stop_delayed").join("secrets.db"));
    let mut program = program.with("SECRETS_SHUTDOWN_DELAY", "8").start();
    let client = program.bearer(&jwt("alice"));
    client.post("/api/v1/auth/sync", &json!({})).await.is(200);
    assert_eq!(client.get("/health").await.is(200).json()["checks"]["running"], "ok");

    let began = Instant::now();
    program.stop();

    let mut health = client.get("/health").await;
    while health.status == 200 {
        health = client.get("/health").await;
    }
    assert_eq!(health.is(503).json()["checks"]["running"], "fail");
    client.get("/health/live").await.is(200);
    let project = client.post("/api/v1/projects", &json!({ "name": "Late" })).await;
    assert_eq!(project.is(201).header("connection"), Some("close"));
    let status = tokio::task::spawn_blocking(move || program.wait(Duration::from_secs(30)));
    assert_eq!(status.await.unwrap().code(), Some(0));
    assert!(began.elapsed() >= Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn a_program_that_says_it_listens_can_be_stopped() {
    let mut program =
        Program::serve("stop_early", &folder("stop_early").join("secrets.db")).start();

    let status = program.terminate(Duration::from_secs(15));

    assert_eq!(status.code(), Some(0), "{status}");
}
