//! Tests that the signing secret and the URL of a webhook are not disclosed. The URL may contain a
//! token.

use chrono::TimeDelta;
use secrets_core::model::Clock as _;
use secrets_core::outbox::Channel as _;
use secrets_core::rotations::webhooks::WebhookDeliveries;
use secrets_tests::{Dump, Kind, canary, in_memory_and_on_postgres};

use super::World;

async fn stored_rows_contain_no_url_and_no_signing_secret(kind: Kind) {
    let world = World::on(kind).await;
    let token = canary("webhook");
    let before = Dump::of(world.app.store.as_ref(), &[]).await;
    let (webhook, secret) = world.webhook(&world.receiver.url(&format!("/{token}"))).await;
    world.receiver.answer(500, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    let stored = before.changes(&Dump::of(world.app.store.as_ref(), &["alice"]).await).join("\n");
    let later = world.app.clock.now() + TimeDelta::days(365);
    let mut reads = world.app.store.read().await.unwrap();
    let waiting = reads.due_deliveries(WebhookDeliveries.kind(), later, None, 10).await.unwrap();
    let stored = format!("{stored}\n{waiting:?}");

    assert!(stored.contains("WebhookRecord") && stored.contains("webhook.test"), "{stored}");
    let port = world.receiver.address.port().to_string();
    for hidden in [token.as_str(), "127.0.0.1:", &format!(":{port}"), &secret, &secret[6..]] {
        assert!(!stored.contains(hidden), "{hidden}");
    }
}

async fn a_webhook_that_was_moved_or_changed_is_sent_nothing(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    let rotation = world.app.rotation(&world.alice, &world.project, "production", "other").await;
    let id = secrets_core::model::ids::parse(secrets_tests::paths::last(&webhook)).unwrap();
    let mut tx = world.app.store.begin().await.unwrap();
    let record = tx.webhook(id.into()).await.unwrap().unwrap();
    // Copy of the record with the same sealed bytes and another ID.
    let other = secrets_core::model::WebhookId::draw(world.app.clock.now());
    let moved = secrets_core::store::WebhookRecord { id: other, rotation, ..record };
    tx.insert_webhook(&moved).await.unwrap();
    tx.commit().await.unwrap();
    let path = secrets_tests::paths::webhooks(&world.project, "production", "other");

    let webhook = format!("{path}/{other}");
    world.test(&webhook).await;

    let delivery = world.tried(&webhook, 1).await;
    assert_eq!(delivery["status"], "pending");
    assert_eq!(world.receiver.connections(), 0);
    world.alice.get(&path).await.is(500).says("internal error");
}

in_memory_and_on_postgres![;
    stored_rows_contain_no_url_and_no_signing_secret,
    a_webhook_that_was_moved_or_changed_is_sent_nothing,
];
