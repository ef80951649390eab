//! Tests of changing environments.

use secrets_core::model::Role;
use secrets_tests::{App, Person, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

async fn shown(person: &Person, project: &str, environment: &str) -> Value {
    person.get(&paths::environment(project, environment)).await.is(200).json()
}

async fn an_environment_is_renamed_with_all_it_holds(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let id = alice.environment(&web, "preview", Some("staging")).await;
    alice.environment(&web, "child", Some("preview")).await;
    alice.secret(&web, "preview", "KEY", "kvc_value").await;
    let scope = json!({ "project_ids": [paths::last(&web)], "environments": ["preview"] });
    let token = app.bearer(&alice.token(&scope).await);
    app.wait(chrono::TimeDelta::seconds(5));

    let reply = alice
        .patch(&paths::environment(&web, "preview"), &json!({ "name": "QA", "description": "Us" }))
        .await;

    let environment = reply.is(200).json();
    assert_eq!((&environment["id"], &environment["name"]), (&json!(id), &json!("QA")));
    assert_eq!(environment["description"], "Us");
    assert_eq!(environment["updated_at"], "2026-11-21T12:00:15Z");
    assert_eq!(environment, shown(&alice, &web, "QA").await);
    assert!(environment["inherits_from"].is_string());
    alice.get(&paths::environment(&web, "preview")).await.is(404);
    token.get(&paths::eso_secret(&web, "QA", "KEY")).await.is(200);
    let child = alice.get(&paths::secret(&web, "child", "KEY")).await.is(200).json();
    assert_eq!(child["secret"]["inherited_from"], "QA");
    let entry = app.entry(&alice.team, "environment.updated").await;
    assert_eq!(entry.environment_name.as_deref(), Some("QA"));
    assert_eq!(entry.metadata, r#"{"renamed_from":"preview"}"#);
}

async fn a_parent_is_given_by_id_or_name_and_taken_away_by_null(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let base = alice.environment(&web, "base", None).await;
    alice.secret(&web, "base", "KEY", "kvc_base").await;
    let path = paths::environment(&web, "staging");
    let key = paths::secret(&web, "staging", "KEY");

    for parent in ["base", base.as_str()] {
        let reply = alice.patch(&path, &json!({ "inherits_from": parent })).await;
        assert_eq!(reply.is(200).json()["inherits_from"], base);
        assert_eq!(alice.get(&key).await.is(200).json()["secret"]["inherited_from"], "base");

        let reply = alice.patch(&path, &json!({ "inherits_from": null })).await;
        assert_eq!(reply.is(200).json().get("inherits_from"), None);
        alice.get(&key).await.is(404);
    }

    let entries = app.audit(&alice.team).await;
    let details = |entry: &secrets_core::store::AuditRecord| entry.metadata.clone();
    let entries = entries.iter().filter(|entry| entry.action == "environment.updated");
    let mut entries: Vec<_> = entries.map(details).collect();
    entries.sort();
    entries.dedup();
    assert_eq!(entries, [r#"{"inherits_from":"base"}"#, r#"{"inherits_from":null}"#]);
}

async fn fields_that_are_not_given_stay(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    let path = paths::environment(&web, "preview");
    alice.patch(&path, &json!({ "description": "Mine" })).await.is(200);
    let before = shown(&alice, &web, "preview").await;

    let body = json!({ "name": "preview", "description": null, "other": 7 });
    let after = alice.patch(&path, &body).await.is(200).json();

    assert_eq!(after, before);
    assert_eq!((&after["description"], after["inherits_from"].is_string()), (&json!("Mine"), true));
}

async fn a_change_of_nothing_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for body in [json!({}), json!({ "name": null }), json!({ "parent": "staging" })] {
        let reply = alice.patch(&paths::environment(&web, "staging"), &body).await;
        reply.is(400).says("name or inherits_from or description must be given");
    }
}

async fn default_environments_keep_their_names(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for name in ["qa", "STAGING"] {
        let body = json!({ "name": name, "description": "No" });
        let reply = alice.patch(&paths::environment(&web, "staging"), &body).await;
        reply.is(400).code("default_environment");
    }

    assert_eq!(shown(&alice, &web, "staging").await.get("description"), None);
}

async fn a_name_that_is_taken_is_400_in_any_case_of_letters(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;
    let path = paths::environment(&web, "preview");

    for name in ["staging", "STAGING"] {
        let reply = alice.patch(&path, &json!({ "name": name })).await;
        reply.is(400).code("already_exists").names("name");
    }
    for name in ["", "a b", "0191d0a0-0000-7000-8000-000000000000"] {
        alice.patch(&path, &json!({ "name": name })).await.is(400).names("name");
    }
    alice.patch(&path, &json!({ "name": "PREVIEW" })).await.is(200);
    alice.environment(&web, "other", None).await;
    let other = paths::environment(&web, "other");
    alice.patch(&other, &json!({ "name": "preview" })).await.is(400).code("already_exists");
    alice.patch(&paths::environment(&web, "PREVIEW"), &json!({ "name": "free" })).await.is(200);
    alice.patch(&other, &json!({ "name": "preview" })).await.is(200);
}

async fn a_circle_is_refused(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "a", None).await;
    alice.environment(&web, "b", Some("a")).await;
    alice.environment(&web, "c", Some("b")).await;

    for parent in ["a", "b", "c"] {
        let body = json!({ "inherits_from": parent });
        let reply = alice.patch(&paths::environment(&web, "a"), &body).await;
        reply.is(400).code("circular_inheritance");
    }

    assert_eq!(shown(&alice, &web, "a").await.get("inherits_from"), None);
}

async fn the_limit_of_a_chain_counts_descendants(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut parent = None;
    for number in 0..10 {
        let name = format!("up-{number}");
        alice.environment(&web, &name, parent.as_deref()).await;
        parent = Some(name);
    }
    parent = None;
    for number in 0..7 {
        let name = format!("down-{number}");
        alice.environment(&web, &name, parent.as_deref()).await;
        parent = Some(name);
    }
    let top = paths::environment(&web, "down-0");

    alice.patch(&top, &json!({ "inherits_from": "up-9" })).await.is(400).code("invalid_request");
    alice.patch(&top, &json!({ "inherits_from": "up-8" })).await.is(200);

    alice.get(&paths::secrets(&web, "down-6")).await.is(200);
    let body = json!({ "name": "more", "inherits_from": "down-6" });
    alice.post(&paths::environments(&web), &body).await.is(400);
}

async fn a_parent_in_another_project_is_400(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (web, shop) = (alice.project("Web").await, bob.project("Shop").await);
    let foreign = bob.environment(&shop, "foreign", None).await;
    let path = paths::environment(&web, "staging");

    for parent in [foreign.as_str(), "foreign", "", "0191d0a0-0000-7000-8000-000000000000"] {
        let reply = alice.patch(&path, &json!({ "inherits_from": parent })).await;
        reply.is(400).names("inherits_from");
    }
    bob.patch(&path, &json!({ "description": "Mine" })).await.is(403);
}

async fn only_owners_and_admins_change_an_environment(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;

    for body in
        [json!({ "name": "qa" }), json!({ "inherits_from": null }), json!({ "description": "x" })]
    {
        bob.patch(&paths::environment(&web, "preview"), &body).await.is(403);
    }
}

in_memory_and_on_postgres![
    an_environment_is_renamed_with_all_it_holds,
    a_parent_is_given_by_id_or_name_and_taken_away_by_null,
    fields_that_are_not_given_stay,
    a_change_of_nothing_is_400,
    default_environments_keep_their_names,
    a_name_that_is_taken_is_400_in_any_case_of_letters,
    a_circle_is_refused,
    the_limit_of_a_chain_counts_descendants,
    a_parent_in_another_project_is_400,
    only_owners_and_admins_change_an_environment,
];
