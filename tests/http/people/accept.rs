//! Tests of accepting an invitation.

use chrono::TimeDelta;
use secrets_core::jwt::{DEV_AUDIENCE, DEV_ISSUER};
use secrets_core::model::{Clock as _, Role};
use secrets_tests::{App, Client, Person, on_every_store};
use serde_json::{Value, json};

use super::{accept, invitations, invite, members, roles, team, token, unknown};

/// Signs in a user whose identity token has this subject and the claims in `profile`. Returns the
/// user's client.
async fn signed_in_with(app: &App, subject: &str, profile: &Value) -> Client {
    let mut claims = json!({ "iss": DEV_ISSUER, "aud": DEV_AUDIENCE, "sub": subject });
    claims["exp"] = json!(app.clock.now().timestamp() + 600);
    claims.as_object_mut().unwrap().extend(profile.as_object().unwrap().clone());
    let client = app.bearer(&app.forged(&claims));
    client.post("/api/v1/auth/sync", &json!({})).await.is(200);
    client
}

async fn an_accepted_invitation_gives_its_role(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let body = json!({ "email": "bob@example.com", "role": "admin" });
    let invitation = alice.post(&members(&alice), &body).await.is(201).json();
    app.wait(TimeDelta::seconds(1));

    let joined = accept(&bob, &token(&invitation)).await.is(200).json();

    assert_eq!((&joined["id"], &joined["name"]), (&json!(alice.team), &json!("alice's Team")));
    assert_eq!(roles(&bob, &team(&alice)).await, ["alice owner", "bob admin"]);
    assert_eq!(alice.get(&invitations(&alice)).await.json(), json!([]));
    assert_eq!(bob.get("/api/v1/invitations").await.json(), json!([]));
}

async fn an_invitation_is_used_once(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let invitation = invite(&alice, "bob").await;
    accept(&bob, &token(&invitation)).await.is(200);

    unknown(&accept(&bob, &token(&invitation)).await);

    let path = format!("{}/{}", members(&alice), bob.id);
    alice.delete(&path).await.is(204);
    unknown(&accept(&bob, &token(&invitation)).await);
    bob.get(&team(&alice)).await.is(403);
}

async fn an_invitation_ends_when_its_sender_may_no_longer_invite(app: App) {
    let (alice, bob, zed) =
        (app.person("alice").await, app.person("bob").await, app.person("zed").await);
    let zeds = json!({ "email": "zed@example.com", "role": "admin" });
    for taken_away in [None, Some(json!({ "role": "member" }))] {
        app.join(&alice.team, &bob.id, Role::Admin).await;
        let invitation = bob.post(&members(&alice), &zeds).await.is(201).json();
        let own = invite(&alice, "carol").await;
        let path = format!("{}/{}", members(&alice), bob.id);
        match taken_away {
            None => alice.delete(&path).await.is(204),
            Some(role) => alice.patch(&path, &role).await.is(200),
        };

        unknown(&accept(&zed, &token(&invitation)).await);

        // Invitations of other users are kept.
        let left = alice.get(&invitations(&alice)).await.is(200).json();
        assert_eq!(left.as_array().unwrap().len(), 1);
        alice.delete(&format!("{}/{}", invitations(&alice), own["id"].as_str().unwrap())).await;
    }
}

async fn an_account_is_a_member_of_at_most_250_teams(app: App) {
    const TEAMS: &str = "/api/v1/teams";
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let invitation = invite(&bob, "alice").await;
    let too_many = json!({
        "error": "an account can be a member of at most 250 teams",
        "code": "invalid_request",
    });
    // The personal team is the first of 250 teams.
    for number in 1..250 {
        alice.post(TEAMS, &json!({ "name": format!("Team {number}") })).await.is(201);
    }

    let created = alice.post(TEAMS, &json!({ "name": "One more" })).await;
    let accepted = accept(&alice, &token(&invitation)).await;

    assert_eq!(created.is(400).json(), too_many);
    assert_eq!(accepted.is(400).json(), too_many);
    let list = alice.get(TEAMS).await.is(200).json()["teams"].clone();
    assert_eq!(list.as_array().unwrap().len(), 250);
    // The invitation was not used.
    app.part(list[249]["id"].as_str().unwrap(), &alice.id).await;
    accept(&alice, &token(&invitation)).await.is(200);
}

async fn only_the_invited_person_sees_and_accepts_an_invitation(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let invitation = invite(&alice, "bob").await;
    let path = format!("/api/v1/invitations/{}", token(&invitation));

    for person in [&eve, &alice] {
        unknown(&person.get(&path).await);
        unknown(&accept(person, &token(&invitation)).await);
    }
    app.anonymous().get(&path).await.is(401);
    app.bearer(&app.jwt("bob")).get(&path).await.is(401);
    let machine = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    machine.get(&path).await.is(403);
    accept(&machine, &token(&invitation)).await.is(403);
    unknown(&eve.get("/api/v1/invitations/nonsense").await);
    let bob = app.person("bob").await;
    accept(&bob, &token(&invitation)).await.is(200);
}

async fn an_unverified_address_accepts_no_invitation(app: App) {
    let alice = app.person("alice").await;
    let invitation = invite(&alice, "bob").await;
    let claims =
        |verified: Value| json!({ "email": "bob@example.com", "email_verified": verified });

    for (subject, verified) in [("1", json!(false)), ("2", json!(null))] {
        let pretender = signed_in_with(&app, subject, &claims(verified)).await;
        assert_eq!(pretender.get("/api/v1/invitations").await.is(200).json(), json!([]));
        unknown(&accept(&pretender, &token(&invitation)).await);
    }
    let bob = signed_in_with(&app, "3", &claims(json!(true))).await;
    accept(&bob, &token(&invitation)).await.is(200);
}

/// Checks that other users see only verified addresses. An address that a member has not verified
/// can still be invited, because it may belong to another user.
async fn an_unverified_address_is_shown_to_its_person_only(app: App) {
    let alice = app.person("alice").await;
    let claims = json!({ "email": "bob@example.com", "email_verified": false });
    let pretender = signed_in_with(&app, "1", &claims).await;
    let me = pretender.get("/api/v1/users/me").await.is(200).json();
    assert_eq!(me["email"], "bob@example.com");
    let pretender = Person::new(pretender, &me);
    app.join(&alice.team, &pretender.id, Role::Admin).await;

    let project = json!({ "name": "Web", "team_id": alice.team });
    let project = pretender.post("/api/v1/projects", &project).await.is(201).id();
    let invited = json!({ "email": "carol@example.com" });
    pretender.post(&format!("{}/members", team(&alice)), &invited).await.is(201);
    invite(&alice, "bob").await;

    let members = alice.get(&team(&alice)).await.is(200).json()["members"].clone();
    let shown = members.as_array().unwrap().iter().find(|one| one["user_id"] == pretender.id);
    assert_eq!(shown.unwrap()["email"], "");
    let entry = app.entry(&alice.team, "project.created").await;
    assert_eq!((entry.resource_id.unwrap().to_string(), entry.actor_email), (project, None));
    let invitations = alice.get(&format!("{}/invitations", team(&alice))).await.is(200).text();
    assert_eq!(invitations.matches("bob@example.com").count(), 1);
}

async fn the_address_of_the_credential_counts_and_not_that_of_an_earlier_one(app: App) {
    let alice = app.person("alice").await;
    let (old, new) = (invite(&alice, "old").await, invite(&alice, "new").await);
    let profile = |email: &str| json!({ "email": email, "email_verified": true });
    signed_in_with(&app, "1", &profile("old@example.com")).await;

    let renamed = signed_in_with(&app, "1", &profile("New@Example.com")).await;

    unknown(&accept(&renamed, &token(&old)).await);
    accept(&renamed, &token(&new)).await.is(200);
}

async fn a_member_who_accepts_an_invitation_keeps_their_role(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let invitation = invite(&alice, "bob").await;
    app.join(&alice.team, &bob.id, Role::Admin).await;

    let joined = accept(&bob, &token(&invitation)).await.is(200).json();

    assert_eq!(joined["id"], json!(alice.team));
    assert_eq!(roles(&bob, &team(&alice)).await, ["alice owner", "bob admin"]);
    let entry = app.entry(&alice.team, "invitation.accepted").await;
    assert_eq!(entry.metadata, json!({ "role": "admin" }).to_string());
    unknown(&accept(&bob, &token(&invitation)).await);
}

async fn one_person_may_be_invited_by_several_teams(app: App) {
    let (alice, eve, bob) =
        (app.person("alice").await, app.person("eve").await, app.person("bob").await);
    let (first, second) = (invite(&alice, "bob").await, invite(&eve, "bob").await);

    accept(&bob, &token(&second)).await.is(200);

    let mine = bob.get("/api/v1/invitations").await.json();
    assert_eq!((mine.as_array().unwrap().len(), &mine[0]["id"]), (1, &first["id"]));
    bob.get(&team(&alice)).await.is(403);
    accept(&bob, &token(&first)).await.is(200);
    assert_eq!(bob.get("/api/v1/teams").await.json()["teams"].as_array().unwrap().len(), 3);
}

async fn an_invitation_outlives_a_restart(app: App) {
    let alice = app.person("alice").await;
    let invitation = invite(&alice, "bob").await;

    let restarted = app.restarted().await;

    let bob = restarted.person("bob").await;
    accept(&bob, &token(&invitation)).await.is(200);
}

on_every_store![
    an_accepted_invitation_gives_its_role,
    an_invitation_is_used_once,
    an_invitation_ends_when_its_sender_may_no_longer_invite,
    an_account_is_a_member_of_at_most_250_teams,
    only_the_invited_person_sees_and_accepts_an_invitation,
    an_unverified_address_is_shown_to_its_person_only,
    an_unverified_address_accepts_no_invitation,
    the_address_of_the_credential_counts_and_not_that_of_an_earlier_one,
    a_member_who_accepts_an_invitation_keeps_their_role,
    one_person_may_be_invited_by_several_teams,
    an_invitation_outlives_a_restart,
];
