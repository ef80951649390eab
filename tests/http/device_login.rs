//! Tests of the device login of a command-line client. One HTTP client stands for the command line,
//! another for the user who approves the login.

mod page;

use chrono::TimeDelta;
use secrets_core::engine::Options;
use secrets_core::model::Role;
use secrets_core::retention;
use secrets_tests::{App, Build, Client, Kind, Reply, on_every_store, paths};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const CLI: &str = "/api/v1/auth/cli";

/// Starts a device login as a command-line client, and returns the response with its codes.
async fn start(app: &App) -> Value {
    let body = json!({
        "client_id": "cli", "client_name": "secrets 1.0", "hostname": "laptop", "os": "linux",
    });
    app.anonymous().post(&format!("{CLI}/device"), &body).await.is(200).json()
}

async fn poll(app: &App, login: &Value) -> Reply {
    let body =
        json!({ "grant_type": GRANT, "device_code": login["device_code"], "client_id": "cli" });
    app.anonymous().post(&format!("{CLI}/token"), &body).await
}

async fn decide(person: &Client, decision: &str, login: &Value) -> Reply {
    let body = json!({ "user_code": login["user_code"] });
    person.post(&format!("{CLI}/{decision}"), &body).await
}

/// Creates a command-line session by a device login that the user `person` approves. Returns a
/// client with the credential of the session, and the response that contained this credential.
pub(super) async fn session(app: &App, person: &Client) -> (Client, Value) {
    let login = start(app).await;
    decide(person, "approve", &login).await.is(200);
    let granted = poll(app, &login).await.is(200).json();
    (app.bearer(granted["access_token"].as_str().unwrap()), granted)
}

async fn an_approved_client_acts_as_its_user(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "production", "KEY", "kvc_device").await;

    let login = start(&app).await;
    assert_eq!((&login["expires_in"], &login["interval"]), (&json!(600), &json!(5)));
    let page = format!("http://{}/device", app.address);
    assert_eq!(login["verification_uri"], page);
    let complete = format!("{page}?user_code={}", login["user_code"].as_str().unwrap());
    assert_eq!(login["verification_uri_complete"], complete);
    poll(&app, &login).await.is(400).says("authorization_pending");
    let code = login["user_code"].as_str().unwrap().replace('-', "").to_lowercase();
    let asking = alice.get(&format!("{CLI}/device/{code}")).await.is(200).json();
    assert_eq!(asking["client_name"], "secrets 1.0");
    assert_eq!(asking["hostname"], "laptop");
    assert_eq!(asking["os"], "linux");
    assert_eq!(asking["ip_address"], "127.0.0.1");
    assert_eq!(asking["status"], "pending");
    assert_eq!(decide(&alice, "approve", &login).await.is(200).json()["status"], "approved");

    let granted = poll(&app, &login).await.is(200).json();
    assert_eq!(granted["token_type"], "Bearer");
    assert_eq!(granted["expires_in"], 30 * 24 * 60 * 60);
    assert_eq!(granted["user"]["email"], "alice@example.com");
    let token = granted["access_token"].as_str().unwrap();
    assert!(token.starts_with("cli_") && token.len() == 53);
    let client = app.bearer(token);
    assert_eq!(client.get("/api/v1/users/me").await.is(200).json()["id"], alice.id.as_str());
    client.get(&paths::secret(&web, "production", "KEY")).await.is(200);
    client.get(&paths::eso_secret("web", "production", "KEY")).await.is(403);
    let entry = app.entry(&alice.team, "cli.authorized").await;
    assert_eq!(entry.resource_name.as_deref(), Some("laptop"));
}

async fn a_login_is_denied(app: App) {
    let (alice, login) = (app.person("alice").await, start(&app).await);

    assert_eq!(decide(&alice, "deny", &login).await.is(200).json()["status"], "denied");

    poll(&app, &login).await.is(400).says("access_denied");
    decide(&alice, "approve", &login).await.is(404);
    app.entry(&alice.team, "cli.denied").await;
}

async fn a_code_gives_one_session_however_many_ask(app: App) {
    let (alice, login) = (app.person("alice").await, start(&app).await);
    decide(&alice, "approve", &login).await.is(200);
    let mut asking = JoinSet::new();
    for _ in 0..64 {
        let client = app.anonymous();
        let body =
            json!({ "grant_type": GRANT, "device_code": login["device_code"], "client_id": "cli" });
        asking.spawn(async move { client.post(&format!("{CLI}/token"), &body).await });
    }

    let replies = asking.join_all().await;

    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 1);
    for reply in replies.iter().filter(|reply| reply.status != 200) {
        reply.is(400).says("invalid_grant");
    }
    let sessions = alice.get(&format!("{CLI}/sessions")).await.is(200).json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
}

async fn one_of_many_decisions_counts(app: App) {
    let login = start(&app).await;
    let mut deciding = JoinSet::new();
    for number in 0..32 {
        let person = app.person(&format!("p{number}")).await;
        let login = login.clone();
        let decision = if number % 2 == 0 { "approve" } else { "deny" };
        deciding.spawn(async move { decide(&person, decision, &login).await.status });
    }

    let mut statuses = deciding.join_all().await;

    statuses.sort_unstable();
    assert_eq!(statuses[0], 200);
    assert!(statuses[1..].iter().all(|status| *status == 404), "{statuses:?}");
}

async fn a_client_that_polls_too_often_is_slowed_down(app: App) {
    let login = start(&app).await;

    poll(&app, &login).await.is(400).says("authorization_pending");
    app.wait(TimeDelta::seconds(4));
    poll(&app, &login).await.is(400).says("slow_down");
    // The interval is now ten seconds instead of five.
    app.wait(TimeDelta::seconds(6));
    poll(&app, &login).await.is(400).says("slow_down");
    app.wait(TimeDelta::seconds(15));
    poll(&app, &login).await.is(400).says("authorization_pending");
}

async fn codes_end_after_ten_minutes(app: App) {
    let (alice, login) = (app.person("alice").await, start(&app).await);
    app.wait(TimeDelta::minutes(10));

    decide(&alice, "approve", &login).await.is(404);
    poll(&app, &login).await.is(400).says("expired_token");
    let code = login["user_code"].as_str().unwrap();
    alice.get(&format!("{CLI}/device/{code}")).await.is(404);
}

async fn another_grant_is_refused_with_an_oauth_error(app: App) {
    let client = app.anonymous();
    for (body, error) in [
        (json!({}), "invalid_request"),
        (json!({ "grant_type": GRANT, "client_id": "cli" }), "invalid_request"),
        (
            json!({ "grant_type": "password", "device_code": "x", "client_id": "cli" }),
            "unsupported_grant_type",
        ),
        (json!({ "grant_type": GRANT, "device_code": "x", "client_id": "web" }), "invalid_client"),
        (json!({ "grant_type": GRANT, "device_code": "x", "client_id": "cli" }), "invalid_grant"),
    ] {
        let reply = client.post(&format!("{CLI}/token"), &body).await;
        reply.is(400).says(error);
        assert!(reply.json()["error_description"].is_string());
    }
    for body in ["{", "[]", r#"{"device_code":7}"#] {
        let reply = client.raw("POST".parse().unwrap(), &format!("{CLI}/token"), &[], body).await;
        assert_eq!(reply.is(400).json()["error"], "invalid_request", "{body}");
    }
    client.post(&format!("{CLI}/device"), &json!({ "client_id": "web" })).await.is(400);
    let long = json!({ "client_id": "cli", "hostname": "h".repeat(101) });
    client.post(&format!("{CLI}/device"), &long).await.is(400).names("hostname");
}

async fn an_approval_ends_with_a_right_of_its_user(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let path = format!("/api/v1/teams/{}/members/{}", alice.team, bob.id);
    let approved = async || {
        let login = start(&app).await;
        decide(&bob, "approve", &login).await.is(200);
        login
    };
    app.join(&alice.team, &bob.id, Role::Admin).await;

    let login = approved().await;
    alice.patch(&path, &json!({ "role": "member" })).await.is(200);
    poll(&app, &login).await.is(400).says("invalid_grant");

    let login = approved().await;
    alice.delete(&path).await.is(204);
    poll(&app, &login).await.is(400).says("invalid_grant");

    let login = approved().await;
    poll(&app, &login).await.is(200);
}

async fn a_client_may_send_forms(app: App) {
    let (alice, client) = (app.person("alice").await, app.anonymous());
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    let path = format!("{CLI}/device");

    let login = client.raw("POST".parse().unwrap(), &path, &kind, "client_id=cli&os=linux").await;
    let login = login.is(200).json();
    decide(&alice, "approve", &login).await.is(200);
    let code = login["device_code"].as_str().unwrap();
    let body = format!("grant_type={GRANT}&client_id=cli&device_code={code}");

    let path = format!("{CLI}/token");
    client.raw("POST".parse().unwrap(), &path, &kind, body).await.is(200);
}

async fn guessed_codes_are_throttled_by_person(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let login = start(&app).await;
    for guess in ["BCDF-GHJK", "BCDF-GHJL", "nonsense", "BCDF-GHJM", "BCDF-GHJN"] {
        alice.get(&format!("{CLI}/device/{guess}")).await.is(404);
    }

    let refused = decide(&alice, "approve", &login).await;

    refused.is(429).code("rate_limited");
    assert!(refused.number("retry-after") > 0);
    decide(&bob, "approve", &login).await.is(200);
    app.wait(TimeDelta::minutes(1));
    decide(&alice, "approve", &login).await.is(404);
}

async fn sessions_are_listed_and_revoked_by_their_person_only(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (client, _) = session(&app, &alice).await;
    app.wait(TimeDelta::seconds(1));
    let (other, _) = session(&app, &alice).await;

    let list = client.get(&format!("{CLI}/sessions")).await.is(200).json();
    let sessions = list["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["hostname"], "laptop");
    assert_eq!((&sessions[0]["current"], &sessions[1]["current"]), (&json!(true), &json!(false)));
    assert!(!list.to_string().contains("access_token"));
    let second = json!({ "id": sessions[1]["id"] });
    bob.post(&format!("{CLI}/revoke"), &second).await.is(404);
    other.get("/api/v1/users/me").await.is(200);
    alice.post(&format!("{CLI}/revoke"), &second).await.is(204);
    other.get("/api/v1/users/me").await.is(401);
    // A request without an ID revokes the session of the caller.
    client.raw("POST".parse().unwrap(), &format!("{CLI}/revoke"), &[], "").await.is(204);
    client.get("/api/v1/users/me").await.is(401);
    alice.post(&format!("{CLI}/revoke"), &json!({})).await.is(400).names("id");
}

async fn revoking_the_other_sessions_ends_approved_logins(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (client, _) = session(&app, &alice).await;
    let (login, pending, theirs) = (start(&app).await, start(&app).await, start(&app).await);
    decide(&alice, "approve", &login).await.is(200);
    decide(&bob, "approve", &theirs).await.is(200);

    let revoked = alice.delete("/api/v1/auth/sessions").await.is(200).json();

    assert_eq!(revoked, json!({ "revoked": 1 }));
    client.get("/api/v1/users/me").await.is(401);
    poll(&app, &login).await.is(400).says("invalid_grant");
    let sessions = alice.get(&format!("{CLI}/sessions")).await.is(200).json();
    assert_eq!(sessions["sessions"], json!([]));
    poll(&app, &theirs).await.is(200);
    decide(&alice, "approve", &pending).await.is(200);
    poll(&app, &pending).await.is(200);
}

async fn a_session_lasts_thirty_days_and_through_a_restart(app: App) {
    let alice = app.person("alice").await;
    let (_, granted) = session(&app, &alice).await;
    let token = granted["access_token"].as_str().unwrap().to_owned();
    app.wait(TimeDelta::days(30) - TimeDelta::seconds(1));
    let app = app.restarted().await;

    app.bearer(&token).get("/api/v1/users/me").await.is(200);
    app.wait(TimeDelta::seconds(1));
    app.bearer(&token).get("/api/v1/users/me").await.is(401).code("token_expired");
    let entry = app.entry(&alice.team, "cli.used_denied").await;
    assert_eq!(entry.actor_id.map(|id| id.to_string()), Some(alice.id.clone()));
    assert_eq!(entry.outcome, "denied");
    retention::delete_ended_logins(app.service.engine()).await.unwrap();
    app.bearer(&token).get("/api/v1/users/me").await.is(401);
}

async fn a_session_cannot_approve_a_login(app: App) {
    let alice = app.person("alice").await;
    let (client, _) = session(&app, &alice).await;

    decide(&client, "approve", &start(&app).await).await.is(403);
}

async fn a_session_does_not_make_its_user_an_operator(kind: Kind) {
    let options = Options { operators: vec!["ops@example.com".to_owned()], ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let ops = app.person("ops").await;
    let (client, _) = session(&app, &ops).await;
    let (path, free) = (format!("/api/v1/teams/{}/billing", ops.team), json!({ "plan": "free" }));

    let only = "only the operator of this service may do this, with a token of the identity \
                provider: if you are the operator, sign in again";
    client.put(&path, &free).await.is(403).says(only);
    ops.put(&path, &free).await.is(200);
}

async fn a_session_and_its_person_are_counted_as_one(kind: Kind) {
    let app = Build::on(kind).rates(0, 6).start().await;
    let alice = app.person("alice").await;
    let login = start(&app).await;
    decide(&alice, "approve", &login).await.is(200);
    let granted = poll(&app, &login).await.is(200).json();
    let client = app.bearer(granted["access_token"].as_str().unwrap());

    let left = client.get("/api/v1/users/me").await.number("x-ratelimit-remaining");

    assert_eq!(left, alice.get("/api/v1/users/me").await.number("x-ratelimit-remaining") + 1);
}

on_every_store!(
    an_approved_client_acts_as_its_user,
    a_login_is_denied,
    a_code_gives_one_session_however_many_ask,
    one_of_many_decisions_counts,
    a_client_that_polls_too_often_is_slowed_down,
    codes_end_after_ten_minutes,
    another_grant_is_refused_with_an_oauth_error,
    an_approval_ends_with_a_right_of_its_user,
    a_client_may_send_forms,
    guessed_codes_are_throttled_by_person,
    sessions_are_listed_and_revoked_by_their_person_only,
    revoking_the_other_sessions_ends_approved_logins,
    a_session_lasts_thirty_days_and_through_a_restart,
    a_session_cannot_approve_a_login;
    a_session_does_not_make_its_user_an_operator,
    a_session_and_its_person_are_counted_as_one,
);
