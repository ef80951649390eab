//! Tests of inviting users, and of reading invitations.

use chrono::TimeDelta;
use hyper::Method;
use secrets_core::model::Role;
use secrets_tests::{App, Build, Kind, STARTED, on_every_store};
use serde_json::{Value, json};

use super::{UNKNOWN, accept, invitations, invite, members, roles, team, token, unknown};

async fn an_invited_person_is_pending_and_no_member(app: App) {
    let alice = app.person("alice").await;

    let body = json!({ "email": " Bob@Example.COM ", "role": "admin" });
    let place = alice.post(&members(&alice), &body).await.is(201).json();

    let url = place["accept_url"].as_str().unwrap();
    let base = format!("http://{}/invitations/", app.address);
    assert_eq!(url.strip_prefix(&base).unwrap().len(), 43, "{url}");
    assert_eq!(
        place,
        json!({
            "id": place["id"],
            "team_id": alice.team,
            "email": "bob@example.com",
            "role": "admin",
            "status": "pending",
            "invitation_id": place["id"],
            "accept_url": url,
            "created_at": STARTED,
            "updated_at": STARTED,
        })
    );
    assert_eq!(roles(&alice, &team(&alice)).await, ["alice owner"]);
}

async fn a_team_has_at_most_250_pending_invitations(app: App) {
    let alice = app.person("alice").await;
    for number in 0..249 {
        invite(&alice, &format!("person{number}")).await;
    }
    let last = invite(&alice, "last").await;
    let more = json!({ "email": "more@example.com" });

    let reply = alice.post(&members(&alice), &more).await;

    let error = "a team can have at most 250 pending invitations";
    assert_eq!(reply.is(400).json(), json!({ "error": error, "code": "invalid_request" }));
    let path = format!("{}/{}", invitations(&alice), last["id"].as_str().unwrap());
    alice.delete(&path).await.is(204);
    alice.post(&members(&alice), &more).await.is(201);
}

async fn a_team_lists_its_pending_invitations(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let first = invite(&alice, "bob").await;
    app.wait(TimeDelta::seconds(1));
    invite(&alice, "carol").await;
    invite(&eve, "mallory").await;

    let list = alice.get(&invitations(&alice)).await.is(200).json();

    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!(list[1]["email"], "carol@example.com");
    assert_eq!(
        list[0],
        json!({
            "id": first["id"],
            "team_id": alice.team,
            "email": "bob@example.com",
            "role": "member",
            "status": "pending",
            "invited_by": alice.id,
            "invited_by_email": "alice@example.com",
            "expires_at": "2026-11-28T12:00:10Z",
            "last_sent_at": STARTED,
            "created_at": STARTED,
            "accept_url": first["accept_url"],
        })
    );
}

async fn an_invited_person_finds_the_invitation_without_a_mail(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let invitation = invite(&alice, "bob").await;
    invite(&alice, "carol").await;

    let mine = bob.get("/api/v1/invitations").await.is(200).json();

    let info = json!({
        "id": invitation["id"],
        "team_id": alice.team,
        "team_name": "alice's Team",
        "email": "bob@example.com",
        "role": "member",
        "invited_by_name": "alice",
        "invited_by_email": "alice@example.com",
        "status": "pending",
        "expires_at": "2026-11-28T12:00:10Z",
        "created_at": STARTED,
    });
    let mut with_token = info.clone();
    with_token["token"] = json!(token(&invitation));
    assert_eq!(mine, json!([with_token]));
    let path = format!("/api/v1/invitations/{}", token(&invitation));
    assert_eq!(bob.get(&path).await.is(200).json(), info);
}

async fn members_and_invited_persons_are_not_invited_again(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    invite(&alice, "carol").await;

    for name in ["alice", "BOB", "carol"] {
        let body = json!({ "email": format!("{name}@example.com"), "role": "admin" });
        let reply = alice.post(&members(&alice), &body).await;
        reply.is(400).code("already_exists").names("email");
    }
    assert_eq!(alice.get(&invitations(&alice)).await.json().as_array().unwrap().len(), 1);
}

async fn an_invitation_needs_a_valid_address_and_role(app: App) {
    let alice = app.person("alice").await;
    let long = format!("{}@example.com", "x".repeat(243));
    let emails = [
        json!(null),
        json!(7),
        json!(""),
        json!("bob"),
        json!("@example.com"),
        json!("bob@"),
        json!("a@b@c"),
        json!("a b@example.com"),
        json!("bob@example.com\r\nbcc: eve@example.com"),
        json!("b\u{202e}ob@example.com"),
        json!(long),
    ];

    for email in emails {
        let reply = alice.post(&members(&alice), &json!({ "email": email })).await;
        reply.is(400).code("invalid_request").names("email");
    }
    for role in [json!("owner"), json!("viewer"), json!(7)] {
        let body = json!({ "email": "bob@example.com", "role": role });
        alice.post(&members(&alice), &body).await.is(400).names("role");
    }
    let odd = json!({ "email": "o'néill+x@exämple.com", "role": null });
    let odd = alice.post(&members(&alice), &odd).await.is(201).json();
    assert_eq!((&odd["email"], &odd["role"]), (&json!("o'néill+x@exämple.com"), &json!("member")));
}

async fn only_owners_and_admins_invite_and_list_invitations(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (ada, eve) = (app.person("ada").await, app.person("eve").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    app.join(&alice.team, &ada.id, Role::Admin).await;
    let body = json!({ "email": "new@example.com", "role": "admin" });

    for (person, error) in [
        (&bob, "only an owner or admin of the team may do this"),
        (&eve, "you are not a member of this team"),
    ] {
        person.post(&members(&alice), &body).await.is(403).says(error);
        person.get(&invitations(&alice)).await.is(403).says(error);
    }
    ada.post(&members(&alice), &body).await.is(201);
    ada.get(&invitations(&alice)).await.is(200);
}

async fn an_unknown_team_is_403_where_404_is_not_specified(app: App) {
    let alice = app.person("alice").await;
    let body = json!({ "email": "bob@example.com" });

    for id in [UNKNOWN, "ops"] {
        let team = format!("/api/v1/teams/{id}");
        alice.post(&format!("{team}/members"), &body).await.is(403);
        alice.get(&format!("{team}/invitations")).await.is(403);
        alice.delete(&format!("{team}/invitations/{UNKNOWN}")).await.is(404).says("team not found");
    }
}

async fn a_revoked_invitation_is_gone(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let invitation = invite(&alice, "bob").await;
    let path = format!("{}/{}", invitations(&alice), invitation["id"].as_str().unwrap());

    alice.delete(&path).await.is(204);

    unknown(&accept(&bob, &token(&invitation)).await);
    assert_eq!(bob.get("/api/v1/invitations").await.json(), json!([]));
    assert_eq!(alice.get(&invitations(&alice)).await.json(), json!([]));
    unknown(&alice.delete(&path).await);
    let again = invite(&alice, "bob").await;
    assert_ne!(token(&again), token(&invitation));
    let entry = app.entry(&alice.team, "invitation.revoked").await;
    assert_eq!(entry.resource_name.as_deref(), Some("bob@example.com"));
}

async fn an_invitation_of_another_team_is_unknown(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let invitation = invite(&alice, "bob").await;
    let id = invitation["id"].as_str().unwrap();

    let here = format!("{}/{id}", invitations(&eve));
    unknown(&eve.delete(&here).await);
    unknown(&eve.post(&format!("{here}/resend"), &json!({})).await);

    assert_eq!(alice.get(&invitations(&alice)).await.json().as_array().unwrap().len(), 1);
}

async fn an_invitation_expires_after_seven_days(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let invitation = invite(&alice, "bob").await;
    let path = format!("{}/{}", invitations(&alice), invitation["id"].as_str().unwrap());
    app.wait(TimeDelta::days(7) - TimeDelta::seconds(1));
    let (alice_then, bob_then) = (app.bearer(&app.jwt("alice")), app.bearer(&app.jwt("bob")));
    assert_eq!(bob_then.get("/api/v1/invitations").await.json().as_array().unwrap().len(), 1);

    app.wait(TimeDelta::seconds(1));

    unknown(&accept(&bob_then, &token(&invitation)).await);
    assert_eq!(bob_then.get("/api/v1/invitations").await.json(), json!([]));
    assert_eq!(alice_then.get(&invitations(&alice)).await.json(), json!([]));
    unknown(&alice_then.delete(&path).await);
    unknown(&alice_then.post(&format!("{path}/resend"), &json!({})).await);
    let body = json!({ "email": "bob@example.com" });
    alice_then.post(&members(&alice), &body).await.is(201);
    drop(bob);
}

async fn links_begin_with_the_public_url(kind: Kind) {
    let app = Build::on(kind).public_url("https://secrets.example/base").start().await;
    let alice = app.person("alice").await;

    let url = invite(&alice, "bob").await["accept_url"].clone();

    assert!(url.as_str().unwrap().starts_with("https://secrets.example/base/invitations/"));
}

async fn an_invalid_host_is_in_no_link(app: App) {
    let alice = app.person("alice").await;
    let headers = [("content-type", "application/json"), ("host", "evil.example/x?")];

    let body = json!({ "email": "bob@example.com" }).to_string();
    let reply = alice.raw(Method::POST, &members(&alice), &headers, body).await;

    reply.is(400).names("Host");
    assert_eq!(alice.get(&invitations(&alice)).await.json(), json!([]));
}

async fn the_page_of_an_invitation_discloses_nothing(app: App) {
    let alice = app.person("alice").await;
    let invitation = invite(&alice, "bob").await;

    let token = token(&invitation);
    let page = app.anonymous().get(&format!("/invitations/{token}")).await;
    let other = app.anonymous().get("/invitations/nonsense").await;
    let strange = app.anonymous().get("/invitations/%22;rm%3Cscript%3E").await;

    assert_eq!(page.is(200).header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.text().replace(&token, "nonsense"), other.is(200).text());
    let command = format!("\"http://{}/api/v1/invitations/{token}/accept\"", app.address);
    assert!(page.text().contains(&command), "{}", page.text());
    assert!(strange.is(200).text().contains("/invitations/TOKEN/accept"));
    assert!(!strange.text().contains("script"));
}

async fn an_invitation_is_recorded_and_its_token_is_not(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let invitation = invite(&alice, "bob").await;
    accept(&bob, &token(&invitation)).await.is(200);

    let (invited, accepted) = (
        app.entry(&alice.team, "member.invited").await,
        app.entry(&alice.team, "invitation.accepted").await,
    );

    assert_eq!(invited.resource_name.as_deref(), Some("bob@example.com"));
    assert_eq!(accepted.actor_name.as_deref(), Some("bob"));
    let details: Value = serde_json::from_str(&invited.metadata).unwrap();
    assert_eq!(details, json!({ "role": "member" }));
    assert!(!format!("{invited:?}{accepted:?}").contains(&token(&invitation)));
}

on_every_store![
    an_invited_person_is_pending_and_no_member,
    a_team_has_at_most_250_pending_invitations,
    a_team_lists_its_pending_invitations,
    an_invited_person_finds_the_invitation_without_a_mail,
    members_and_invited_persons_are_not_invited_again,
    an_invitation_needs_a_valid_address_and_role,
    only_owners_and_admins_invite_and_list_invitations,
    an_unknown_team_is_403_where_404_is_not_specified,
    a_revoked_invitation_is_gone,
    an_invitation_of_another_team_is_unknown,
    an_invitation_expires_after_seven_days,
    an_invalid_host_is_in_no_link,
    the_page_of_an_invitation_discloses_nothing,
    an_invitation_is_recorded_and_its_token_is_not;
    links_begin_with_the_public_url,
];
