//! Tests of exporting secrets.

use secrets_tests::{App, canary, in_memory_and_on_postgres, paths};
use serde_json::json;

async fn an_export_is_the_list_with_values(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    alice.secret(&web, "staging", "B", &canary("b")).await;
    let described = json!({ "key": "A", "value": canary("a"), "description": "First" });
    alice.post(&paths::secrets(&web, "preview"), &described).await.is(201);
    let list = alice.get(&paths::secrets(&web, "preview")).await.is(200).json();

    let export = alice.get(&paths::secret(&web, "preview", "export")).await.is(200).json();

    let mut expected = list;
    expected["secrets"][0]["value"] = json!(canary("a"));
    expected["secrets"][1]["value"] = json!(canary("b"));
    assert_eq!(expected["secrets"][0]["key"], "A");
    assert_eq!(expected["secrets"][1]["inherited_from"], "staging");
    assert_eq!(export, expected);
}

async fn an_environment_without_secrets_has_an_empty_export(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let export = alice.get(&paths::secret(&web, "staging", "export")).await.is(200).json();

    assert_eq!(export, json!({ "secrets": [] }));
}

async fn an_export_holds_current_values_only(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_old").await;
    alice.secret(&web, "staging", "GONE", "kvc_gone").await;
    alice.put(&paths::secret(&web, "staging", "KEY"), &json!({ "value": "kvc_new" })).await.is(200);
    alice.delete(&paths::secret(&web, "staging", "GONE")).await.is(204);

    let reply = alice.get(&paths::secret(&web, "staging", "export")).await;

    assert_eq!(reply.is(200).json()["secrets"][0]["value"], "kvc_new");
    assert!(!reply.text().contains("kvc_old") && !reply.text().contains("kvc_gone"));
}

async fn exporting_writes_an_audit_event(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    alice.secret(&web, "staging", "A", "kvc_a").await;
    alice.secret(&web, "preview", "B", "kvc_b").await;

    alice.get(&paths::secret(&web, "preview", "export")).await.is(200);

    let entry = app.entry(&alice.team, "secrets.exported").await;
    assert_eq!(entry.environment_name.as_deref(), Some("preview"));
    assert_eq!(entry.metadata, r#"{"count":2,"format":"list","inherited_count":1}"#);
}

async fn exporting_needs_the_permission_to_read(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let write = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&write).await);
    let reader = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let export = paths::secret(&web, "staging", "export");

    reader.get(&export).await.is(200);

    writer.get(&export).await.is(403).says("this token may not read");
    bob.get(&export).await.is(403);
    alice.get(&paths::secret(&web, "none", "export")).await.is(404).says("environment not found");
}

in_memory_and_on_postgres![
    an_export_is_the_list_with_values,
    an_environment_without_secrets_has_an_empty_export,
    an_export_holds_current_values_only,
    exporting_writes_an_audit_event,
    exporting_needs_the_permission_to_read,
];
