//! Tests of removing members from a team, and of leaving a team.

use secrets_core::model::Role;
use secrets_tests::{App, Person, Reply, in_memory_and_on_postgres};
use serde_json::json;

use super::{UNKNOWN, invite, members, roles, team};

/// Creates Alice's team with an admin and a member. Returns Alice, the admin and the member.
async fn staff(app: &App) -> (Person, Person, Person) {
    let (alice, ada, bob) =
        (app.person("alice").await, app.person("ada").await, app.person("bob").await);
    app.join(&alice.team, &ada.id, Role::Admin).await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    (alice, ada, bob)
}

/// Removes the user `whom` from the personal team of `of`. The caller is `by`.
async fn remove(by: &Person, of: &Person, whom: &Person) -> Reply {
    by.delete(&format!("{}/{}", members(of), whom.id)).await
}

async fn a_removed_member_sees_nothing_of_the_team(app: App) {
    let (alice, ada, bob) = staff(&app).await;
    let web = alice.project("Web").await;
    bob.get(&web).await.is(200);

    remove(&ada, &alice, &bob).await.is(204);

    bob.get(&team(&alice)).await.is(403);
    bob.get(&web).await.is(403);
    assert_eq!(bob.get("/api/v1/projects").await.json(), json!({ "projects": [] }));
    assert_eq!(roles(&alice, &team(&alice)).await, ["alice owner", "ada admin"]);
    let entry = app.entry(&alice.team, "member.removed").await;
    assert_eq!(entry.resource_name.as_deref(), Some("bob@example.com"));
    assert_eq!(entry.actor_name.as_deref(), Some("ada"));
}

async fn a_member_may_leave_and_be_invited_again(app: App) {
    let (alice, _, bob) = staff(&app).await;

    remove(&bob, &alice, &bob).await.is(204);

    bob.get(&team(&alice)).await.is(403);
    remove(&bob, &alice, &bob).await.is(403);
    invite(&alice, "bob").await;
}

async fn a_member_cannot_remove_others(app: App) {
    let (alice, ada, bob) = staff(&app).await;
    let eve = app.person("eve").await;

    for whom in [&alice, &ada, &eve] {
        remove(&bob, &alice, whom).await.is(403);
    }
    remove(&eve, &alice, &bob).await.is(403);
    remove(&eve, &alice, &eve).await.is(403);
}

async fn an_admin_removes_no_owner(app: App) {
    let (alice, ada, bob) = staff(&app).await;

    let refused = remove(&ada, &alice, &alice).await;

    refused.is(403).says("only an owner of the team may do this to an owner");
    remove(&ada, &alice, &bob).await.is(204);
    remove(&ada, &alice, &ada).await.is(204);
}

async fn the_last_owner_cannot_leave(app: App) {
    let (alice, ada, bob) = staff(&app).await;
    remove(&alice, &alice, &alice).await.is(400).code("sole_owner");
    let path = format!("{}/{}", members(&alice), bob.id);
    alice.patch(&path, &json!({ "role": "owner" })).await.is(200);

    remove(&alice, &alice, &alice).await.is(204);

    remove(&bob, &alice, &bob).await.is(400).code("sole_owner");
    assert_eq!(roles(&ada, &team(&alice)).await, ["ada admin", "bob owner"]);
}

async fn an_unknown_member_cannot_be_removed(app: App) {
    let (alice, _, _) = staff(&app).await;
    let eve = app.person("eve").await;

    for id in [eve.id.as_str(), UNKNOWN, "bob"] {
        let reply = alice.delete(&format!("{}/{id}", members(&alice))).await;
        reply.is(404).says("user not found");
    }
    for id in [UNKNOWN, "ops"] {
        let path = format!("/api/v1/teams/{id}/members/{}", alice.id);
        alice.delete(&path).await.is(404).says("team not found");
    }
}

async fn tokens_of_a_removed_member_stay_valid(app: App) {
    let (alice, ada, _) = staff(&app).await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let body = json!({ "name": "ci", "team_id": alice.team, "all_projects": true });
    let token = ada.post("/api/v1/tokens", &body).await.is(201).json();

    remove(&alice, &alice, &ada).await.is(204);

    let machine = app.bearer(token["token"].as_str().unwrap());
    machine.get(&secrets_tests::paths::secret(&web, "staging", "KEY")).await.is(200);
}

in_memory_and_on_postgres![
    a_removed_member_sees_nothing_of_the_team,
    a_member_may_leave_and_be_invited_again,
    a_member_cannot_remove_others,
    an_admin_removes_no_owner,
    the_last_owner_cannot_leave,
    an_unknown_member_cannot_be_removed,
    tokens_of_a_removed_member_stay_valid,
];
