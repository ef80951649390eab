//! Tests of renaming and describing projects.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, in_memory_and_on_postgres};
use serde_json::json;

use super::PROJECTS;

async fn a_new_name_keeps_the_slug(app: App) {
    let alice = app.person("alice").await;
    let body = json!({ "name": "Web", "description": "Browsers" });
    let created = alice.post(PROJECTS, &body).await.is(201).json();
    app.wait(TimeDelta::seconds(5));

    let project =
        alice.patch("/api/v1/projects/web", &json!({ "name": "Shop" })).await.is(200).json();

    let mut expected = created;
    expected["name"] = json!("Shop");
    expected["updated_at"] = json!("2026-11-21T12:00:15Z");
    assert_eq!(project, expected);
    assert_eq!(alice.get("/api/v1/projects/web").await.is(200).json()["name"], "Shop");
    alice.get("/api/v1/projects/shop").await.is(404);
}

async fn a_description_is_changed_alone(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let project = alice.patch(&web, &json!({ "name": null, "description": "Browsers" })).await;

    let project = project.is(200).json();
    assert_eq!((&project["name"], &project["description"]), (&json!("Web"), &json!("Browsers")));
}

async fn a_change_of_nothing_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for body in [json!({}), json!({ "name": null }), json!({ "slug": "shop" })] {
        let reply = alice.patch(&web, &body).await;

        reply.is(400).code("invalid_request").says("name or description must be given");
    }
}

async fn an_invalid_name_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for name in [json!(""), json!("a\tb"), json!(1), json!("n".repeat(101))] {
        alice.patch(&web, &json!({ "name": name })).await.is(400).names("name");
    }
}

async fn only_owners_and_admins_rename(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let admin = app.person("ada").await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    app.join(&alice.team, &admin.id, Role::Admin).await;
    let web = alice.project("Web").await;

    admin.patch(&web, &json!({ "name": "Shop" })).await.is(200);
    let reply = bob.patch(&web, &json!({ "name": "Mine" })).await;

    let error = "only an owner or admin of the team may do this";
    assert_eq!(reply.is(403).json(), json!({ "error": error, "code": "forbidden" }));
    bob.patch(&web, &json!({})).await.is(403);
}

async fn an_unknown_project_cannot_be_renamed(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;

    bob.patch(&web, &json!({ "name": "Mine" })).await.is(403);
    bob.patch("/api/v1/projects/none", &json!({ "name": "Mine" })).await.is(404);
}

in_memory_and_on_postgres![
    a_new_name_keeps_the_slug,
    a_description_is_changed_alone,
    a_change_of_nothing_is_400,
    an_invalid_name_is_400,
    only_owners_and_admins_rename,
    an_unknown_project_cannot_be_renamed,
];
