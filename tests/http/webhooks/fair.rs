//! Tests that a webhook receiver that does not respond does not delay deliveries to other
//! receivers.

use std::time::Duration;

use chrono::TimeDelta;
use secrets_core::outbox;
use secrets_core::rotations::webhooks::WebhookDeliveries;
use secrets_tests::{Build, Kind, Receiver, on_every_store};

use super::{HERE, World};

async fn many_deliveries_to_one_receiver_do_not_delay_others(kind: Kind) {
    let world = World::of(Build::on(kind).webhooks(HERE).without_workers().start().await).await;
    let slow = world.webhook_here().await;
    for _ in 0..6 {
        world.test(&slow).await;
        world.wait(TimeDelta::minutes(1));
    }
    let other = Receiver::start_on([127, 0, 0, 2].into(), 0).await;
    let (fast, _) = world.webhook(&other.url("/")).await;
    world.test(&fast).await;
    let engine = world.app.service.engine();

    let first = outbox::claim_due(engine, &WebhookDeliveries, 64).await.unwrap();
    let second = outbox::claim_due(engine, &WebhookDeliveries, 64).await.unwrap();

    assert_eq!((first.len(), second.len()), (5, 0), "four at one host, and one at the other");
    drop(first);
    let third = outbox::claim_due(engine, &WebhookDeliveries, 64).await.unwrap();
    assert_eq!(third.len(), 2, "the claimed ones are not due");
}

async fn deliveries_that_wait_for_others_to_end_are_a_lag(kind: Kind) {
    let world = World::of(Build::on(kind).webhooks(HERE).without_workers().start().await).await;
    let webhook = world.webhook_here().await;
    for _ in 0..3 {
        world.test(&webhook).await;
        world.wait(TimeDelta::minutes(1));
    }
    let engine = world.app.service.engine();
    assert_eq!(engine.lags(), [], "no worker has run");

    let first = outbox::claim_due(engine, &WebhookDeliveries, 1).await.unwrap();
    let waiting = engine.lags();
    drop(first);
    outbox::claim_due(engine, &WebhookDeliveries, 64).await.unwrap();

    assert_eq!(waiting, [("webhook", Duration::from_mins(2))], "of the second of three");
    assert_eq!(engine.lags(), [("webhook", Duration::ZERO)]);
}

on_every_store!(;
    many_deliveries_to_one_receiver_do_not_delay_others,
    deliveries_that_wait_for_others_to_end_are_a_lag,
);
