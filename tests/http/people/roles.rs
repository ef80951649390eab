//! Tests of changing the roles of members.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, Person, Reply, STARTED, on_every_store};
use serde_json::json;

use super::{UNKNOWN, members, roles, team};

const OWNERS_ONLY: &str = "only an owner of the team may do this to an owner";

/// Creates Alice's team with an admin and a member. Returns Alice, the admin and the member.
async fn staff(app: &App) -> (Person, Person, Person) {
    let (alice, ada, bob) =
        (app.person("alice").await, app.person("ada").await, app.person("bob").await);
    app.join(&alice.team, &ada.id, Role::Admin).await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    (alice, ada, bob)
}

/// Sets the role of the user `to` in the personal team of `of`. The caller is `by`.
async fn give(by: &Person, of: &Person, to: &Person, role: &str) -> Reply {
    by.patch(&format!("{}/{}", members(of), to.id), &json!({ "role": role })).await
}

async fn a_member_with_a_new_role_is_answered(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    app.wait(TimeDelta::seconds(9));

    let member = give(&alice, &alice, &bob, "admin").await.is(200).json();

    assert_ne!(member["joined_at"], STARTED);
    assert_eq!(
        member,
        json!({
            "id": bob.id,
            "team_id": alice.team,
            "user_id": bob.id,
            "email": "bob@example.com",
            "name": "bob",
            "role": "admin",
            "status": "active",
            "joined_at": "2026-11-21T12:00:11Z",
            "created_at": "2026-11-21T12:00:11Z",
            "updated_at": "2026-11-21T12:00:20Z",
        })
    );
    let entry = app.entry(&alice.team, "member.role_changed").await;
    assert_eq!(entry.metadata, r#"{"previous_role":"member","role":"admin"}"#);
}

async fn an_admin_makes_members_admins_and_back_and_no_owners(app: App) {
    let (alice, ada, bob) = staff(&app).await;

    give(&ada, &alice, &bob, "admin").await.is(200);
    give(&ada, &alice, &bob, "member").await.is(200);
    give(&ada, &alice, &bob, "owner").await.is(403).says(OWNERS_ONLY);
    give(&ada, &alice, &ada, "owner").await.is(403).says(OWNERS_ONLY);
    for role in ["member", "admin", "owner"] {
        give(&ada, &alice, &alice, role).await.is(403).says(OWNERS_ONLY);
    }

    let now = roles(&alice, &team(&alice)).await;
    assert_eq!(now, ["alice owner", "ada admin", "bob member"]);
}

async fn an_admin_may_step_down(app: App) {
    let (alice, ada, bob) = staff(&app).await;

    give(&ada, &alice, &ada, "member").await.is(200);

    give(&ada, &alice, &bob, "admin").await.is(403);
}

async fn an_owner_adds_and_removes_owners(app: App) {
    let (alice, ada, bob) = staff(&app).await;

    give(&alice, &alice, &bob, "owner").await.is(200);
    give(&bob, &alice, &alice, "member").await.is(200);

    let now = roles(&bob, &team(&alice)).await;
    assert_eq!(now, ["alice member", "ada admin", "bob owner"]);
    give(&alice, &alice, &ada, "member").await.is(403);
}

async fn the_last_owner_stays_one(app: App) {
    let (alice, _, _) = staff(&app).await;

    for role in ["admin", "member"] {
        give(&alice, &alice, &alice, role).await.is(400).code("sole_owner");
    }
    give(&alice, &alice, &alice, "owner").await.is(200);
}

async fn a_member_cannot_change_roles(app: App) {
    let (alice, ada, bob) = staff(&app).await;
    let eve = app.person("eve").await;

    for to in [&alice, &ada, &bob, &eve] {
        give(&bob, &alice, to, "member").await.is(403);
        give(&eve, &alice, to, "owner").await.is(403);
    }
}

async fn the_role_of_a_person_outside_of_the_team_cannot_be_changed(app: App) {
    let (alice, _, _) = staff(&app).await;
    let eve = app.person("eve").await;

    for id in [eve.id.as_str(), UNKNOWN, "bob"] {
        let path = format!("{}/{id}", members(&alice));
        let reply = alice.patch(&path, &json!({ "role": "admin" })).await;
        assert_eq!(reply.is(404).json(), json!({ "error": "user not found", "code": "not_found" }));
    }
    for role in [json!("viewer"), json!(null), json!(1)] {
        let path = format!("{}/{}", members(&alice), eve.id);
        alice.patch(&path, &json!({ "role": role })).await.is(400).names("role");
    }
    alice.patch(&format!("{}/{}", members(&alice), eve.id), &json!({})).await.is(400).names("role");
}

async fn a_new_role_counts_from_the_next_request_on(app: App) {
    let (alice, ada, _) = staff(&app).await;
    let web = alice.project("Web").await;
    let name = json!({ "name": "Renamed" });
    ada.patch(&web, &name).await.is(200);

    give(&alice, &alice, &ada, "member").await.is(200);

    ada.patch(&web, &name).await.is(403);
}

on_every_store![
    a_member_with_a_new_role_is_answered,
    an_admin_makes_members_admins_and_back_and_no_owners,
    an_admin_may_step_down,
    an_owner_adds_and_removes_owners,
    the_last_owner_stays_one,
    a_member_cannot_change_roles,
    the_role_of_a_person_outside_of_the_team_cannot_be_changed,
    a_new_role_counts_from_the_next_request_on,
];
