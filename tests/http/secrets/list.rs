//! Tests of listing secrets.

use secrets_tests::{App, STARTED, canary, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

fn keys(list: &Value) -> Vec<&str> {
    list["secrets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| secret["key"].as_str().unwrap())
        .collect()
}

async fn the_list_holds_keys_and_metadata_and_no_values(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();
    let body = json!({ "key": "KEY", "value": canary("list"), "description": "For the shop" });
    alice.post(&paths::secrets(&web, "staging"), &body).await.is(201);

    let reply = alice.get(&paths::secrets(&web, "staging")).await;

    let list = reply.is(200).json();
    let secret = json!({
        "id": list["secrets"][0]["id"],
        "environment_id": staging["id"],
        "key": "KEY",
        "type": "string",
        "description": "For the shop",
        "version": 1,
        "created_at": STARTED,
        "updated_at": STARTED,
        "created_by": alice.id,
        "updated_by": alice.id,
    });
    assert_eq!(list, json!({ "secrets": [secret] }));
}

async fn the_list_is_in_the_order_of_keys(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for key in ["b", "_X", "A_B", "a", "B", "A", "A.B", "A-B", "AB"] {
        alice.secret(&web, "staging", key, "kvc_value").await;
    }

    let list = alice.get(&paths::secrets(&web, "staging")).await.is(200).json();
    assert_eq!(keys(&list), ["A", "A-B", "A.B", "AB", "A_B", "B", "_X", "a", "b"]);
}

async fn an_environment_without_secrets_has_an_empty_list(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let list = alice.get(&paths::secrets(&web, "staging")).await.is(200).json();

    assert_eq!(list, json!({ "secrets": [] }));
}

async fn environments_that_do_not_inherit_share_nothing(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);

    alice.secret(&web, "staging", "WEB_STAGING", "kvc_value").await;
    alice.secret(&web, "production", "WEB_PRODUCTION", "kvc_value").await;
    alice.secret(&shop, "staging", "SHOP_STAGING", "kvc_value").await;

    let list = alice.get(&paths::secrets(&web, "staging")).await.is(200).json();
    assert_eq!(keys(&list), ["WEB_STAGING"]);
}

async fn listing_needs_the_permission_to_read(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let scope = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&scope).await);

    writer.get(&paths::secrets(&web, "staging")).await.is(403).says("this token may not read");
    bob.get(&paths::secrets(&web, "staging")).await.is(403);
    alice.get(&paths::secrets(&web, "none")).await.is(404).says("environment not found");
}

in_memory_and_on_postgres![
    the_list_holds_keys_and_metadata_and_no_values,
    the_list_is_in_the_order_of_keys,
    an_environment_without_secrets_has_an_empty_list,
    environments_that_do_not_inherit_share_nothing,
    listing_needs_the_permission_to_read,
];
