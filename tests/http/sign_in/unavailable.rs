//! Tests of identity providers that do not respond, or respond with errors.

use std::time::{Duration, Instant};

use secrets_tests::{Kind, TokenAnswer};
use serde_json::json;

use super::{begin, serve, starts_no_session};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unavailable_provider_gives_an_error_page() {
    let (app, provider) = serve(Kind::Memory).await;
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;
    let (fresh, other) = serve(Kind::Memory).await;
    drop((provider, other));

    for (reply, step) in [
        (browser.arrive(&back).await, "callback"),
        (fresh.browser().open("/sign-in").await, "begin"),
    ] {
        assert_eq!(reply.status, 503, "{step}");
        starts_no_session(&reply);
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(reply.header("retry-after").is_some(), "{step}");
        assert!(reply.text().contains(reply.header("x-request-id").unwrap()), "{step}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_endpoint_that_answers_nonsense_starts_no_session() {
    let (app, provider) = serve(Kind::Memory).await;
    let huge = json!({ "id_token": "x".repeat(2_000_000) }).to_string();

    for (status, body, expected) in [
        (200, "<!doctype html><title>kvc_html</title>".to_owned(), 503),
        (200, huge, 503),
        (200, "[]".to_owned(), 503),
        (200, "{}".to_owned(), 403),
        (200, r#"{"id_token": 1}"#.to_owned(), 503),
        (200, r#"{"id_token": "kvc_nonsense"}"#.to_owned(), 403),
        (400, r#"{"error": "invalid_grant", "error_description": "kvc_x"}"#.to_owned(), 403),
        (401, r#"{"error": "invalid_client"}"#.to_owned(), 403),
        (302, String::new(), 503),
        (500, String::new(), 503),
    ] {
        let mut browser = app.browser();
        let back = begin(&mut browser, &provider, "/").await;
        provider.answer(TokenAnswer::Other(status, body.clone().into()));
        let reply = browser.arrive(&back).await;
        let shown = body.chars().take(60).collect::<String>();
        assert_eq!(reply.status, expected, "{status} {shown}");
        starts_no_session(&reply);
        assert!(!reply.text().contains("kvc_"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_token_endpoint_is_given_up() {
    let (app, provider) = serve(Kind::Memory).await;
    let mut browser = app.browser();
    let back = begin(&mut browser, &provider, "/").await;
    provider.answer(TokenAnswer::Silence);

    let began = Instant::now();
    let reply = browser.arrive(&back).await;

    starts_no_session(reply.is(503));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_of_the_provider_are_urls() {
    for (field, value) in [
        ("authorization_endpoint", json!(null)),
        ("authorization_endpoint", json!("javascript:alert(1)")),
        ("authorization_endpoint", json!("/auth")),
        ("issuer", json!("https://evil.example")),
    ] {
        let (app, provider) = serve(Kind::Memory).await;
        provider.discovery(field, value.clone());
        let reply = app.browser().open("/sign-in").await;
        assert_eq!(reply.status, 503, "{field} {value}");
        assert!(reply.header("location").is_none());
    }
}
