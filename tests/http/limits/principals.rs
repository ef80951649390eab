//! Tests of the rate limit for requests with a valid credential: 60 requests per minute from a user
//! or service token.

use chrono::{DateTime, TimeDelta};
use hyper::Method;
use secrets_tests::{App, Build, Client, Kind, Reply, in_memory};
use serde_json::json;

const ME: &str = "/api/v1/users/me";

/// Returns the Unix time of 12:01:00, when the next minute of the rate limit begins. The clock of a
/// test server starts at 12:00:10.
fn next_minute() -> i64 {
    DateTime::parse_from_rfc3339("2026-11-21T12:01:00Z").unwrap().timestamp()
}

/// Starts a server that allows a user three requests per minute. Its limit for IP addresses is too
/// high to take effect.
async fn three_a_minute(kind: Kind) -> App {
    Build::on(kind).rates(1_000, 3).start().await
}

async fn asks(client: &Client, times: usize) -> Reply {
    let mut reply = client.get(ME).await;
    for _ in 1..times {
        reply = client.get(ME).await;
    }
    reply
}

fn window(reply: &Reply) -> [i64; 3] {
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]
        .map(|name| reply.number(name))
}

async fn the_61st_request_of_a_minute_is_429(kind: Kind) {
    let app = Build::on(kind).rates(100, 60).start().await;
    let alice = app.person("alice").await;

    let last = asks(&alice, 59).await;
    let over = alice.get(ME).await;

    assert_eq!(window(last.is(200)), [60, 0, next_minute()]);
    let error = "rate limit exceeded, try again later";
    assert_eq!(over.is(429).json(), json!({ "error": error, "code": "rate_limited" }));
    assert_eq!(window(&over), [60, 0, next_minute()]);
    assert_eq!(over.header("retry-after"), Some("50"));
}

async fn every_answer_has_the_state_of_the_window(kind: Kind) {
    let app = Build::on(kind).rates(100, 60).start().await;
    let alice = app.bearer(&app.jwt("alice"));
    let too_large = vec![b' '; 1_048_577];

    let replies = [
        (200, alice.post("/api/v1/auth/sync", &json!({})).await),
        (404, alice.get("/api/v1/nothing").await),
        (405, alice.delete("/api/v1/teams").await),
        (400, alice.post("/api/v1/teams", &json!({})).await),
        (400, alice.get("/api/v1//teams").await),
        (413, alice.raw(Method::POST, "/api/v1/teams", &[], too_large).await),
        (403, alice.get("/api/v1/eso/secrets").await),
        (201, alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await),
    ];

    for (remaining, (status, reply)) in (0..60).rev().zip(replies) {
        assert_eq!(window(reply.is(status)), [60, remaining, next_minute()]);
    }
}

async fn a_window_begins_with_the_minute(kind: Kind) {
    let app = three_a_minute(kind).await;
    let alice = app.person("alice").await;
    asks(&alice, 2).await.is(200);

    app.wait(TimeDelta::milliseconds(49_999));
    let end = alice.get(ME).await;
    app.wait(TimeDelta::milliseconds(1));
    let begin = alice.get(ME).await;

    assert_eq!(end.is(429).header("retry-after"), Some("1"));
    assert_eq!(window(begin.is(200)), [3, 2, next_minute() + 60]);
}

async fn a_retry_after_the_given_time_succeeds(kind: Kind) {
    let app = three_a_minute(kind).await;
    let alice = app.person("alice").await;
    app.wait(TimeDelta::milliseconds(500));

    let over = asks(&alice, 3).await;
    app.wait(TimeDelta::seconds(over.is(429).number("retry-after")));

    alice.get(ME).await.is(200);
}

async fn a_person_is_counted_once_whatever_token_they_send(kind: Kind) {
    let app = three_a_minute(kind).await;
    let alice = app.person("alice").await;
    app.wait(TimeDelta::seconds(1));
    let elsewhere = app.bearer(&app.jwt("alice"));

    alice.get(ME).await.is(200);
    elsewhere.get(ME).await.is(200);

    alice.get(ME).await.is(429);
    elsewhere.get(ME).await.is(429);
}

/// Checks that the first sign-in and later requests are counted for the same user.
async fn a_person_is_counted_the_same_before_and_after_signing_in(kind: Kind) {
    let app = three_a_minute(kind).await;
    let alice = app.bearer(&app.jwt("alice"));

    alice.get(ME).await.is(404);
    alice.post("/api/v1/auth/sync", &json!({})).await.is(200);

    assert_eq!(window(alice.get(ME).await.is(200)), [3, 0, next_minute()]);
    alice.get(ME).await.is(429);
}

async fn people_and_tokens_are_counted_apart(kind: Kind) {
    let app = three_a_minute(kind).await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let one = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let two = app.bearer(&bob.token(&json!({ "all_projects": true })).await);

    asks(&one, 3).await.is(200);
    asks(&one, 1).await.is(429);

    asks(&two, 3).await.is(200);
    asks(&alice, 1).await.is(200);
    asks(&bob, 1).await.is(200);
}

/// Checks that a change that the rate limit refused was not made.
async fn a_request_over_the_limit_changes_nothing(kind: Kind) {
    let app = three_a_minute(kind).await;
    let alice = app.person("alice").await;
    asks(&alice, 2).await.is(200);

    alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(429);
    app.wait(TimeDelta::minutes(1));

    let teams = alice.get("/api/v1/teams").await.is(200).json();
    assert_eq!(teams["teams"].as_array().unwrap().len(), 1);
}

async fn without_limits_there_are_no_headers(app: App) {
    let alice = app.person("alice").await;

    let replies = [alice.get(ME).await, app.anonymous().get("/health").await];

    for reply in replies {
        assert!(!reply.headers.keys().any(|name| name.as_str().starts_with("x-ratelimit")));
    }
}

in_memory![
    without_limits_there_are_no_headers;
    the_61st_request_of_a_minute_is_429,
    every_answer_has_the_state_of_the_window,
    a_window_begins_with_the_minute,
    a_retry_after_the_given_time_succeeds,
    a_person_is_counted_once_whatever_token_they_send,
    a_person_is_counted_the_same_before_and_after_signing_in,
    people_and_tokens_are_counted_apart,
    a_request_over_the_limit_changes_nothing,
];
