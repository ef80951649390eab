//! Tests that a webhook receiver that does not respond does not delay deliveries to other
//! receivers.

use std::time::Duration;

use chrono::TimeDelta;
use secrets_core::engine::{Options, Ports};
use secrets_core::rotations::webhooks::WebhookDeliveries;
use secrets_core::{Service, outbox};
use secrets_tests::{Build, Counted, Kind, Receiver, on_every_store};

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

async fn refused_deliveries_of_a_team_are_skipped(kind: Kind) {
    let world = World::of(Build::on(kind).webhooks(HERE).without_workers().start().await).await;
    for _ in 0..8 {
        let webhook = world.webhook_here().await;
        for _ in 0..5 {
            world.test(&webhook).await;
        }
    }
    let store = Counted::of(&world.app.store);
    let ports = Ports { store: store.clone(), ..world.app.ports() };
    let node = Service::open(ports, Options::default()).await.unwrap();

    let (mut claimed, mut tried) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let before = store.reads();
        claimed.extend(outbox::claim_due(node.engine(), &WebhookDeliveries, 64).await.unwrap());
        // One read loads the due deliveries, and two for each delivery load its receiver.
        tried.push((store.reads() - before - 1) / 2);
    }

    // Four are claimed. Each call tries 16 of the others, and none a second time.
    assert_eq!((claimed.len(), tried), (4, vec![20, 16, 4, 0]));
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
    refused_deliveries_of_a_team_are_skipped,
    deliveries_that_wait_for_others_to_end_are_a_lag,
);
