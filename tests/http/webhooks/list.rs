//! Tests of listing webhooks and their deliveries.

use chrono::TimeDelta;
use secrets_tests::{Kind, in_memory_and_on_postgres};
use serde_json::{Value, json};

use super::World;

async fn webhooks_are_a_bare_list_oldest_first(kind: Kind) {
    let world = World::on(kind).await;
    assert_eq!(world.alice.get(&world.webhooks).await.is(200).json(), json!([]));
    for name in ["a", "b", "c"] {
        world.webhook(&format!("https://{name}.example.com")).await;
        world.wait(TimeDelta::milliseconds(1));
    }

    let listed = world.alice.get(&world.webhooks).await.is(200).json();

    let urls: Vec<_> = listed.as_array().unwrap().iter().map(|one| &one["url"]).collect();
    assert_eq!(urls, ["https://a.example.com", "https://b.example.com", "https://c.example.com"]);
    assert!(listed.as_array().unwrap().iter().all(|one| one.get("secret").is_none()));
}

async fn deliveries_are_listed_newest_first(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, world.test(&webhook).await);
        world.wait(TimeDelta::milliseconds(1));
    }
    world.receiver.wait_for(3).await;

    let listed = world.deliveries(&webhook).await;

    let listed_ids: Vec<_> = listed.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(listed_ids, ids);
    let fields: Vec<_> = listed[0].as_object().unwrap().keys().map(String::as_str).collect();
    let known =
        ["attempts", "created_at", "event", "id", "next_attempt_at", "response_status", "status"];
    assert_eq!(fields, known);
}

async fn a_service_token_sees_no_webhooks(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    let body = json!({ "all_projects": true, "permissions": ["read", "write"] });
    let token = world.app.bearer(&world.alice.token(&body).await);

    token.get(&world.webhooks).await.is(403);
    token.post(&world.webhooks, &Value::Null).await.is(403);
    token.delete(&webhook).await.is(403);
    token.post(&format!("{webhook}/test"), &Value::Null).await.is(403);
    token.get(&format!("{webhook}/deliveries")).await.is(403);
}

in_memory_and_on_postgres![;
    webhooks_are_a_bare_list_oldest_first,
    deliveries_are_listed_newest_first,
    a_service_token_sees_no_webhooks,
];
