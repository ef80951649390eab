//! Tests of invitations and roles with credentials that do not prove the current e-mail address of
//! their user, or that are valid for a long time, such as the sessions of command lines.

use chrono::TimeDelta;
use secrets_core::jwt::{DEV_AUDIENCE, DEV_ISSUER};
use secrets_core::model::{Clock as _, Role};
use secrets_tests::{App, Client, Person, Reply, in_memory_and_on_postgres};
use serde_json::json;

use super::{accept, invitations, invite, members, roles, team, token};
use crate::device_login;

const MINE: &str = "/api/v1/invitations";

/// Asserts that a request was refused because its credential does not prove the caller's e-mail
/// address.
fn needs_a_sign_in(reply: &Reply) {
    let body = reply.is(403).code("forbidden").json();
    let error = body["error"].as_str().unwrap();
    assert!(error.contains("a sign-in with the identity provider"), "{error}");
}

/// Asserts that a request was refused because the session was not approved recently, and that the
/// error names the page for the approval.
fn needs_an_approval(reply: &Reply) {
    let body = reply.is(403).code("approval_required").json();
    assert!(body["error"].as_str().unwrap().contains("/device"), "{body}");
}

async fn invite_as(client: &Client, person: &Person, name: &str, role: &str) -> Reply {
    let body = json!({ "email": format!("{name}@example.com"), "role": role });
    client.post(&members(person), &body).await
}

/// Sets the role of the user `to` in the personal team of `of`.
async fn give(client: &Client, of: &Person, to: &Person, role: &str) -> Reply {
    client.patch(&format!("{}/{}", members(of), to.id), &json!({ "role": role })).await
}

async fn a_command_line_session_sees_and_accepts_invitations_only_soon_after_its_start(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let invitation = token(&invite(&alice, "bob").await);
    let (session, _) = device_login::session(&app, &bob).await;

    app.wait(TimeDelta::minutes(15));
    assert_eq!(session.get(MINE).await.is(200).json().as_array().unwrap().len(), 1);
    app.wait(TimeDelta::seconds(1));
    needs_a_sign_in(&session.get(MINE).await);
    for token in [invitation.as_str(), "nonsense"] {
        needs_a_sign_in(&session.get(&format!("{MINE}/{token}")).await);
        needs_a_sign_in(&accept(&session, token).await);
    }

    let data = session.get("/api/v1/account/data-export").await.is(200).json();
    assert_eq!(data["invitations"], json!([]));
    assert_eq!(roles(&alice, &team(&alice)).await, ["alice owner"]);
    accept(&bob, &invitation).await.is(200);
}

async fn a_token_without_an_address_accepts_invitations_only_soon_after_a_sign_in(app: App) {
    let alice = app.person("alice").await;
    let invitation = token(&invite(&alice, "bob").await);
    app.person("bob").await;
    let claims = json!({
        "iss": DEV_ISSUER, "aud": DEV_AUDIENCE, "sub": "bob@example.com",
        "exp": app.clock.now().timestamp() + 3_600,
    });
    let bob = app.bearer(&app.forged(&claims));

    app.wait(TimeDelta::minutes(15));
    assert_eq!(bob.get(MINE).await.is(200).json().as_array().unwrap().len(), 1);
    app.wait(TimeDelta::seconds(1));
    needs_a_sign_in(&bob.get(MINE).await);
    needs_a_sign_in(&accept(&bob, &invitation).await);

    app.person("bob").await;
    accept(&bob, &invitation).await.is(200);
}

async fn a_session_that_an_old_token_without_an_address_approved_accepts_no_invitation(app: App) {
    let (alice, _) = (app.person("alice").await, app.person("bob").await);
    let invitation = token(&invite(&alice, "bob").await);
    app.wait(TimeDelta::days(1));
    let claims = json!({
        "iss": DEV_ISSUER, "aud": DEV_AUDIENCE, "sub": "bob@example.com",
        "exp": app.clock.now().timestamp() + 3_600,
    });
    let bob = app.bearer(&app.forged(&claims));

    let (session, _) = device_login::session(&app, &bob).await;

    needs_a_sign_in(&session.get(MINE).await);
    needs_a_sign_in(&accept(&session, &invitation).await);
}

async fn a_session_invites_an_admin_soon_after_its_approval_only(app: App) {
    let alice = app.person("alice").await;
    let (session, _) = device_login::session(&app, &alice).await;

    app.wait(TimeDelta::minutes(15));
    invite_as(&session, &alice, "bob", "admin").await.is(201);
    app.wait(TimeDelta::seconds(1));
    needs_an_approval(&invite_as(&session, &alice, "carol", "admin").await);
    invite_as(&session, &alice, "dave", "member").await.is(201);

    let pending = alice.get(&invitations(&alice)).await.is(200).text();
    assert!(!pending.contains("carol"), "{pending}");
    invite_as(&alice, &alice, "carol", "admin").await.is(201);
}

async fn a_session_raises_a_role_soon_after_its_approval_only(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let (session, _) = device_login::session(&app, &alice).await;

    app.wait(TimeDelta::minutes(15));
    give(&session, &alice, &bob, "admin").await.is(200);
    app.wait(TimeDelta::seconds(1));
    needs_an_approval(&give(&session, &alice, &bob, "owner").await);
    give(&session, &alice, &bob, "admin").await.is(200);
    give(&session, &alice, &bob, "member").await.is(200);
    needs_an_approval(&give(&session, &alice, &bob, "admin").await);

    assert_eq!(roles(&alice, &team(&alice)).await, ["alice owner", "bob member"]);
    give(&alice, &alice, &bob, "owner").await.is(200);
    give(&session, &alice, &bob, "admin").await.is(200);
}

async fn a_member_gets_no_approval_error_for_a_role_they_may_not_give(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let (session, _) = device_login::session(&app, &bob).await;
    app.wait(TimeDelta::minutes(16));

    invite_as(&session, &alice, "carol", "admin").await.is(403).code("forbidden");
    give(&session, &alice, &bob, "admin").await.is(403).code("forbidden");
}

in_memory_and_on_postgres![
    a_command_line_session_sees_and_accepts_invitations_only_soon_after_its_start,
    a_token_without_an_address_accepts_invitations_only_soon_after_a_sign_in,
    a_session_that_an_old_token_without_an_address_approved_accepts_no_invitation,
    a_session_invites_an_admin_soon_after_its_approval_only,
    a_session_raises_a_role_soon_after_its_approval_only,
    a_member_gets_no_approval_error_for_a_role_they_may_not_give,
];
