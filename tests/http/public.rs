//! Tests of endpoints that need no credential, and of properties of all responses, such as headers
//! and error bodies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::DateTime;
use hyper::Method;
use secrets_core::engine::{Engine, Job, Schedule, Worker};
use secrets_tests::{
    App, Build, CAUSE, Failing, Kind, Outage, STARTED, canary, in_memory, on_every_store, paths,
};
use serde_json::json;

async fn health_is_200_ok_while_everything_works(app: App) {
    let reply = app.anonymous().get("/health").await;

    let health = reply.is(200).json();
    let checks = json!({
        "audit": "ok", "database": "ok", "encryption": "ok", "running": "ok", "scheduler": "ok",
    });
    assert_eq!(
        health,
        json!({
            "status": "ok",
            "service": "secrets",
            "version": env!("CARGO_PKG_VERSION"),
            "build_time": health["build_time"],
            "checks": checks,
            "workers": health["workers"],
            "failing": [],
            "failing_total": 0,
            "rate_limits": "per_node",
        })
    );
    assert!(DateTime::parse_from_rfc3339(health["build_time"].as_str().unwrap()).is_ok());
}

async fn health_is_503_degraded_while_the_database_does_not_answer(app: App) {
    let outage = Outage::of(&app.store);
    // A health check shares a ping that runs already. Background workers could have started one
    // before the outage.
    let app = app.with_time_limits_over(outage.clone()).await;

    outage.begin(Failing::Everything);
    let broken = app.anonymous().get("/health").await;
    outage.begin(Failing::Nothing);
    let whole = app.anonymous().get("/health").await;

    let health = broken.is(503).json();
    assert_eq!((&health["status"], &health["service"]), (&json!("degraded"), &json!("secrets")));
    assert_eq!(health["checks"]["database"], "fail");
    assert_eq!(health["checks"]["encryption"], "ok");
    assert!(health.get("error").is_none());
    assert_eq!(whole.is(200).json()["status"], "ok");
}

/// Checks that the process is reported as alive while its database fails. An orchestrator restarts
/// a process that is not alive, and a restart does not repair a database.
async fn a_process_is_alive_without_its_database(app: App) {
    let outage = Outage::of(&app.store);
    let app = app.over(outage.clone()).await;

    outage.begin(Failing::Everything);
    let reply = app.anonymous().get("/health/live").await;
    outage.begin(Failing::Nothing);

    assert_eq!(reply.is(200).json(), json!({ "status": "ok" }));
}

/// Background worker that starts to work and never completes.
struct Hanging;

#[async_trait]
impl Worker for Hanging {
    fn name(&self) -> &'static str {
        "hanging"
    }

    fn schedule(&self) -> Schedule {
        let stale_after = Duration::from_millis(100);
        Schedule { stale_after, ..Schedule::every(Duration::from_millis(5)) }
    }

    async fn jobs(&self, _: &Arc<Engine>, _: usize) -> secrets_core::Result<Vec<Job>> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn health_is_503_degraded_when_a_worker_has_stopped() {
    let began = Instant::now();
    let app = Build::on(Kind::Memory).workers(vec![Arc::new(Hanging)]).start().await;

    let mut reply = app.anonymous().get("/health").await;
    while reply.status == 200 {
        reply = app.anonymous().get("/health").await;
    }

    let health = reply.is(503).json();
    assert_eq!(health["status"], "degraded");
    assert_eq!(health["checks"]["scheduler"], "fail");
    let age = health["workers"][0]["age_seconds"].as_u64().unwrap();
    let hanging = json!({ "name": "hanging", "status": "fail", "age_seconds": age });
    assert_eq!(health["workers"], json!([hanging]));
    assert!(age <= began.elapsed().as_secs(), "{age}");
    // A restart would not help.
    app.anonymous().get("/health/live").await.is(200);
}

async fn the_greeting_has_a_message_the_version_of_the_interface_and_the_signer_of_bundles(
    app: App,
) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "bundle");
    let recipients = json!({ "recipients": [{ "type": "raw" }] });
    let bundle = alice.post(&path, &recipients).await.is(200).json();

    let reply = app.anonymous().get("/api/v1").await;

    let signer = &bundle["signer"];
    let expected = json!({ "message": "secrets API", "version": "1.0.0", "bundle_signer": signer });
    assert_eq!(reply.is(200).json(), expected);
}

async fn public_endpoints_ignore_credentials(app: App) {
    let client = app.bearer("nonsense");

    client.get("/health").await.is(200);
    client.get("/api/v1").await.is(200);
}

async fn an_unknown_path_is_404(app: App) {
    let paths = ["/api", "/api/v2/projects", "/api/v1/nothing", "/health/ready", "/metrics"];

    for path in paths {
        let reply = app.anonymous().get(path).await;

        let body = json!({ "error": "resource not found", "code": "not_found" });
        assert_eq!(reply.is(404).json(), body, "{path}");
    }
}

async fn another_method_is_405_with_the_allowed_methods(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;
    let cases = [
        (Method::POST, "/health".to_owned(), "GET, HEAD"),
        (Method::GET, "/api/v1/auth/sync".to_owned(), "POST"),
        (Method::PUT, "/api/v1/projects".to_owned(), "GET, HEAD, POST"),
        (Method::POST, project.clone(), "GET, HEAD, PATCH, DELETE"),
        (Method::PUT, paths::environment(&project, "staging"), "GET, HEAD, PATCH, DELETE"),
        (Method::PATCH, paths::secret(&project, "staging", "KEY"), "GET, HEAD, PUT, DELETE"),
        (Method::DELETE, "/api/v1/eso/secret".to_owned(), "GET, HEAD"),
        (Method::from_bytes(b"BREW").unwrap(), "/api/v1/teams".to_owned(), "GET, HEAD, POST"),
        (Method::TRACE, "/api/v1/teams".to_owned(), "GET, HEAD, POST"),
    ];

    for (method, path, allowed) in cases {
        let reply = alice.json(method, &path, &json!({})).await;

        let body = json!({ "error": "method not allowed", "code": "invalid_request" });
        assert_eq!(reply.is(405).json(), body, "{path}");
        assert_eq!(reply.header("allow"), Some(allowed), "{path}");
    }
}

async fn pages_of_other_origins_may_not_ask(app: App) {
    let headers = [("origin", "https://evil.example"), ("access-control-request-method", "GET")];

    let preflight = app.anonymous().raw(Method::OPTIONS, "/api/v1/projects", &headers, "").await;
    let request = app.anonymous().raw(Method::GET, "/api/v1", &headers, "").await;

    assert_eq!(preflight.is(405).header("allow"), Some("GET, HEAD, POST"));
    for reply in [preflight, request] {
        assert!(!reply.headers.keys().any(|name| name.as_str().starts_with("access-control")));
    }
}

async fn head_is_get_without_the_body(app: App) {
    let alice = app.person("alice").await;

    for path in ["/health", "/api/v1/users/me", "/api/v1/nothing"] {
        let get = alice.get(path).await;
        let head = alice.raw(Method::HEAD, path, &[], "").await;

        assert_eq!(head.status, get.status, "{path}");
        assert_eq!(head.header("content-type"), Some("application/json"), "{path}");
        assert_eq!(head.text(), "", "{path}");
    }
}

async fn every_body_is_json(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;
    alice.secret(&project, "staging", "KEY", &canary("json")).await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let secrets = paths::secrets(&project, "staging");

    let replies = [
        (200, alice.get(&secrets).await),
        (201, alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await),
        (400, alice.raw(Method::POST, "/api/v1/teams", &[], "{").await),
        (401, app.anonymous().get("/api/v1/teams").await),
        (403, token.get("/api/v1/teams").await),
        (404, alice.get("/api/v1/projects/none").await),
        (405, alice.delete("/api/v1/teams").await),
        (409, alice.post(&secrets, &json!({ "key": "KEY", "value": "kvc_again" })).await),
        (413, alice.raw(Method::POST, "/api/v1/teams", &[], vec![b' '; 1_048_577]).await),
    ];

    for (status, reply) in replies {
        assert_eq!(reply.is(status).header("content-type"), Some("application/json"));
        assert!(reply.json().is_object(), "{status}");
    }
}

async fn no_content_is_no_body(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;

    let reply = alice.delete(&project).await;

    assert_eq!((reply.is(204).text().as_str(), reply.header("content-type")), ("", None));
}

async fn every_answer_has_the_headers_that_protect_it(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;

    let replies = [
        app.anonymous().get("/health").await,
        alice.get("/api/v1/users/me").await,
        alice.delete(&project).await,
        alice.get("/api/v1/%2e%2e/health").await,
        app.anonymous().get("/api/v1/teams").await,
        app.anonymous().get("/api/v1/nothing").await,
        alice.delete("/api/v1/teams").await,
        alice.raw(Method::POST, "/api/v1/teams", &[], vec![b' '; 1_048_577]).await,
    ];

    for reply in replies {
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        let policy = "default-src 'none'; frame-ancestors 'none'";
        assert_eq!(reply.header("content-security-policy"), Some(policy));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-site"));
        assert_eq!(reply.header("server"), None);
        assert_eq!(reply.header("x-powered-by"), None);
        assert_eq!(reply.header("strict-transport-security"), None, "this is not TLS");
    }
}

async fn every_answer_has_an_id_of_its_own(app: App) {
    let asked = [("x-request-id", "mine")];

    let mut ids = Vec::new();
    for path in ["/health", "/api/v1/teams", "/api/v1/nothing"] {
        let reply = app.anonymous().raw(Method::GET, path, &asked, "").await;
        ids.push(reply.header("x-request-id").unwrap().to_owned());
    }

    for id in &ids {
        assert_eq!((id.len(), &id[14..15]), (36, "7"), "{id} is not a UUID of version 7");
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

async fn times_are_utc_in_rfc_3339_and_ids_are_uuids(app: App) {
    let alice = app.person("alice").await;

    let team = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).json();

    assert_eq!(team["created_at"], STARTED);
    let id = team["id"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15]), (36, "7"));
}

async fn an_error_is_an_object_with_a_text_and_a_code(app: App) {
    let alice = app.person("alice").await;

    let unknown = alice.get("/api/v1/projects/none").await;
    let invalid = alice.post("/api/v1/teams", &json!({ "name": "" })).await;

    let body = json!({ "error": "project not found", "code": "not_found" });
    assert_eq!(unknown.is(404).json(), body);
    let rule = "must be 1 to 100 characters without control or invisible characters";
    assert_eq!(
        invalid.is(400).json(),
        json!({
            "error": format!("name {rule}"),
            "code": "invalid_request",
            "details": { "fields": [{ "field": "name", "message": rule }] },
        })
    );
}

async fn an_internal_error_is_500_without_its_cause(app: App) {
    let outage = Outage::of(&app.store);
    let broken = app.over(outage.clone()).await;

    outage.begin(Failing::Records);
    let reply = broken.bearer(&app.jwt("alice")).get("/api/v1/users/me").await;

    let body = json!({ "error": "internal error", "code": "internal" });
    assert_eq!(reply.is(500).json(), body);
    assert!(reply.header("retry-after").is_none() && !reply.text().contains(CAUSE));
}

async fn an_unreachable_store_is_503_with_retry_after(app: App) {
    let outage = Outage::of(&app.store);
    let broken = app.over(outage.clone()).await;

    outage.begin(Failing::Everything);
    let reply = broken.bearer(&app.jwt("alice")).get("/api/v1/users/me").await;

    let error = "the service is not available now, try again later";
    assert_eq!(reply.is(503).json(), json!({ "error": error, "code": "unavailable" }));
    assert_eq!(reply.header("retry-after"), Some("5"));
}

in_memory![
    the_greeting_has_a_message_the_version_of_the_interface_and_the_signer_of_bundles,
    public_endpoints_ignore_credentials,
    an_unknown_path_is_404,
    another_method_is_405_with_the_allowed_methods,
    pages_of_other_origins_may_not_ask,
    head_is_get_without_the_body,
    every_body_is_json,
    no_content_is_no_body,
    every_answer_has_the_headers_that_protect_it,
    every_answer_has_an_id_of_its_own,
    times_are_utc_in_rfc_3339_and_ids_are_uuids,
    an_error_is_an_object_with_a_text_and_a_code,
    an_internal_error_is_500_without_its_cause,
];

on_every_store![
    health_is_200_ok_while_everything_works,
    a_process_is_alive_without_its_database,
    health_is_503_degraded_while_the_database_does_not_answer,
    an_unreachable_store_is_503_with_retry_after,
];
