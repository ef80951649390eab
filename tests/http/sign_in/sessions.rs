//! Tests of requests with a session cookie, and of listing and revoking sessions.

use chrono::TimeDelta;
use hyper::Method;
use secrets_core::engine::Caller;
use secrets_core::model::{Identity, Origin};
use secrets_core::sessions::StartBrowserSession;
use secrets_core::tokens;
use secrets_tests::{App, Browser, Kind, Reply, Watch, in_memory_and_on_postgres};
use serde_json::json;

use super::{serve, sign_in, user};

const ME: &str = "/api/v1/users/me";
const SESSIONS: &str = "/api/v1/auth/sessions";
const OWN_HOST: (&str, &str) = ("host", "secrets.test");
const SAME_ORIGIN: (&str, &str) = ("sec-fetch-site", "same-origin");

/// Maximum time to wait for an event or for the end of a stream, in seconds. The server checks the
/// session every second.
const SOON: u64 = 20;

/// Starts a server and signs a user in with a browser. Returns the server, the browser and the
/// value of its `Cookie` header.
async fn signed_in(kind: Kind) -> (App, Browser, String) {
    let (app, provider) = serve(kind).await;
    let mut browser = app.browser();
    sign_in(&mut browser, &provider).await;
    let cookie = format!("__Host-session={}", browser.cookie("__Host-session").unwrap());
    (app, browser, cookie)
}

/// Requests the signed-in user (`GET /api/v1/users/me`) with this `Cookie` header and additional
/// headers.
async fn request(app: &App, cookie: &str, headers: &[(&str, &str)]) -> Reply {
    let mut sent = vec![("cookie", cookie)];
    sent.extend_from_slice(headers);
    app.anonymous().raw(Method::GET, ME, &sent, "").await
}

#[tokio::test]
async fn a_script_of_the_service_is_authenticated_by_the_cookie() {
    let (app, mut browser, cookie) = signed_in(Kind::Memory).await;

    browser.follow(ME).await.is(200);
    // Browsers without Fetch Metadata send this header.
    request(&app, &cookie, &[OWN_HOST, ("x-secrets-page", "1")]).await.is(200);
}

#[tokio::test]
async fn a_cookie_of_a_request_that_another_site_can_cause_is_ignored() {
    let (app, _, cookie) = signed_in(Kind::Memory).await;
    let refused: &[&[(&str, &str)]] = &[
        &[OWN_HOST],
        &[OWN_HOST, ("sec-fetch-site", "cross-site")],
        &[OWN_HOST, ("sec-fetch-site", "same-site")],
        &[OWN_HOST, ("sec-fetch-site", "none")],
        &[OWN_HOST, ("sec-fetch-site", "cross-site"), ("x-secrets-page", "1")],
        &[OWN_HOST, SAME_ORIGIN, ("sec-fetch-mode", "navigate")],
        &[("host", "rebound.example"), SAME_ORIGIN],
        &[("host", "secrets.test:8080"), SAME_ORIGIN],
    ];

    for headers in refused {
        assert_eq!(request(&app, &cookie, headers).await.status, 401, "{headers:?}");
    }
}

#[tokio::test]
async fn an_authorization_header_goes_before_the_cookie() {
    let (app, browser, cookie) = signed_in(Kind::Memory).await;
    let session = browser.cookie("__Host-session").unwrap();

    for bearer in [format!("Bearer {session}"), "Bearer nonsense".to_owned()] {
        let headers = [OWN_HOST, SAME_ORIGIN, ("authorization", bearer.as_str())];
        request(&app, &cookie, &headers).await.is(401);
    }
}

#[tokio::test]
async fn the_endpoints_of_the_operator_accept_no_cookie() {
    let (_app, mut browser, _) = signed_in(Kind::Memory).await;

    for path in ["/api/v1/eso/secret", "/api/v1/eso/secrets"] {
        browser.follow(&format!("{path}?project=web&env=staging&key=KEY")).await.is(401);
    }
}

#[tokio::test]
async fn an_ended_session_does_not_bar_its_address() {
    let (app, _, _) = signed_in(Kind::Memory).await;
    let ended = format!("__Host-session=web_{}", "a".repeat(43));

    for _ in 0..25 {
        request(&app, &ended, &[OWN_HOST, SAME_ORIGIN]).await.is(401);
    }
    let person = app.person("neighbour").await;

    person.get(ME).await.is(200);
}

#[tokio::test]
async fn signing_out_ends_the_session_and_deletes_the_cookie() {
    let (app, mut browser, cookie) = signed_in(Kind::Memory).await;

    let reply = browser.submit("/api/v1/auth/sign-out", &[]).await;

    reply.is(204);
    assert_eq!(reply.header("clear-site-data"), Some(r#""cache", "storage""#));
    assert_eq!(browser.cookie("__Host-session"), None);
    request(&app, &cookie, &[OWN_HOST, SAME_ORIGIN]).await.is(401);
}

#[tokio::test]
async fn the_sessions_of_browsers_end_with_the_account() {
    let (app, mut browser, cookie) = signed_in(Kind::Memory).await;
    let email = browser.follow(ME).await.is(200).json()["email"].clone();
    let headers =
        [OWN_HOST, SAME_ORIGIN, ("cookie", &cookie), ("content-type", "application/json")];
    let body = json!({ "confirm": email }).to_string();

    app.anonymous().raw(Method::DELETE, "/api/v1/account", &headers, body).await.is(204);

    request(&app, &cookie, &[OWN_HOST, SAME_ORIGIN]).await.is(401);
}

async fn a_session_ends_for_the_next_request(kind: Kind) {
    let (app, mut browser, cookie) = signed_in(kind).await;
    let list = browser.follow(SESSIONS).await.is(200).json();
    let own = &list["sessions"][0];
    assert_eq!((&own["kind"], &own["current"]), (&json!("browser"), &json!(true)));
    let path = format!("{SESSIONS}/{}", own["id"].as_str().unwrap());

    let person = app.person("outsider").await;
    person.delete(&path).await.is(404);
    let headers = [("cookie", cookie.as_str()), OWN_HOST, SAME_ORIGIN];
    app.anonymous().raw(Method::DELETE, &path, &headers, "").await.is(204);

    browser.follow(ME).await.is(401);
}

async fn the_other_sessions_are_revoked_at_once(kind: Kind) {
    let (app, provider) = serve(kind).await;
    let (mut kept, mut other) = (app.browser(), app.browser());
    sign_in(&mut kept, &provider).await;
    sign_in(&mut other, &provider).await;
    let cookie = format!("__Host-session={}", kept.cookie("__Host-session").unwrap());
    let headers = [("cookie", cookie.as_str()), OWN_HOST, SAME_ORIGIN];
    other.follow(ME).await.is(200);

    let reply = app.anonymous().raw(Method::DELETE, SESSIONS, &headers, "").await;

    assert_eq!(reply.is(200).json()["revoked"], 1);
    other.follow(ME).await.is(401);
    kept.follow(ME).await.is(200);
}

async fn a_further_session_ends_the_one_that_was_not_used_for_the_longest_time(kind: Kind) {
    let (app, mut first, _) = signed_in(kind).await;
    let identity = user(&app, &first).await;
    let start = async || {
        app.clock.advance(TimeDelta::milliseconds(1));
        let identity = Identity::new(&identity.issuer, &identity.subject, &identity.email);
        let task = StartBrowserSession { identity, user_agent: None };
        app.service.run(&Caller::anonymous(Origin::default()), task).await.unwrap();
    };
    for _ in 0..99 {
        start().await;
    }
    first.follow(ME).await.is(200);

    app.clock.advance(TimeDelta::minutes(2));
    first.follow(ME).await.is(200);
    tokens::write_uses(app.service.engine()).await.unwrap();
    start().await;

    let list = first.follow(SESSIONS).await.is(200).json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 100);
}

async fn a_session_ends_when_it_is_not_used(kind: Kind) {
    let (app, mut browser, _) = signed_in(kind).await;

    for _ in 0..3 {
        app.clock.advance(TimeDelta::minutes(58));
        browser.follow(ME).await.is(200);
    }
    app.clock.advance(TimeDelta::minutes(61));

    browser.follow(ME).await.is(401);
}

async fn a_session_ends_12_hours_after_the_sign_in(kind: Kind) {
    let (app, mut browser, _) = signed_in(kind).await;

    for _ in 0..14 {
        app.clock.advance(TimeDelta::minutes(50));
        browser.follow(ME).await.is(200);
    }
    app.clock.advance(TimeDelta::minutes(21));

    browser.follow(ME).await.is(401);
}

/// Creates a project with the session of a browser, and opens the event stream of the project.
/// Returns the path of the project, and the stream after its first events.
async fn watched_project(app: &App, cookie: &str) -> (String, Watch) {
    let own = [("cookie", cookie), OWN_HOST, SAME_ORIGIN];
    let headers = [&own[..], &[("content-type", "application/json")]].concat();
    let body = json!({ "name": "Web" }).to_string();
    let created = app.anonymous().raw(Method::POST, "/api/v1/projects", &headers, body).await;
    let path = format!("/api/v1/projects/{}", created.is(201).json()["id"].as_str().unwrap());
    let mut watch = app.anonymous().watch(&format!("{path}/watch"), &own).await;
    assert_eq!(watch.status(), 200);
    for _environment in ["development", "staging", "production"] {
        assert!(watch.next_event(SOON).await.is_some());
    }
    (path, watch)
}

async fn a_browser_watches_until_its_session_ends(kind: Kind) {
    let (app, mut browser, cookie) = signed_in(kind).await;
    let (project, mut watch) = watched_project(&app, &cookie).await;
    // The session is checked several times.
    assert!(watch.is_silent(2).await);

    let headers =
        [("cookie", &*cookie), OWN_HOST, SAME_ORIGIN, ("content-type", "application/json")];
    let secret = json!({ "key": "KEY", "value": "kvc_value" }).to_string();
    let path = format!("{project}/environments/staging/secrets");
    app.anonymous().raw(Method::POST, &path, &headers, secret).await.is(201);
    assert!(watch.next_event(SOON).await.unwrap().contains("staging"));

    browser.submit("/api/v1/auth/sign-out", &[]).await.is(204);
    assert_eq!(watch.next_event(SOON).await, None);
}

async fn a_watch_is_no_use_of_a_session(kind: Kind) {
    let (app, _, cookie) = signed_in(kind).await;
    let (_, mut watch) = watched_project(&app, &cookie).await;
    app.clock.advance(TimeDelta::minutes(50));
    assert!(watch.is_silent(2).await);

    app.clock.advance(TimeDelta::minutes(20));

    while watch.next_event(SOON).await.is_some() {}
    request(&app, &cookie, &[OWN_HOST, SAME_ORIGIN]).await.is(401);
}

in_memory_and_on_postgres!(;
    a_browser_watches_until_its_session_ends,
    a_watch_is_no_use_of_a_session,
    a_session_ends_for_the_next_request,
    the_other_sessions_are_revoked_at_once,
    a_further_session_ends_the_one_that_was_not_used_for_the_longest_time,
    a_session_ends_when_it_is_not_used,
    a_session_ends_12_hours_after_the_sign_in
);
