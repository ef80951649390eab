//! Tests of deleting environments.

use secrets_core::model::Role;
use secrets_core::projects::purge;
use secrets_tests::{App, Build, Kind, on_every_store, paths};
use serde_json::json;

async fn a_deleted_environment_is_gone_with_its_secrets(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let id = alice.environment(&web, "preview", None).await;
    alice.secret(&web, "preview", "KEY", "kvc_value").await;

    alice.delete(&paths::environment(&web, "preview")).await.is(204);

    for name in ["preview", &id] {
        alice.get(&paths::environment(&web, name)).await.is(404).says("environment not found");
        alice.get(&paths::secrets(&web, name)).await.is(404);
        alice.delete(&paths::environment(&web, name)).await.is(404);
    }
    alice.environment(&web, "preview", None).await;
    let secrets = alice.get(&paths::secrets(&web, "preview")).await.is(200).json();
    assert_eq!(secrets, json!({ "secrets": [] }));
}

/// The environment has more secrets than one transaction of the purge deletes.
async fn the_secrets_of_a_deleted_environment_are_purged(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;
    alice.secret(&web, "staging", "KEPT", "kvc_kept").await;
    let kept = app.record(&web, "staging", "KEPT").await.id;
    for batch in 0..6 {
        let secrets = (0..100).map(|n| json!({ "key": format!("K{batch}_{n}"), "value": "kvc" }));
        let secrets = json!({ "secrets": secrets.collect::<Vec<_>>() });
        alice.post(&paths::secret(&web, "preview", "bulk"), &secrets).await.is(200);
    }
    let engine = app.service.engine();

    alice.delete(&paths::environment(&web, "preview")).await.is(204);

    // Everything is still stored, but neither readable nor reported as unreadable.
    alice.get(&paths::secret(&web, "preview", "K0_0")).await.is(404);
    let mut reads = app.store.read().await.unwrap();
    assert_ne!(reads.secret_range().await.unwrap(), Some((kept, kept)));
    let verified = app.service.verify_records().await.unwrap();
    assert_eq!((verified.secrets, verified.unreadable), (1, vec![]));
    assert_eq!(purge(engine).await.unwrap(), 1);
    assert_eq!(reads.secret_range().await.unwrap(), Some((kept, kept)));
    assert_eq!(purge(engine).await.unwrap(), 0);
    let actions = app.actions(&alice.team).await;
    assert_eq!(actions.iter().filter(|action| *action == "environment.deleted").count(), 1);
    assert!(!actions.contains(&"project.purged".to_owned()));
}

async fn the_default_environments_cannot_be_deleted(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();
    let error = "the default environments development, staging and production cannot be deleted";
    let body = json!({ "error": error, "code": "default_environment" });

    for name in ["development", "staging", "production", staging["id"].as_str().unwrap()] {
        let reply = alice.delete(&paths::environment(&web, name)).await;

        assert_eq!(reply.is(400).json(), body);
    }
    let list = alice.get(&paths::environments(&web)).await.is(200).json();
    assert_eq!(list["environments"].as_array().unwrap().len(), 3);
}

async fn an_environment_that_others_inherit_from_stays_and_they_are_named(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "base", None).await;
    alice.environment(&web, "two", Some("base")).await;
    alice.environment(&web, "one", Some("base")).await;
    alice.environment(&web, "grandchild", Some("one")).await;

    let reply = alice.delete(&paths::environment(&web, "base")).await;

    let error = "other environments inherit from this one: one, two";
    assert_eq!(reply.is(400).json(), json!({ "error": error, "code": "environment_in_use" }));
    for name in ["grandchild", "one", "two", "base"] {
        alice.delete(&paths::environment(&web, name)).await.is(204);
    }
}

async fn a_missing_permission_to_delete_is_reported_first(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let admin = app.person("ada").await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    app.join(&alice.team, &admin.id, Role::Admin).await;
    let web = alice.project("Web").await;
    bob.environment(&web, "preview", None).await;

    let error = "only an owner or admin of the team may do this";
    for name in ["preview", "staging"] {
        let reply = bob.delete(&paths::environment(&web, name)).await;
        assert_eq!(reply.is(403).json(), json!({ "error": error, "code": "forbidden" }));
    }
    bob.delete(&paths::environment(&web, "none")).await.is(404);

    admin.delete(&paths::environment(&web, "preview")).await.is(204);
}

async fn a_scope_without_its_deleted_environment_grants_nothing(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;
    let scope = json!({ "project_ids": ["web"], "environments": ["preview"] });
    let token = app.bearer(&alice.token(&scope).await);

    alice.delete(&paths::environment(&web, "preview")).await.is(204);
    alice.environment(&web, "preview", None).await;

    token.get(&paths::eso_secrets("web", "preview")).await.is(403);
    token.get(&paths::eso_secrets("web", "staging")).await.is(403);
    let list = token.get(&paths::environments(&web)).await.is(200).json();
    assert_eq!(list, json!({ "environments": [] }));
}

on_every_store![
    a_deleted_environment_is_gone_with_its_secrets,
    the_default_environments_cannot_be_deleted,
    an_environment_that_others_inherit_from_stays_and_they_are_named,
    a_missing_permission_to_delete_is_reported_first,
    a_scope_without_its_deleted_environment_grants_nothing;
    the_secrets_of_a_deleted_environment_are_purged,
];
