//! Tests of reading one secret.

use secrets_tests::{App, STARTED, canary, in_memory_and_on_postgres, paths};
use serde_json::json;

async fn a_secret_is_read_with_its_value(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = json!({ "key": "KEY", "value": canary("read"), "description": "For the shop" });
    let created = alice.post(&paths::secrets(&web, "staging"), &body).await.is(201).json();

    let secret = alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200).json();

    let mut expected = created;
    expected["secret"]["value"] = json!(canary("read"));
    assert_eq!(expected["secret"]["created_at"], STARTED);
    assert_eq!(secret, expected);
}

async fn project_and_environment_are_named_by_id_or_name(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let id = alice.environment(&web, "preview", None).await;
    alice.secret(&web, "preview", "KEY", "kvc_value").await;

    for project in [web.as_str(), "/api/v1/projects/web"] {
        for environment in ["preview", &id] {
            let secret = alice.get(&paths::secret(project, environment, "KEY")).await;
            assert_eq!(secret.is(200).json()["secret"]["value"], "kvc_value");
        }
    }
}

async fn a_key_that_is_not_there_is_404(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.secret(&web, "production", "OTHER", "kvc_other").await;
    let body = json!({ "error": "secret not found", "code": "not_found" });
    let long = "K".repeat(300);

    for key in ["NONE", "key", "OTHER", "KEY%20", "1", "K%C3%89Y", "%24%7BKEY%7D", &long] {
        let reply = alice.get(&paths::secret(&web, "staging", key)).await;
        assert_eq!(reply.is(404).json(), body, "{key}");
    }
}

async fn a_key_may_be_percent_encoded(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "A.B-C", "kvc_value").await;

    let reply = alice.get(&paths::secret(&web, "staging", "%41%2EB%2dC")).await;

    assert_eq!(reply.is(200).json()["secret"]["key"], "A.B-C");
}

async fn export_and_bulk_are_operations_before_they_are_keys(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let (export, bulk) =
        (paths::secret(&web, "staging", "export"), paths::secret(&web, "staging", "bulk"));

    assert!(alice.get(&export).await.is(200).json()["secrets"].is_array());
    assert!(
        alice.get(&paths::secret(&web, "staging", "%65xport")).await.is(200).json()["secrets"]
            .is_array()
    );

    let change = json!({ "value": "kvc_two" });
    assert_eq!(alice.put(&export, &change).await.is(405).header("allow"), Some("GET, HEAD"));
    assert_eq!(alice.delete(&export).await.is(405).header("allow"), Some("GET, HEAD"));
    assert_eq!(alice.get(&bulk).await.is(405).header("allow"), Some("POST"));
}

async fn a_token_reads_within_its_scope_and_permissions(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    alice.secret(&shop, "staging", "KEY", "kvc_value").await;
    let scope = json!({ "project_ids": ["web"], "environments": ["staging"] });
    let token = app.bearer(&alice.token(&scope).await);
    let outside = json!({ "error": "outside of this token's scope", "code": "forbidden" });

    let inside = token.get(&paths::secret(&web, "staging", "KEY")).await;
    let elsewhere = [
        token.get(&paths::secret(&web, "production", "KEY")).await,
        token.get(&paths::secret(&web, "production", "NONE")).await,
        token.get(&paths::secret(&shop, "staging", "KEY")).await,
    ];

    assert_eq!(inside.is(200).json()["secret"]["value"], "kvc_value");
    for reply in elsewhere {
        assert_eq!(reply.is(403).json(), outside);
    }
}

async fn another_teams_secret_is_403_whether_or_not_it_exists(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    let there = bob.get(&paths::secret(&web, "staging", "KEY")).await;
    let not_there = bob.get(&paths::secret(&web, "staging", "NONE")).await;

    assert_eq!(there.is(403).json(), not_there.is(403).json());
}

in_memory_and_on_postgres![
    a_secret_is_read_with_its_value,
    project_and_environment_are_named_by_id_or_name,
    a_key_that_is_not_there_is_404,
    a_key_may_be_percent_encoded,
    export_and_bulk_are_operations_before_they_are_keys,
    a_token_reads_within_its_scope_and_permissions,
    another_teams_secret_is_403_whether_or_not_it_exists,
];
