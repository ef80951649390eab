//! Tests of creating and deleting webhooks.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, Kind, STARTED, in_memory_and_on_postgres, paths};
use serde_json::json;

use super::{EVENTS, World};

const URL: &str = "https://hooks.example.com/rotations?key=kvc_token";

async fn the_signing_secret_of_a_new_webhook_is_shown_once(app: App) {
    let world = World::of(app).await;
    let body = json!({ "url": URL, "events": ["rotation.completed", "rotation.failed"] });

    let made = world.alice.post(&world.webhooks, &body).await.is(201).json();

    let secret = made["secret"].as_str().unwrap();
    assert_eq!((&secret[..6], secret.len()), ("whsec_", 50));
    let rotation = world.app.rotation(&world.alice, &world.project, "production", "other").await;
    assert_ne!(made["rotation_config_id"], rotation.to_string());
    let shown = json!({
        "id": made["id"],
        "rotation_config_id": made["rotation_config_id"],
        "url": URL,
        "events": ["rotation.completed", "rotation.failed"],
        "enabled": true,
        "created_at": STARTED,
    });
    assert_eq!(world.alice.get(&world.webhooks).await.is(200).json(), json!([shown]));
}

async fn a_url_must_be_allowed_by_the_egress_policy(app: App) {
    let world = World::of(app).await;
    let long = format!("https://example.com/{}", "a".repeat(2_048));
    let urls = [
        "",
        "example.com",
        "ftp://example.com",
        "http://example.com",
        "https://alice@example.com",
        "https://alice:kvc_pw@example.com",
        "https://example.com/#kvc_part",
        "https://example.com:0",
        "https://127.0.0.1",
        "https://localhost.:70000",
        "https://2130706433/",
        "https://0x7f.1",
        "https://[::1]",
        "https://[::ffff:10.0.0.1]",
        "https://169.254.169.254/latest",
        "https://10.0.0.1",
        &long,
    ];

    for url in urls {
        let body = json!({ "url": url, "events": EVENTS });
        let reply = world.alice.post(&world.webhooks, &body).await;
        reply.is(400).names("url");
        assert!(url.len() < 9 || !reply.text().contains(url), "{}", reply.text());
    }
    assert_eq!(world.alice.get(&world.webhooks).await.json(), json!([]));
}

async fn events_are_known_and_each_given_once(app: App) {
    let world = World::of(app).await;
    let cases = [
        (json!([]), "events"),
        (json!(["rotation.failed", "rotation.failed"]), "events"),
        (json!(["rotation.rolled_back"]), "events[0]"),
        (json!(["webhook.test"]), "events[0]"),
        (json!("rotation.failed"), "events"),
    ];

    for (events, field) in cases {
        let body = json!({ "url": URL, "events": events });
        world.alice.post(&world.webhooks, &body).await.is(400).names(field);
    }
    for (body, field) in [(json!({ "url": URL }), "events"), (json!({ "events": EVENTS }), "url")] {
        world.alice.post(&world.webhooks, &body).await.is(400).names(field);
    }
}

async fn an_unknown_field_is_refused(app: App) {
    let world = World::of(app).await;
    let body = json!({ "url": URL, "events": EVENTS, "secret": "kvc_mine" });

    world.alice.post(&world.webhooks, &body).await.is(400).names("body");
}

async fn a_rotation_has_ten_webhooks_at_most(app: App) {
    let world = World::of(app).await;
    for _ in 0..9 {
        world.webhook(URL).await;
    }
    let (path, _) = world.webhook(URL).await;
    let body = json!({ "url": URL, "events": EVENTS });

    let reply = world.alice.post(&world.webhooks, &body).await;

    reply.is(400).says("a rotation has at most 10 webhooks");
    world.alice.delete(&path).await.is(204);
    world.webhook(URL).await;
}

async fn an_unknown_rotation_is_not_found(app: App) {
    let world = World::of(app).await;
    let body = json!({ "url": URL, "events": EVENTS });

    for name in ["other-db", "MAIN-DB", "no%20name", "test", "main-db2"] {
        let path = paths::webhooks(&world.project, "production", name);
        world.alice.post(&path, &body).await.is(404).says("rotation not found");
        world.alice.get(&path).await.is(404);
    }
    let elsewhere = paths::webhooks(&world.project, "staging", "main-db");
    world.alice.get(&elsewhere).await.is(404);
}

async fn a_webhook_belongs_to_its_rotation(app: App) {
    let world = World::of(app).await;
    let (path, _) = world.webhook(URL).await;
    let id = paths::last(&path).to_owned();
    world.app.rotation(&world.alice, &world.project, "production", "other").await;
    let other = paths::webhooks(&world.project, "production", "other");

    world.alice.delete(&format!("{other}/{id}")).await.is(404).says("webhook not found");
    world.alice.get(&format!("{other}/{id}/deliveries")).await.is(404);
    world.alice.post(&format!("{other}/{id}/test"), &json!({})).await.is(404);

    world.alice.delete(&path).await.is(204);
    world.alice.delete(&path).await.is(404);
}

async fn changes_of_webhooks_are_recorded_without_their_urls(app: App) {
    let world = World::of(app).await;
    let (path, secret) = world.webhook(URL).await;
    world.test(&path).await;
    world.app.wait(TimeDelta::seconds(1));
    world.alice.delete(&path).await.is(204);

    for action in ["webhook.created", "webhook.tested", "webhook.deleted"] {
        let entry = world.app.entry(&world.alice.team, action).await;
        assert_eq!(entry.resource_type, "webhook");
        assert_eq!(entry.resource_id.unwrap().to_string(), paths::last(&path));
        assert_eq!(entry.resource_name.as_deref(), Some("main-db"));
        let text = format!("{entry:?}");
        assert!(!text.contains("hooks.example.com") && !text.contains(&secret[6..]), "{text}");
    }
}

async fn readers_see_webhooks_and_create_none(app: App) {
    let world = World::of(app).await;
    let bob = world.app.person("bob").await;
    world.app.join(&world.alice.team, &bob.id, Role::Member).await;
    let permission = paths::permission(&world.project, "production", &bob.id);
    world.alice.put(&permission, &json!({ "role": "read" })).await.is(200);
    let (path, _) = world.webhook(URL).await;

    bob.get(&world.webhooks).await.is(200);
    bob.get(&format!("{path}/deliveries")).await.is(200);
    let body = json!({ "url": URL, "events": EVENTS });
    bob.post(&world.webhooks, &body).await.is(403);
    bob.delete(&path).await.is(403);
    bob.post(&format!("{path}/test"), &json!({})).await.is(403);
}

async fn allowed_destinations_may_be_unencrypted(kind: Kind) {
    let app = secrets_tests::Build::on(kind).webhooks("10.0.0.0/8,hooks.internal").start().await;
    let world = World::of(app).await;

    for url in ["http://10.1.2.3/x", "https://10.1.2.3", "http://hooks.internal:8080/x"] {
        world.webhook(url).await;
    }
    for url in ["http://example.com", "http://127.0.0.1", "https://192.168.1.1"] {
        let body = json!({ "url": url, "events": EVENTS });
        world.alice.post(&world.webhooks, &body).await.is(400).names("url");
    }
}

in_memory_and_on_postgres![
    the_signing_secret_of_a_new_webhook_is_shown_once,
    a_url_must_be_allowed_by_the_egress_policy,
    events_are_known_and_each_given_once,
    an_unknown_field_is_refused,
    a_rotation_has_ten_webhooks_at_most,
    an_unknown_rotation_is_not_found,
    a_webhook_belongs_to_its_rotation,
    changes_of_webhooks_are_recorded_without_their_urls,
    readers_see_webhooks_and_create_none;
    allowed_destinations_may_be_unencrypted,
];
