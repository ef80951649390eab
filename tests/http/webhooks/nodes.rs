//! Tests of webhook deliveries by several server processes (nodes) with one store.

use std::time::Duration;

use chrono::TimeDelta;
use secrets_core::model::Clock as _;
use secrets_core::outbox::Channel as _;
use secrets_core::rotations::webhooks::WebhookDeliveries;
use secrets_core::store::DeliveryRecord;
use secrets_tests::{App, Kind, on_every_store, until};

use super::{World, deliver};

/// Time for which a node reserves (claims) a delivery, so that no other node sends the delivery
/// too.
const CLAIM: TimeDelta = TimeDelta::minutes(2);

/// Returns all deliveries that are not completed yet, including those that are scheduled for later.
async fn waiting(app: &App) -> Vec<DeliveryRecord> {
    let later = app.clock.now() + TimeDelta::days(365);
    let mut reads = app.store.read().await.unwrap();
    reads.due_deliveries(WebhookDeliveries.kind(), later, None, 100).await.unwrap()
}

/// Waits until all deliveries are completed.
async fn none_waits(app: &App) {
    until("all deliveries are completed", async || waiting(app).await.is_empty()).await;
}

async fn two_nodes_send_each_delivery_once(kind: Kind) {
    let world = World::on(kind).await;
    let other = world.app.restarted().await;
    let webhook = world.webhook_here().await;
    let (app, other) = (&world.app, &other);

    for _ in 0..15 {
        world.test(&webhook).await;
        tokio::join!(deliver(app), deliver(other), deliver(app), deliver(other));
        // Otherwise the claim of a slow worker could end, as if its node had died.
        none_waits(app).await;
        world.wait(TimeDelta::seconds(13));
    }

    world.receiver.wait_for(15).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let taken = world.receiver.taken();
    let mut ids: Vec<_> = taken.iter().map(|one| one.header("webhook-id").to_owned()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), taken.len()), (15, 15));
}

async fn a_delivery_that_a_node_did_not_finish_is_sent_again_with_its_id(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(500, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;
    // Stores the state that a node leaves if it dies during a delivery.
    let row = waiting(&world.app).await.remove(0);
    let mut tx = world.app.store.begin().await.unwrap();
    let next_attempt_at = world.app.clock.now() + CLAIM;
    let claimed = DeliveryRecord { attempts: row.attempts + 1, next_attempt_at, ..row };
    tx.claim_delivery(&claimed).await.unwrap();
    tx.commit().await.unwrap();
    world.receiver.answer(200, &[]);

    world.wait(CLAIM - TimeDelta::seconds(1));
    deliver(&world.app).await;
    assert_eq!(world.receiver.taken().len(), 1, "another node has the claim");
    world.wait(TimeDelta::seconds(1));
    world.tried(&webhook, 2).await;

    let taken = world.receiver.taken();
    assert_eq!(taken[0].header("webhook-id"), taken[1].header("webhook-id"));
    assert_eq!(waiting(&world.app).await, []);
}

on_every_store![;
    two_nodes_send_each_delivery_once,
    a_delivery_that_a_node_did_not_finish_is_sent_again_with_its_id,
];
