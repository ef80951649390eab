//! Tests of listing and reading environments.

use secrets_tests::{App, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

fn names(list: &Value) -> Vec<&str> {
    list["environments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect()
}

async fn the_list_is_in_the_order_of_creation(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    alice.environment(&web, "alpha", None).await;

    let list = alice.get(&paths::environments(&web)).await.is(200).json();

    assert_eq!(names(&list), ["development", "staging", "production", "preview", "alpha"]);
    let orders: Vec<_> = (0..5).map(|index| list["environments"][index]["order"].clone()).collect();
    assert_eq!(orders, [0, 1, 2, 3, 4]);
    let one = alice.get(&paths::environment(&web, "preview")).await.is(200).json();
    assert_eq!(list["environments"][3], one);
}

async fn an_environment_is_named_by_its_id_or_its_name(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let id = alice.environment(&web, "Preview", None).await;

    let by_id = alice.get(&paths::environment(&web, &id)).await.is(200).json();
    let by_name = alice.get(&paths::environment(&web, "Preview")).await.is(200).json();

    assert_eq!(by_id, by_name);
    assert_eq!(by_id["name"], "Preview");
}

async fn an_unknown_environment_is_404(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    let foreign = alice.environment(&shop, "preview", None).await;
    let uuid = "0190f1f3-7b1c-7000-8000-000000000000";
    let body = json!({ "error": "environment not found", "code": "not_found" });

    for name in ["none", "Staging", "preview", "a%20b", uuid, &foreign] {
        let reply = alice.get(&paths::environment(&web, name)).await;
        assert_eq!(reply.is(404).json(), body, "{name}");
    }
}

async fn environments_of_another_teams_project_are_403(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;

    bob.get(&paths::environments(&web)).await.is(403);
    bob.get(&paths::environment(&web, "staging")).await.is(403);
    bob.get(&paths::environment(&web, "none")).await.is(403);
    bob.get(&paths::environments("/api/v1/projects/none")).await.is(404);
}

async fn a_token_sees_the_environments_of_its_scope(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let scope = json!({ "project_ids": ["web"], "environments": ["production", "staging"] });
    let token = app.bearer(&alice.token(&scope).await);

    let list = token.get(&paths::environments(&web)).await.is(200).json();

    assert_eq!(names(&list), ["staging", "production"]);
    token.get(&paths::environment(&web, "staging")).await.is(200);
    let reply = token.get(&paths::environment(&web, "development")).await;
    reply.is(403).says("outside of this token's scope");
    token.get(&paths::environment(&web, "none")).await.is(404);
}

in_memory_and_on_postgres![
    the_list_is_in_the_order_of_creation,
    an_environment_is_named_by_its_id_or_its_name,
    an_unknown_environment_is_404,
    environments_of_another_teams_project_are_403,
    a_token_sees_the_environments_of_its_scope,
];
