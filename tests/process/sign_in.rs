//! Tests of signing in with a real OpenID provider.

use std::time::Duration;

use serde_json::json;

use crate::program::{Program, Running, folder};
use crate::provider::{Provider, free_port};

const AUDIENCE: &str = "https://secrets.test";

/// Creates a command that runs this subcommand of the server program with the settings to trust the
/// identity tokens of this issuer. The program loads the issuer's public keys.
fn trusting(name: &str, command: &str, issuer: &str) -> Program {
    Program::configured(name, command, &folder(name).join("secrets.db"))
        .without("SECRETS_JWT_HS256_SECRET")
        .with("SECRETS_JWT_ISSUER", issuer)
        .with("SECRETS_JWT_AUDIENCE", AUDIENCE)
}

fn serve(name: &str, provider: &Provider) -> Running {
    trusting(name, "serve", &provider.issuer()).start()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_with_a_token_of_their_provider() {
    let provider = Provider::start(free_port(), &["1"]);
    let program = serve("sign_in", &provider);

    let client = program.bearer(&provider.token(AUDIENCE).await);
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();

    assert_eq!(user["external_id"], "alice");
    assert_eq!(user["email"], "alice@example.com");
    assert_eq!(user["name"], "Alice of the provider");
    client.get("/api/v1/users/me").await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_for_another_audience_is_refused() {
    let provider = Provider::start(free_port(), &["1"]);
    let program = serve("audience", &provider);

    let client = program.bearer(&provider.token("https://other.test").await);

    client.post("/api/v1/auth/sync", &json!({})).await.is(401).code("unauthorized");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_roll_over_without_a_refused_token() {
    let port = free_port();
    let provider = Provider::start(port, &["old"]);
    let program = serve("roll_over", &provider);
    let old = program.bearer(&provider.token(AUDIENCE).await);
    old.post("/api/v1/auth/sync", &json!({})).await.is(200);

    drop(provider);
    let provider = Provider::start(port, &["new", "old"]);
    let new = program.bearer(&provider.token(AUDIENCE).await);

    // The new key is unknown, so the key set is loaded at once; the old key is still published.
    new.get("/api/v1/users/me").await.is(200);
    old.get("/api/v1/users/me").await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cached_keys_are_used_while_the_provider_is_unavailable() {
    let provider = Provider::start(free_port(), &["1"]);
    let program = serve("away", &provider);
    let client = program.bearer(&provider.token(AUDIENCE).await);
    client.post("/api/v1/auth/sync", &json!({})).await.is(200);

    drop(provider);

    client.get("/api/v1/users/me").await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_was_never_reached_gives_503_and_not_401() {
    let provider = Provider::start(free_port(), &["1"]);
    let token = provider.token(AUDIENCE).await;
    let issuer = provider.issuer();
    drop(provider);
    let mut program = trusting("never", "serve", &issuer).start();

    let reply = program.bearer(&token).get("/api/v1/users/me").await;

    reply.is(503).code("unavailable");
    assert!(reply.header("retry-after").is_some());
    // The log is complete once the program has ended.
    program.terminate(Duration::from_secs(10));
    let log = std::fs::read_to_string(crate::program::log_path("never")).unwrap();
    assert!(log.contains("users cannot sign in until"), "{log}");
    assert!(log.contains(&issuer), "{log}");
}

#[test]
fn a_provider_that_cannot_be_reached_is_reported_by_check() {
    let issuer = format!("http://127.0.0.1:{}", free_port());

    let ended = trusting("unreachable", "check", &issuer).run();

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let expected = format!("the issuer cannot be reached, so users cannot sign in: {issuer}/");
    assert!(ended.stdout.starts_with(&expected), "{}", ended.stdout);
}
