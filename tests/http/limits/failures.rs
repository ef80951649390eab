//! Tests of the limit for invalid credentials: after 20 requests with an invalid credential in a
//! minute, the IP address is blocked.

use chrono::TimeDelta;
use secrets_tests::{App, Build, Client, Kind, in_memory};
use serde_json::json;

const ME: &str = "/api/v1/users/me";

/// Starts a server that allows many requests from an IP address, so that only the limit for invalid
/// credentials can refuse a request.
async fn server(kind: Kind) -> App {
    Build::on(kind).rates(1_000, 60).start().await
}

async fn fails(client: &Client, times: usize) {
    for _ in 0..times {
        client.get(ME).await.is(401);
    }
}

async fn the_21st_failed_credential_of_a_minute_is_429(kind: Kind) {
    let app = server(kind).await;
    fails(&app.bearer("nonsense"), 19).await;
    fails(&app.bearer("env_nonsense"), 1).await;

    let reply = app.bearer("nonsense").get(ME).await;

    let error = "rate limit exceeded, try again later";
    assert_eq!(reply.is(429).json(), json!({ "error": error, "code": "rate_limited" }));
    assert_eq!(reply.header("retry-after"), Some("50"));
    app.wait(TimeDelta::seconds(50));
    fails(&app.bearer("nonsense"), 1).await;
}

/// Checks that after 20 invalid credentials, the server refuses a valid credential from the same
/// address too. Otherwise, a client could still find out which of many guessed credentials is
/// valid.
async fn a_valid_credential_is_refused_after_20_failures(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    let token = alice.token(&json!({ "all_projects": true })).await;
    fails(&app.bearer("nonsense"), 20).await;

    app.bearer(&token).get(ME).await.is(429);

    app.wait(TimeDelta::minutes(1));
    app.bearer(&token).get(ME).await.is(200);
}

/// Checks that the server still accepts a credential that it verified in the last minute, so that
/// one client with invalid credentials does not block other clients with the same IP address.
async fn a_recently_verified_credential_is_still_accepted(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    app.wait(TimeDelta::seconds(55));
    fails(&app.bearer("nonsense"), 20).await;

    alice.get(ME).await.is(200);

    app.bearer("nonsense").get(ME).await.is(429);
}

async fn a_missing_credential_is_no_failure(kind: Kind) {
    let app = server(kind).await;

    fails(&app.anonymous(), 30).await;

    app.bearer("nonsense").get(ME).await.is(401);
}

async fn where_addresses_are_not_limited_failures_are_not_counted(kind: Kind) {
    let app = Build::on(kind).rates(0, 60).start().await;

    fails(&app.bearer("nonsense"), 30).await;
}

async fn a_token_that_was_deleted_is_a_failure(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let id = token.get(ME).await.is(200).json()["id"].clone();
    alice.delete(&format!("/api/v1/tokens/{}", id.as_str().unwrap())).await.is(204);

    fails(&token, 20).await;

    app.bearer("nonsense").get(ME).await.is(429);
}

in_memory![
    ;
    the_21st_failed_credential_of_a_minute_is_429,
    a_valid_credential_is_refused_after_20_failures,
    a_recently_verified_credential_is_still_accepted,
    a_missing_credential_is_no_failure,
    where_addresses_are_not_limited_failures_are_not_counted,
    a_token_that_was_deleted_is_a_failure,
];
