//! Tests of deleting projects.

use secrets_core::model::Role;
use secrets_tests::{App, on_every_store, paths};
use serde_json::json;

use super::PROJECTS;

async fn a_deleted_project_is_gone_with_all_it_held(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    alice.delete(&web).await.is(204);

    let paths = [
        web.clone(),
        "/api/v1/projects/web".to_owned(),
        paths::environments(&web),
        paths::environment(&web, "staging"),
        paths::secrets(&web, "staging"),
        paths::secret(&web, "staging", "KEY"),
        paths::secret(&web, "staging", "export"),
    ];
    for path in paths {
        let body = json!({ "error": "project not found", "code": "not_found" });
        assert_eq!(alice.get(&path).await.is(404).json(), body, "{path}");
    }
    assert_eq!(alice.get(PROJECTS).await.is(200).json(), json!({ "projects": [] }));
}

async fn a_deleted_project_takes_no_changes(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    alice.delete(&web).await.is(204);

    let (new, change) =
        (json!({ "key": "NEW", "value": "kvc_new" }), json!({ "value": "kvc_new" }));
    alice.patch(&web, &json!({ "name": "Again" })).await.is(404);
    alice.delete(&web).await.is(404);
    alice.post(&paths::environments(&web), &json!({ "name": "preview" })).await.is(404);
    alice.post(&paths::secrets(&web, "staging"), &new).await.is(404);
    alice.put(&paths::secret(&web, "staging", "KEY"), &change).await.is(404);
    alice.delete(&paths::secret(&web, "staging", "KEY")).await.is(404);
}

async fn a_deleted_project_is_unknown_to_other_teams(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    bob.get(&web).await.is(403);

    alice.delete(&web).await.is(204);

    bob.get(&web).await.is(404);
}

async fn a_token_reaches_a_deleted_project_no_more(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let scope = json!({ "project_ids": [paths::last(&web)] });
    let token = app.bearer(&alice.token(&scope).await);
    token.get(&paths::eso_secrets(&web, "staging")).await.is(200);

    alice.delete(&web).await.is(204);

    token.get(&paths::eso_secrets(&web, "staging")).await.is(404);
    token.get(&paths::eso_secret("web", "staging", "KEY")).await.is(404);
    // A token with an empty scope has access to no project, not to all projects.
    token.get(&shop).await.is(403);
    assert_eq!(token.get("/api/v1/users/me").await.is(200).json()["project_ids"], json!([]));
}

async fn the_slug_of_a_deleted_project_is_never_given_again(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.delete(&web).await.is(204);

    let again = alice.post(PROJECTS, &json!({ "name": "Web" })).await.is(201).json();
    let given = alice.post(PROJECTS, &json!({ "name": "Web", "slug": "web" })).await;

    assert_ne!(again["slug"], "web");
    given.is(400).code("already_exists").names("slug");
}

async fn only_owners_and_admins_delete(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let theirs = bob.post(PROJECTS, &json!({ "name": "Web", "team_id": alice.team })).await;
    let web = format!("{PROJECTS}/{}", theirs.is(201).json()["id"].as_str().unwrap());

    let reply = bob.delete(&web).await;

    let error = "only an owner or admin of the team may do this";
    assert_eq!(reply.is(403).json(), json!({ "error": error, "code": "forbidden" }));
    alice.get(&web).await.is(200);
}

on_every_store![
    a_deleted_project_is_gone_with_all_it_held,
    a_deleted_project_takes_no_changes,
    a_deleted_project_is_unknown_to_other_teams,
    a_token_reaches_a_deleted_project_no_more,
    the_slug_of_a_deleted_project_is_never_given_again,
    only_owners_and_admins_delete,
];
