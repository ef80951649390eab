//! Tests of joining and leaving teams concurrently.

use std::time::Duration;

use secrets_core::model::{Role, ids};
use secrets_tests::{App, Build, Kind, Person};
use serde_json::{Value, json};

use super::{CROWD, Crowd, count, outcome};

/// Invites an e-mail address to the personal team of the user `person`, and returns the token of
/// the invitation.
async fn invite(person: &Person, email: &str) -> String {
    let path = format!("/api/v1/teams/{}/members", person.team);
    let place = person.post(&path, &json!({ "email": email })).await.is(201).json();
    let (_, token) = place["accept_url"].as_str().unwrap().rsplit_once('/').unwrap();
    token.to_owned()
}

async fn team(person: &Person, id: &str) -> Value {
    person.get(&format!("/api/v1/teams/{id}")).await.is(200).json()
}

async fn of_many_acceptances_of_an_invitation_one_happens(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let token = invite(&alice, "bob@example.com").await;
    let crowd = Crowd::of(&app, &app.jwt("bob")).await;

    let replies = crowd
        .race(|_, client| {
            let path = format!("/api/v1/invitations/{token}/accept");
            async move { client.post(&path, &json!({})).await }
        })
        .await;

    outcome(&replies, (200, 1), (404, CROWD - 1));
    assert_eq!(team(&bob, &alice.team).await["member_count"], 2);
}

async fn of_accepting_and_revoking_one_happens(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let token = invite(&alice, "bob@example.com").await;
    let listed = alice.get(&format!("/api/v1/teams/{}/invitations", alice.team)).await.json();
    let revoke =
        format!("/api/v1/teams/{}/invitations/{}", alice.team, listed[0]["id"].as_str().unwrap());
    let (owner, invited) = (app.jwt("alice"), app.jwt("bob"));
    let mut clients = Crowd::of(&app, &owner).await.0;
    for client in clients.iter_mut().step_by(2) {
        *client = app.bearer(&invited);
    }

    let replies = Crowd(clients)
        .race(|number, client| {
            let (accept, revoke) = (format!("/api/v1/invitations/{token}/accept"), revoke.clone());
            async move {
                if number % 2 == 0 {
                    client.post(&accept, &json!({})).await
                } else {
                    client.delete(&revoke).await
                }
            }
        })
        .await;

    let (accepted, revoked) = (count(&replies, 200), count(&replies, 204));
    assert_eq!((accepted + revoked, count(&replies, 404)), (1, CROWD - 1), "{replies:#?}");
    let status = bob.get(&format!("/api/v1/teams/{}", alice.team)).await.status;
    assert_eq!(status, if accepted == 1 { 200 } else { 403 });
}

async fn of_many_invitations_of_one_address_one_is_made(app: App) {
    let alice = app.person("alice").await;
    let crowd = Crowd::of(&app, &app.jwt("alice")).await;

    let replies = crowd
        .race(|_, client| {
            let path = format!("/api/v1/teams/{}/members", alice.team);
            async move { client.post(&path, &json!({ "email": "bob@example.com" })).await }
        })
        .await;

    outcome(&replies, (201, 1), (400, CROWD - 1));
}

async fn an_invitation_is_sent_again_once_a_minute(app: App) {
    let alice = app.person("alice").await;
    invite(&alice, "bob@example.com").await;
    let path = format!("/api/v1/teams/{}/invitations", alice.team);
    let id = alice.get(&path).await.json()[0]["id"].as_str().unwrap().to_owned();
    let crowd = Crowd::of(&app, &app.jwt("alice")).await;

    let replies = crowd
        .race(|_, client| {
            let path = format!("{path}/{id}/resend");
            async move { client.post(&path, &json!({})).await }
        })
        .await;

    outcome(&replies, (200, 1), (429, CROWD - 1));
}

/// Checks that a team keeps one owner if, at the same time, half of its owners change their role to
/// member and the other half leave the team.
async fn concurrent_departures_leave_an_owner(app: App) {
    let alice = app.person("alice").await;
    let mut owners = Vec::new();
    for number in 0..8 {
        let owner = app.person(&format!("owner{number}")).await;
        app.join(&alice.team, &owner.id, Role::Owner).await;
        owners.push(owner);
    }
    alice.delete(&format!("/api/v1/teams/{}/members/{}", alice.team, alice.id)).await.is(204);
    let clients = owners.iter().enumerate();
    let clients = clients.map(|(number, _)| app.bearer(&app.jwt(&format!("owner{number}"))));

    let replies = Crowd(clients.collect())
        .race(|number, client| {
            let path = format!("/api/v1/teams/{}/members/{}", alice.team, owners[number].id);
            async move {
                if number % 2 == 0 {
                    return client.delete(&path).await;
                }
                client.patch(&path, &json!({ "role": "member" })).await
            }
        })
        .await;

    assert_eq!(count(&replies, 400), 1, "{replies:#?}");
    assert_eq!(count(&replies, 200) + count(&replies, 204), 7);
    replies.iter().find(|reply| reply.status == 400).unwrap().code("sole_owner");
}

/// Checks that a team with another member keeps an owner, however many owners delete their accounts
/// at the same time.
async fn concurrent_account_deletions_leave_an_owner(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let mut clients = vec![app.bearer(&app.jwt("alice"))];
    for name in ["owner1", "owner2", "owner3"] {
        app.join(&alice.team, &app.person(name).await.id, Role::Owner).await;
        clients.push(app.bearer(&app.jwt(name)));
    }

    let replies = Crowd(clients)
        .race(|number, client| {
            let name = if number == 0 { "alice".to_owned() } else { format!("owner{number}") };
            let body = json!({ "confirm": format!("{name}@example.com") });
            async move { client.json(hyper::Method::DELETE, "/api/v1/account", &body).await }
        })
        .await;

    outcome(&replies, (204, 3), (400, 1));
    assert_eq!(team(&bob, &alice.team).await["member_count"], 2);
}

/// Checks that only one removal succeeds if two owners remove each other at the same time: the
/// removed owner may no longer remove anyone.
async fn of_two_owners_who_remove_each_other_one_succeeds(app: App) {
    let (ann, bea) = (app.person("ann").await, app.person("bea").await);
    app.join(&ann.team, &bea.id, Role::Owner).await;
    let clients = vec![app.bearer(&app.jwt("ann")), app.bearer(&app.jwt("bea"))];

    let replies = Crowd(clients)
        .race(|number, client| {
            let other = if number == 0 { &bea.id } else { &ann.id };
            let path = format!("/api/v1/teams/{}/members/{other}", ann.team);
            async move { client.delete(&path).await }
        })
        .await;

    outcome(&replies, (204, 1), (403, 1));
}

/// Checks that an owner cannot remove a member if the owner is removed while the request waits for
/// the lock on the team, because the server authorizes the request again after the wait.
async fn an_owner_removed_meanwhile_cannot_remove_others(app: App) {
    let (ann, bea) = (app.person("ann").await, app.person("bea").await);
    let cyd = app.person("cyd").await;
    app.join(&ann.team, &bea.id, Role::Owner).await;
    app.join(&ann.team, &cyd.id, Role::Member).await;
    let held = ids::parse(&ann.team).unwrap().into();
    let mut tx = app.store.begin().await.unwrap();
    tx.lock_team(held).await.unwrap();
    tx.delete_member(held, ids::parse(&bea.id).unwrap().into()).await.unwrap();

    let path = format!("/api/v1/teams/{}/members/{}", ann.team, cyd.id);
    let removing = tokio::spawn(async move { bea.delete(&path).await });
    // Usually long enough for the request to reach the lock. The response is the same if the time
    // is too short.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!removing.is_finished(), "the team is held");
    tx.commit().await.unwrap();

    removing.await.unwrap().is(403);
    assert_eq!(team(&ann, &ann.team).await["member_count"], 2);
}

async fn a_team_never_has_more_members_than_its_plan_allows(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;
    let crowd = Crowd::of(&app, &app.jwt("alice")).await;

    let replies = crowd
        .race(|number, client| {
            let path = format!("/api/v1/teams/{}/members", alice.team);
            let body = json!({ "email": format!("new{number}@example.com") });
            async move { client.post(&path, &body).await }
        })
        .await;

    outcome(&replies, (201, 4), (429, CROWD - 4));
    for reply in replies.iter().filter(|reply| reply.status == 429) {
        let json = reply.code("plan_limit_exceeded").json();
        assert_eq!(json["resource"], "members");
        assert_eq!([&json["limit"], &json["current"]], [5, 5]);
    }
    let listed = alice.get(&format!("/api/v1/teams/{}/invitations", alice.team)).await.json();
    assert_eq!(listed.as_array().unwrap().len(), 4);
}

/// Checks that members and pending invitations together never exceed the plan limit, if invitations
/// are accepted while others are created.
async fn accepting_an_invitation_makes_no_room(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;
    let mut tokens = Vec::new();
    let mut clients = Vec::new();
    for number in 0..4 {
        let name = format!("guest{number}");
        app.person(&name).await;
        tokens.push(invite(&alice, &format!("{name}@example.com")).await);
        clients.push(app.bearer(&app.jwt(&name)));
    }
    clients.extend(Crowd::of(&app, &app.jwt("alice")).await.0);

    let replies = Crowd(clients)
        .race(|number, client| {
            let token = tokens.get(number).cloned();
            let path = format!("/api/v1/teams/{}/members", alice.team);
            async move {
                if let Some(token) = token {
                    let path = format!("/api/v1/invitations/{token}/accept");
                    return client.post(&path, &json!({})).await;
                }
                let body = json!({ "email": format!("more{number}@example.com") });
                client.post(&path, &body).await
            }
        })
        .await;

    outcome(&replies, (200, 4), (429, CROWD));
    assert_eq!(team(&alice, &alice.team).await["member_count"], 5);
}

secrets_tests::on_every_store!(
    of_many_acceptances_of_an_invitation_one_happens,
    of_accepting_and_revoking_one_happens,
    of_many_invitations_of_one_address_one_is_made,
    an_invitation_is_sent_again_once_a_minute,
    concurrent_departures_leave_an_owner,
    concurrent_account_deletions_leave_an_owner,
    of_two_owners_who_remove_each_other_one_succeeds,
    an_owner_removed_meanwhile_cannot_remove_others;
    a_team_never_has_more_members_than_its_plan_allows,
    accepting_an_invitation_makes_no_room,
);
