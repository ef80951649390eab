//! Tests of comparisons by users and service tokens that may read only a part of a project.

use secrets_core::model::{Clock as _, Role};
use secrets_tests::{App, on_every_store, paths};
use serde_json::json;

use super::{chain, columns, compare, compared, states};

async fn a_member_sees_the_names_of_environments_and_the_secrets_of_those_they_may_read(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.secret(&web, "production", "ONLY", "kvc_only").await;
    for (environment, role) in [("staging", "read"), ("production", "none")] {
        let path = paths::permission(&web, environment, &bob.id);
        alice.put(&path, &json!({ "role": role })).await.is(200);
    }

    let seen = compared(&bob, &web, "?equal=true").await;

    let roles = json!({ "development": "write", "staging": "read", "production": "none" });
    assert_eq!(columns(&seen, "role"), roles);
    let missing = json!({ "development": 1, "staging": 0, "production": null });
    assert_eq!(columns(&seen, "missing"), missing);
    assert_eq!(seen["keys"].as_array().unwrap().len(), 1);
    let of_key = json!({ "development": null, "staging": ["own", null, 1], "production": null });
    assert_eq!(states(&seen, "KEY"), of_key);
}

async fn a_secret_of_an_unreadable_ancestor_is_restricted(app: App) {
    let (alice, web) = chain(&app).await;
    let bob = app.person("bob").await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    let body = json!({ "key": "KEY", "value": "kvc_far", "description": "Far" });
    alice.post(&paths::secrets(&web, "production"), &body).await.is(201);
    let path = paths::permission(&web, "production", &bob.id);
    alice.put(&path, &json!({ "role": "none" })).await.is(200);

    let seen = compared(&bob, &web, "?equal=true&environments=near").await;

    assert_eq!(
        seen["keys"][0]["cells"][0],
        json!({
            "state": "inherited", "from": "production", "version": 1, "restricted": true,
            "updated_at": app.clock.now(),
        })
    );
    let readable = compared(&alice, &web, "?equal=true&environments=near").await;
    let cell = &readable["keys"][0]["cells"][0];
    assert_eq!((&cell["description"], &cell["group"]), (&json!("Far"), &json!(1)));
}

async fn a_token_compares_the_environments_of_its_scope(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.secret(&web, "production", "OTHER", "kvc_other").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.id();
    let scope = |permissions: &[&str]| {
        json!({
            "project_ids": [paths::last(&web)], "environments": ["staging"],
            "permissions": permissions,
        })
    };
    let reader = app.bearer(&alice.token(&scope(&["read"])).await);
    let writer = app.bearer(&alice.token(&scope(&["write"])).await);

    let seen = compared(&reader, &web, "").await;

    assert_eq!(columns(&seen, "role"), json!({ "staging": "read" }));
    assert_eq!(states(&seen, "KEY"), json!({ "staging": ["own", null, 1] }));
    assert_eq!(compared(&reader, &web, &format!("?environments={staging}")).await, seen);
    reader.get(&compare(&web, "?environments=staging,production")).await.is(403);
    reader.get(&compare(&web, "?environments=nowhere")).await.is(404);
    writer.get(&compare(&web, "")).await.is(403);
}

async fn another_teams_project_is_not_compared(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (web, shop) = (alice.project("Web").await, bob.project("Shop").await);
    alice.secret(&web, "staging", "KEY", "kvc_alice").await;
    bob.secret(&shop, "staging", "KEY", "kvc_bob").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.id();

    bob.get(&compare(&web, "")).await.is(403);
    bob.get(&compare(&web, "?equal=true")).await.is(403);
    bob.get(&compare(&shop, &format!("?environments={staging}"))).await.is(404);

    assert_eq!(compared(&bob, &shop, "").await["keys"].as_array().unwrap().len(), 1);
}

on_every_store![
    a_member_sees_the_names_of_environments_and_the_secrets_of_those_they_may_read,
    a_secret_of_an_unreadable_ancestor_is_restricted,
    a_token_compares_the_environments_of_its_scope,
    another_teams_project_is_not_compared,
];
