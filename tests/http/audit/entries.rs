//! Tests of the contents of an audit entry, and of data that an entry must never contain.

use chrono::TimeDelta;
use hyper::Method;
use secrets_core::model::Clock as _;
use secrets_tests::{App, canary, in_memory_and_on_postgres, paths};
use serde_json::json;

async fn an_entry_has_actor_action_object_time_and_address(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();
    app.wait(TimeDelta::seconds(5));

    let headers = [("content-type", "application/json"), ("user-agent", "secrets-cli/1.0")];
    let body = json!({ "key": "KEY", "value": canary("entry") }).to_string();
    let reply = alice.raw(Method::POST, &paths::secrets(&web, "staging"), &headers, body).await;

    let secret = reply.is(201).json()["secret"].clone();
    let entry = app.entry(&alice.team, "secret.created").await;
    assert_eq!(entry.team.unwrap().to_string(), alice.team);
    assert_eq!(entry.project.unwrap().to_string(), paths::last(&web));
    assert_eq!(entry.project_name.as_deref(), Some("Web"));
    assert_eq!(json!(entry.environment.unwrap()), staging["id"]);
    assert_eq!(entry.environment_name.as_deref(), Some("staging"));
    assert_eq!(
        (entry.actor_type.as_ref(), entry.actor_id.unwrap().to_string()),
        ("user", alice.id.clone())
    );
    assert_eq!(entry.actor_name.as_deref(), Some("alice"));
    assert_eq!(entry.actor_email.as_deref(), Some("alice@example.com"));
    assert_eq!(
        (entry.resource_type.as_ref(), entry.resource_name.as_deref()),
        ("secret", Some("KEY"))
    );
    assert_eq!(json!(entry.resource_id.unwrap().to_string()), secret["id"]);
    assert_eq!(entry.outcome, "success");
    assert_eq!(entry.address.unwrap().to_string(), "127.0.0.1");
    assert_eq!(entry.agent.as_deref(), Some("secrets-cli/1.0"));
    assert_eq!(entry.request.unwrap().to_string(), reply.header("x-request-id").unwrap());
    assert_eq!(entry.created_at, app.clock.now());
}

async fn a_long_agent_is_cut(app: App) {
    let alice = app.person("alice").await;
    let agent = "a".repeat(300);

    let headers = [("content-type", "application/json"), ("user-agent", agent.as_str())];
    let body = json!({ "name": "Web", "team_id": alice.team }).to_string();
    alice.raw(Method::POST, "/api/v1/projects", &headers, body).await.is(201);

    let entry = app.entry(&alice.team, "project.created").await;
    assert_eq!(entry.agent.unwrap(), agent[..128]);
}

async fn entries_are_kept_apart_by_team(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    alice.project("Web").await;
    bob.project("Shop").await;

    let (hers, his) = (app.audit(&alice.team).await, app.audit(&bob.team).await);

    let names = |entries: Vec<secrets_core::store::AuditRecord>| -> Vec<_> {
        entries.into_iter().filter_map(|entry| entry.project_name).collect()
    };
    assert_eq!((names(hers), names(his)), (vec!["Web".to_owned()], vec!["Shop".to_owned()]));
}

async fn an_entry_outlives_its_object(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;
    alice.secret(&web, "preview", "KEY", "kvc_value").await;

    alice.delete(&paths::environment(&web, "preview")).await.is(204);
    alice.delete(&web).await.is(204);

    let entry = app.entry(&alice.team, "secret.created").await;
    assert_eq!(entry.environment_name.as_deref(), Some("preview"));
    assert_eq!(entry.project_name.as_deref(), Some("Web"));
}

async fn no_value_is_in_any_field_of_any_entry(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (secrets, key) = (paths::secrets(&web, "staging"), paths::secret(&web, "staging", "KEY"));
    let described = json!({ "key": "KEY", "value": canary("one"), "description": canary("text") });
    let imported =
        json!({ "secrets": [{ "key": "B", "value": canary("bulk") }], "overwrite": true });
    let scope = json!({ "all_projects": true, "permissions": ["read", "write"] });
    let text = alice.token(&scope).await;
    let token = app.bearer(&text);

    alice.post(&secrets, &described).await.is(201);
    alice
        .put(&key, &json!({ "value": canary("two"), "description": canary("text") }))
        .await
        .is(200);
    alice.post(&format!("{secrets}/bulk"), &imported).await.is(200);
    alice.get(&key).await.is(200);
    alice.get(&format!("{secrets}/export")).await.is(200);
    token.get(&paths::eso_secret("web", "staging", "KEY")).await.is(200);
    token.get(&paths::eso_secrets("web", "staging")).await.is(200);
    token.delete(&key).await.is(204);

    let entries = app.audit(&alice.team).await;
    assert_eq!(entries.len(), 11);
    let all = format!("{entries:?}");
    assert!(!all.contains("kvc_") && !all.contains(&text), "{all}");
}

in_memory_and_on_postgres![
    an_entry_has_actor_action_object_time_and_address,
    a_long_agent_is_cut,
    entries_are_kept_apart_by_team,
    an_entry_outlives_its_object,
    no_value_is_in_any_field_of_any_entry,
];
