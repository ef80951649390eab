//! Tests of service tokens that are created or rotated with the credential of a command-line
//! session.

use chrono::TimeDelta;
use secrets_tests::{App, Client, Person, Reply, in_memory_and_on_postgres};
use serde_json::{Value, json};

use super::{Owned, TOKENS};
use crate::device_login;

/// Requests a service token that expires after `days` days, or never if `None`. Returns the reply.
async fn create(client: &Client, person: &Person, days: Option<u32>) -> Reply {
    let body = json!({
        "name": "ci", "team_id": person.team, "all_projects": true, "expires_in_days": days,
    });
    client.post(TOKENS, &body).await
}

fn is_marked(reply: &Reply) -> bool {
    reply.json()["outlives_session"].as_bool().unwrap()
}

/// Asserts that the request for the token was refused because it needs an approval, and that the
/// error names the page for the approval.
fn is_refused(reply: &Reply) {
    let reply = reply.is(403).code("approval_required").json();
    assert!(reply["error"].as_str().unwrap().contains("/device"), "{reply}");
}

async fn details(app: &App, person: &Person, action: &str) -> Value {
    let entry = app.entry(&person.team, action).await;
    serde_json::from_str(&entry.metadata).unwrap()
}

async fn a_session_makes_a_token_that_outlives_it_soon_after_its_approval_only(app: App) {
    let alice = app.person("alice").await;
    let (session, _) = device_login::session(&app, &alice).await;

    let endless = create(&session, &alice, None).await;
    assert!(is_marked(endless.is(201)));
    assert_eq!(details(&app, &alice, "token.created").await["outlives_session"], true);
    app.wait(TimeDelta::minutes(15));
    assert!(is_marked(create(&session, &alice, Some(31)).await.is(201)));

    app.wait(TimeDelta::seconds(1));
    is_refused(&create(&session, &alice, None).await);
    is_refused(&create(&session, &alice, Some(31)).await);

    let (again, _) = device_login::session(&app, &alice).await;
    assert!(is_marked(create(&again, &alice, None).await.is(201)));
    let listed = alice.get(TOKENS).await.is(200).json();
    let marks: Vec<_> = listed["tokens"].as_array().unwrap().iter().collect();
    assert_eq!(marks.len(), 3);
    assert!(marks.iter().all(|token| token["outlives_session"] == true));
}

async fn a_token_that_ends_before_the_session_needs_no_approval(app: App) {
    let alice = app.person("alice").await;
    let (session, _) = device_login::session(&app, &alice).await;
    app.wait(TimeDelta::hours(1));

    let short = create(&session, &alice, Some(29)).await;

    assert!(!is_marked(short.is(201)));
    let path = format!("{TOKENS}/{}/rotate", short.id());
    assert!(!is_marked(session.post(&path, &json!({})).await.is(200)));
    let created = details(&app, &alice, "token.created").await;
    assert_eq!(created.get("outlives_session"), None);
}

async fn a_token_that_ends_together_with_the_session_does_not_outlive_it(app: App) {
    let alice = app.person("alice").await;
    let (session, _) = device_login::session(&app, &alice).await;

    let equal = create(&session, &alice, Some(30)).await;

    assert!(!is_marked(equal.is(201)));
}

async fn a_person_with_another_credential_needs_no_approval(app: App) {
    let owned = Owned::of(&app, &json!({})).await;

    assert_eq!(owned.listed().await["outlives_session"], false);
}

async fn a_session_that_rotates_a_long_token_needs_an_approval_too(app: App) {
    let owned = Owned::of(&app, &json!({})).await;
    let (session, _) = device_login::session(&app, &owned.person).await;
    let path = format!("{TOKENS}/{}/rotate", owned.id);

    assert!(is_marked(session.post(&path, &json!({})).await.is(200)));
    assert_eq!(details(&app, &owned.person, "token.rotated").await["outlives_session"], true);
    app.wait(TimeDelta::minutes(16));
    is_refused(&session.post(&path, &json!({})).await);
    // The user rotates the token, so the session did not receive the current token string.
    assert_eq!(owned.rotate(&json!({})).await["outlives_session"], false);
    assert_eq!(owned.listed().await["outlives_session"], false);
}

async fn a_refusal_is_in_the_audit_log_and_creates_nothing(app: App) {
    let alice = app.person("alice").await;
    let (session, _) = device_login::session(&app, &alice).await;
    app.wait(TimeDelta::minutes(16));

    is_refused(&create(&session, &alice, None).await);

    let entry = app.entry(&alice.team, "token.created").await;
    assert_eq!(entry.outcome, "denied");
    assert_eq!(alice.get(TOKENS).await.is(200).json()["tokens"], json!([]));
}

in_memory_and_on_postgres!(
    a_session_makes_a_token_that_outlives_it_soon_after_its_approval_only,
    a_token_that_ends_before_the_session_needs_no_approval,
    a_token_that_ends_together_with_the_session_does_not_outlive_it,
    a_person_with_another_credential_needs_no_approval,
    a_session_that_rotates_a_long_token_needs_an_approval_too,
    a_refusal_is_in_the_audit_log_and_creates_nothing,
);
