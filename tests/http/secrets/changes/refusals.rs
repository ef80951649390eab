//! Tests of change sets that the service must refuse.

use secrets_core::model::Role;
use secrets_tests::{Build, Kind, postgresql};
use serde_json::json;

use super::*;

async fn a_change_needs_write_access_and_a_copy_read_access(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    alice.environment(&web, "near", Some("production")).await;
    for environment in ["staging", "production"] {
        alice.secret(&web, environment, "KEY", "kvc_one").await;
    }
    for (environment, role) in [("staging", "read"), ("production", "none")] {
        let path = paths::permission(&web, environment, &bob.id);
        alice.put(&path, &json!({ "role": role })).await.is(200);
    }
    let before = dump(&app).await;

    for changes in [
        vec![set("development", "KEY", "kvc_two"), set("staging", "KEY", "kvc_two")],
        vec![set("production", "KEY", "kvc_two")],
        vec![copy("production", "development", "KEY")],
        // The value is inherited from an environment that the caller may not read.
        vec![copy("near", "development", "KEY")],
        vec![simple("delete", "staging", "KEY")],
    ] {
        plan(&bob, &web, &changes).await.is(403);
        change(&bob, &web, &changes).await.is(403);
    }

    let changes = before.changes(&dump(&app).await);
    assert!(changes.iter().all(|row| row.contains("denied")), "{changes:#?}");
    change(&bob, &web, &[copy("staging", "development", "KEY")]).await.is(200);
    assert_eq!(value(&bob, &web, "development", "KEY").await, "kvc_one");
}

async fn a_token_changes_the_environments_of_its_scope(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for environment in ["staging", "production"] {
        alice.secret(&web, environment, "KEY", "kvc_one").await;
    }
    let scope = |permissions: &[&str]| {
        json!({
            "project_ids": [paths::last(&web)], "environments": ["staging"],
            "permissions": permissions,
        })
    };
    let both = app.bearer(&alice.token(&scope(&["read", "write"])).await);
    let reader = app.bearer(&alice.token(&scope(&["read"])).await);

    let reply = change(&both, &web, &[set("staging", "KEY", "kvc_two")]).await;
    assert_eq!(results(&reply), json!([["updated", 1, 2]]));
    change(&both, &web, &[set("production", "KEY", "kvc_two")]).await.is(403);
    change(&both, &web, &[copy("production", "staging", "KEY")]).await.is(403);
    change(&reader, &web, &[set("staging", "KEY", "kvc_two")]).await.is(403);
    plan(&reader, &web, &[set("staging", "KEY", "kvc_two")]).await.is(403);
}

async fn a_token_that_may_only_write_does_not_learn_whether_it_guessed_a_value(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = json!({ "key": "KEY", "value": "kvc_one", "description": "One" });
    alice.post(&paths::secrets(&web, "staging"), &body).await.is(201);
    let scope = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&scope).await);

    let guesses = [set("staging", "KEY", "kvc_one"), set("staging", "KEY", "kvc_two")];
    for guess in guesses {
        let planned = plan(&writer, &web, &[guess]).await;
        assert_eq!(results(&planned), json!([["updated", 1, 2]]));
    }
    let guess = with(simple("describe", "staging", "KEY"), "description", "One");
    assert_eq!(results(&plan(&writer, &web, &[guess]).await), json!([["described", 1, 1]]));
    change(&writer, &web, &[copy("production", "staging", "KEY")]).await.is(403);
    let reply = change(&writer, &web, &[set("staging", "KEY", "kvc_one")]).await;
    assert_eq!(results(&reply), json!([["updated", 1, 2]]));
}

async fn another_teams_secrets_are_not_changed(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (web, shop) = (alice.project("Web").await, bob.project("Shop").await);
    alice.secret(&web, "staging", "KEY", "kvc_alice").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.id();

    change(&bob, &web, &[set("staging", "KEY", "kvc_bob")]).await.is(403);
    plan(&bob, &web, &[set("staging", "KEY", "kvc_alice")]).await.is(403);
    let foreign = change(&bob, &shop, &[set(&staging, "KEY", "kvc_bob")]).await;
    foreign.is(400).names("changes[0].environment");
    let foreign = change(&bob, &shop, &[copy(&staging, "staging", "KEY")]).await;
    foreign.is(400).names("changes[0].from");

    assert_eq!(value(&alice, &web, "staging", "KEY").await, "kvc_alice");
}

async fn an_invalid_change_is_named_and_its_value_is_not_repeated(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let valid = || set("staging", "OTHER", "kvc_one");
    let staging = alice.get(&paths::environment(&web, "staging")).await.id();

    for (invalid, field) in [
        (set("nowhere", "KEY", "kvc_two"), "changes[1].environment"),
        (set("staging", "no key", "kvc_two"), "changes[1].key"),
        (set("staging", "KEY", "kvc_\0"), "changes[1].value"),
        (simple("set", "staging", "KEY"), "changes[1].value"),
        (simple("copy", "staging", "KEY"), "changes[1].from"),
        (simple("describe", "staging", "KEY"), "changes[1].description"),
        (with(simple("hide", "staging", "KEY"), "value", "kvc_two"), "changes[1].value"),
        (
            with(simple("delete", "staging", "KEY"), "description", "kvc_d"),
            "changes[1].description",
        ),
        (with(set("staging", "KEY", "kvc_two"), "from", "production"), "changes[1].from"),
        (set(&staging, "OTHER", "kvc_two"), "changes[1].key"),
    ] {
        let reply = change(&alice, &web, &[valid(), invalid]).await;
        reply.is(400).names(field);
        assert_eq!(reply.json()["details"]["fields"][0]["index"], 1);
        assert!(!reply.text().contains("kvc_"), "{}", reply.text());
    }
    for changes in
        [json!([]), json!([with(valid(), "unknown", 1)]), json!([simple("move", "a", "B")])]
    {
        let reply = alice.post(&format!("{web}/changes"), &json!({ "changes": changes })).await;
        reply.is(400).code("invalid_request");
    }
    let unknown = json!({ "changes": [valid()], "dryrun": true });
    alice.post(&format!("{web}/changes"), &unknown).await.is(400);
    alice.get(&paths::secret(&web, "staging", "OTHER")).await.is(404);
}

async fn a_key_that_a_rotation_writes_is_not_changed(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut rotation = postgresql("main-db");
    rotation["secret_mapping"] = json!({ "password": "KEY" });
    alice.post(&paths::rotations(&web, "staging"), &rotation).await.is(201);

    for changed in [set("staging", "KEY", "kvc_two"), simple("hide", "staging", "KEY")] {
        for reply in [
            change(&alice, &web, &[set("staging", "OTHER", "kvc_one"), changed.clone()]).await,
            plan(&alice, &web, &[set("staging", "OTHER", "kvc_one"), changed.clone()]).await,
        ] {
            reply.is(400).code("managed_key").names("changes[1].key");
        }
    }

    alice.get(&paths::secret(&web, "staging", "OTHER")).await.is(404);
    change(&alice, &web, &[set("production", "KEY", "kvc_one")]).await.is(200);
}

async fn a_change_set_keeps_to_the_plan_of_the_team(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let full: Vec<_> = (0..250).map(|n| set("staging", &format!("KEY_{n}"), "kvc_one")).collect();
    change(&alice, &web, &full).await.is(200);

    let one_more = [set("production", "KEY", "kvc_one"), set("staging", "MORE", "kvc_one")];
    for reply in [change(&alice, &web, &one_more).await, plan(&alice, &web, &one_more).await] {
        reply.is(429).code("plan_limit_exceeded");
    }

    alice.get(&paths::secret(&web, "production", "KEY")).await.is(404);
    let replaced = [simple("delete", "staging", "KEY_0"), set("staging", "MORE", "kvc_one")];
    change(&alice, &web, &replaced).await.is(200);
}

on_every_store![
    a_change_needs_write_access_and_a_copy_read_access,
    a_token_changes_the_environments_of_its_scope,
    a_token_that_may_only_write_does_not_learn_whether_it_guessed_a_value,
    another_teams_secrets_are_not_changed,
    an_invalid_change_is_named_and_its_value_is_not_repeated,
    a_key_that_a_rotation_writes_is_not_changed,
    ;
    a_change_set_keeps_to_the_plan_of_the_team,
];
