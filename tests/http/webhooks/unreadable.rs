//! Tests of deliveries for which a stored record cannot be read, such as the record of the webhook.

use chrono::TimeDelta;
use secrets_core::model::rotations::DeliveryStatus;
use secrets_core::model::{Clock as _, WebhookDeliveryId, ids};
use secrets_core::store::DeliveryRecord;
use secrets_tests::{Build, Kind, on_sql_stores};

use super::{EVENTS, HERE, World, deliver};

/// Statement after which no record of a webhook can be read.
const DAMAGE: &str = "UPDATE webhooks SET events = 'other'";

/// Starts a server without background workers, requests a test delivery to a webhook and damages
/// the record of the webhook. Returns the ID of the delivery.
async fn damaged(kind: Kind) -> (World, String) {
    let world = World::of(Build::on(kind).webhooks(HERE).without_workers().start().await).await;
    let webhook = world.webhook_here().await;
    let delivery = world.test(&webhook).await;
    world.app.sql(DAMAGE).await;
    (world, delivery)
}

/// Returns the deliveries in the outbox, including those that are due later.
async fn waiting(world: &World) -> Vec<DeliveryRecord> {
    let later = world.app.clock.now() + TimeDelta::days(365);
    let mut reads = world.app.store.read().await.unwrap();
    reads.due_deliveries("webhook", later, None, 9).await.unwrap()
}

async fn a_delivery_whose_webhook_cannot_be_read_is_retried_and_given_up(kind: Kind) {
    let (world, delivery) = damaged(kind).await;

    for (attempts, pause) in (1..).zip([5, 60, 300, 1_800, 7_200, 18_000, 36_000]) {
        deliver(&world.app).await;
        let row = waiting(&world).await.remove(0);
        let again = world.app.clock.now() + TimeDelta::seconds(pause);
        assert_eq!((row.attempts, row.next_attempt_at), (attempts, again));
        world.wait(TimeDelta::seconds(pause));
        assert_eq!(
            world.app.failing().await,
            [("delivery".to_owned(), delivery.clone(), u64::from(attempts))]
        );
    }
    deliver(&world.app).await;

    assert_eq!(waiting(&world).await, []);
    assert_eq!(world.receiver.connections(), 0);
    let id = WebhookDeliveryId::from(ids::parse(&delivery).unwrap());
    let mut reads = world.app.store.read().await.unwrap();
    let ended = reads.webhook_delivery(id).await.unwrap().unwrap();
    assert_eq!((ended.status, ended.next_attempt_at), (DeliveryStatus::Failed, None));
    assert_eq!(world.app.failing().await, [("delivery".to_owned(), delivery, 8)]);
}

async fn a_delivery_is_sent_once_its_webhook_can_be_read(kind: Kind) {
    let (world, delivery) = damaged(kind).await;
    deliver(&world.app).await;
    assert_eq!(world.app.failing().await, [("delivery".to_owned(), delivery, 1)]);

    let repair = format!("UPDATE webhooks SET events = '{}'", EVENTS.join(","));
    world.app.sql(&repair).await;
    world.wait(TimeDelta::seconds(5));
    deliver(&world.app).await;

    assert_eq!(world.receiver.taken().len(), 1);
    assert_eq!(world.app.failing().await, []);
}

on_sql_stores!(;
    a_delivery_whose_webhook_cannot_be_read_is_retried_and_given_up,
    a_delivery_is_sent_once_its_webhook_can_be_read
);
