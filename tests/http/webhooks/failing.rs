//! Tests of deliveries to webhook receivers that fail.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use secrets_core::model::{WebhookId, ids};
use secrets_tests::{App, Build, Kind, Person, Receiver, on_every_store, until};
use serde_json::{Value, json};

use super::{HERE, World, deliver};

fn next_attempt(delivery: &Value) -> DateTime<Utc> {
    delivery["next_attempt_at"].as_str().unwrap().parse().unwrap()
}

fn now(app: &App) -> DateTime<Utc> {
    secrets_core::model::Clock::now(app.clock.as_ref())
}

/// Signs in Alice again, because the token of her first sign-in has expired.
async fn again(world: &mut World) -> &Person {
    world.alice = world.app.person("alice").await;
    &world.alice
}

async fn a_receiver_that_is_down_for_a_while_gets_each_event_under_its_id(kind: Kind) {
    let world = World::on(kind).await;
    // The receiver has a separate address, so that no other test gets its port while it is stopped.
    let receiver = Receiver::start_on([127, 0, 0, 2].into(), 0).await;
    let (webhook, _) = world.webhook(&receiver.url("/")).await;
    let address = receiver.address;
    drop(receiver);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(format!("msg_{}", world.test(&webhook).await));
    }
    until("each delivery was tried", async || {
        deliver(&world.app).await;
        world.deliveries(&webhook).await.iter().all(|one| one["attempts"] == 1)
    })
    .await;

    let receiver = Receiver::start_on(address.ip(), address.port()).await;
    // All deliveries are due again. Later, the time stands still, so that no claim of a worker ends.
    world.wait(TimeDelta::seconds(6));
    until("all are delivered", async || {
        deliver(&world.app).await;
        world.deliveries(&webhook).await.iter().all(|one| one["status"] == "delivered")
    })
    .await;

    let taken = receiver.taken();
    let mut arrived: Vec<_> = taken.iter().map(|one| one.header("webhook-id")).collect();
    arrived.sort_unstable();
    ids.sort_unstable();
    assert_eq!(arrived, ids);
}

async fn only_2xx_is_success(kind: Kind) {
    let world = World::on(kind).await;
    let elsewhere = Receiver::start().await;
    let away = elsewhere.url("/");

    for (status, header) in [(301, "location"), (307, "location"), (400, "x"), (503, "x")] {
        world.receiver.answer(status, &[(header, away.as_str())]);
        let webhook = world.webhook_here().await;
        world.test(&webhook).await;

        let delivery = world.tried(&webhook, 1).await;

        assert_eq!(delivery["status"], "pending", "{status}");
        assert_eq!(delivery["response_status"], status);
    }
    assert_eq!(elsewhere.connections(), 0, "no redirect is followed");
}

async fn a_failing_receiver_is_listed_until_it_accepts_a_delivery(kind: Kind) {
    let mut world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(500, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;
    world.wait(TimeDelta::seconds(6));
    again(&mut world).await;
    world.tried(&webhook, 2).await;

    let id = secrets_tests::paths::last(&webhook).to_owned();
    assert_eq!(world.app.failing().await, [("webhook receiver".to_owned(), id, 2)]);
    world.receiver.answer(204, &[]);
    world.wait(TimeDelta::minutes(6));
    again(&mut world).await;
    world.tried(&webhook, 3).await;
    assert_eq!(world.app.failing().await, []);
}

async fn a_failed_delivery_is_retried_as_the_standard_proposes(kind: Kind) {
    let mut world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(500, &[]);
    world.test(&webhook).await;
    let pauses = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

    for (attempts, pause) in (1..).zip(pauses) {
        let delivery = world.tried(&webhook, attempts).await;
        let wait = next_attempt(&delivery) - now(&world.app);
        let tenth = TimeDelta::seconds(pause) / 10;
        assert!(wait >= tenth * 8 && wait <= tenth * 12, "{attempts}: {wait}");
        world.wait(wait - TimeDelta::milliseconds(1));
        deliver(&world.app).await;
        assert_eq!(world.receiver.taken().len(), usize::try_from(attempts).unwrap(), "not before");
        world.wait(TimeDelta::milliseconds(1));
        again(&mut world).await;
    }

    let delivery = world.tried(&webhook, 10).await;
    assert_eq!(
        (&delivery["status"], &delivery["next_attempt_at"]),
        (&json!("failed"), &json!(null))
    );
    let taken = world.receiver.taken();
    assert!(taken.iter().all(|one| one.header("webhook-id") == taken[0].header("webhook-id")));
    assert!(taken.iter().all(|one| one.body == taken[0].body));
    assert_ne!(taken[0].header("webhook-timestamp"), taken[9].header("webhook-timestamp"));
    // Each attempt is signed with its own timestamp.
    assert_ne!(taken[0].header("webhook-signature"), taken[9].header("webhook-signature"));
    is_disabled_by_the_system(&world, &webhook).await;
}

async fn is_disabled_by_the_system(world: &World, webhook: &str) {
    assert!(!world.is_enabled(webhook).await);
    let entry = world.app.entry(&world.alice.team, "webhook.disabled").await;
    assert_eq!((entry.actor_type.as_ref(), entry.actor_id), ("system", None));
    assert_eq!(entry.resource_id.unwrap().to_string(), secrets_tests::paths::last(webhook));
    assert!(!format!("{entry:?}").contains("127.0.0.1"));
    let refused = world.alice.post(&format!("{webhook}/test"), &json!({})).await;
    refused.is(400);
}

async fn a_receiver_that_is_gone_is_sent_nothing_more(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(410, &[]);

    world.test(&webhook).await;

    let delivery = world.tried(&webhook, 1).await;
    assert_eq!(
        (&delivery["status"], &delivery["response_status"]),
        (&json!("failed"), &json!(410))
    );
    is_disabled_by_the_system(&world, &webhook).await;
}

async fn the_retry_after_of_a_receiver_is_honoured(kind: Kind) {
    let world = World::on(kind).await;
    let date = now(&world.app) + TimeDelta::hours(2);
    let date = date.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let cases = [("1800", 1_800), (date.as_str(), 7_200), ("999999999", 86_400)];

    for (retry_after, seconds) in cases {
        world.receiver.answer(429, &[("retry-after", retry_after)]);
        let webhook = world.webhook_here().await;
        world.test(&webhook).await;

        let delivery = world.tried(&webhook, 1).await;

        let wait = next_attempt(&delivery) - now(&world.app);
        assert_eq!(wait, TimeDelta::seconds(seconds), "{retry_after}");
    }
}

async fn retry_after_never_shortens_a_delay(kind: Kind) {
    let world = World::on(kind).await;
    world.receiver.answer(503, &[("retry-after", "0")]);
    let webhook = world.webhook_here().await;
    world.test(&webhook).await;

    let delivery = world.tried(&webhook, 1).await;

    assert!(next_attempt(&delivery) - now(&world.app) >= TimeDelta::seconds(4));
}

async fn a_webhook_that_fails_for_five_days_is_disabled(kind: Kind) {
    let mut world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(503, &[("retry-after", "86400")]);
    world.test(&webhook).await;

    // Each delay is a day, so five days pass before the ten attempts are used up.
    for attempts in 1..=5 {
        world.tried(&webhook, attempts).await;
        assert!(world.is_enabled(&webhook).await);
        world.wait(TimeDelta::days(1));
        again(&mut world).await;
    }

    assert_eq!(world.tried(&webhook, 6).await["status"], "failed");
    is_disabled_by_the_system(&world, &webhook).await;
}

async fn a_webhook_that_recovers_is_not_disabled(kind: Kind) {
    let mut world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    for _ in 0..3 {
        world.receiver.answer(503, &[("retry-after", "86400")]);
        world.test(&webhook).await;
        world.tried(&webhook, 1).await;
        world.wait(TimeDelta::days(2));
        again(&mut world).await;
        world.receiver.answer(200, &[]);
        world.tried(&webhook, 2).await;
    }

    assert!(world.is_enabled(&webhook).await);
}

async fn a_success_restarts_the_five_days(kind: Kind) {
    let mut world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(503, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;
    world.wait(TimeDelta::minutes(1));
    world.receiver.answer(200, &[]);
    world.tried(&webhook, 2).await;

    world.wait(TimeDelta::days(6));
    again(&mut world).await;
    world.receiver.answer(503, &[]);
    world.test(&webhook).await;

    assert_eq!(world.tried(&webhook, 1).await["status"], "pending");
    assert!(world.is_enabled(&webhook).await);
}

/// Sends due deliveries until none is left in the outbox.
async fn until_all_are_settled(world: &World) {
    for _ in 0..400 {
        deliver(&world.app).await;
        // Includes deliveries that a worker has claimed.
        let later = now(&world.app) + TimeDelta::days(9);
        let mut reads = world.app.store.read().await.unwrap();
        if reads.due_deliveries("webhook", later, None, 9).await.unwrap().is_empty() {
            return;
        }
        drop(reads);
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("deliveries are left in the outbox");
}

async fn a_deleted_project_restarts_the_five_days(kind: Kind) {
    let mut world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(503, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;
    world.alice.delete(&world.project).await.is(204);
    world.wait(TimeDelta::minutes(1));
    until_all_are_settled(&world).await;
    world.wait(TimeDelta::days(6));
    again(&mut world).await;
    world.alice.post(&format!("{}/restore", world.project), &json!({})).await.is(200);

    world.test(&webhook).await;
    world.tried(&webhook, 1).await;
    world.wait(TimeDelta::minutes(1));

    assert_eq!(world.tried(&webhook, 2).await["status"], "pending");
    assert!(world.is_enabled(&webhook).await);
}

async fn a_service_that_was_down_restarts_the_five_days(kind: Kind) {
    let mut world = World::of(Build::on(kind).webhooks(HERE).without_workers().start().await).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(503, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    world.wait(TimeDelta::days(6));
    again(&mut world).await;

    assert_eq!(world.tried(&webhook, 2).await["status"], "pending");
    assert!(world.is_enabled(&webhook).await);
}

async fn pending_deliveries_of_a_disabled_webhook_are_given_up(kind: Kind) {
    let world = World::on(kind).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(500, &[]);
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;
    world.receiver.answer(410, &[]);
    world.wait(TimeDelta::milliseconds(1));
    world.test(&webhook).await;
    world.tried(&webhook, 1).await;

    world.wait(TimeDelta::minutes(1));
    until("all have failed", async || {
        deliver(&world.app).await;
        world.deliveries(&webhook).await.iter().all(|one| one["status"] == "failed")
    })
    .await;

    assert_eq!(world.receiver.taken().len(), 2);
}

async fn a_replaced_delivery_that_is_repeated_is_sent_once(kind: Kind) {
    let world = World::of(Build::on(kind).webhooks(HERE).without_workers().start().await).await;
    let webhook = world.webhook_here().await;
    world.receiver.answer(500, &[]);
    let replaced = world.test(&webhook).await;
    world.tried(&webhook, 1).await;
    world.wait(TimeDelta::milliseconds(1));
    world.test(&webhook).await;
    let id = ids::parse(secrets_tests::paths::last(&webhook)).unwrap();
    let mut tx = world.app.store.begin().await.unwrap();
    assert_eq!(tx.trim_webhook_deliveries(WebhookId::from(id), 1, 9).await.unwrap(), 1);
    tx.commit().await.unwrap();
    world.receiver.answer(204, &[]);

    let path = format!("{webhook}/deliveries/{replaced}/redeliver");
    world.alice.post(&path, &json!({})).await.is(200);
    world.wait(TimeDelta::minutes(1));
    deliver(&world.app).await;

    let taken = world.receiver.taken();
    let message = format!("msg_{replaced}");
    let sent = taken.iter().filter(|one| one.header("webhook-id") == message).count();
    assert_eq!(sent, 2, "once before it was replaced, and once after");
    let mut reads = world.app.store.read().await.unwrap();
    let left = reads.due_deliveries("webhook", now(&world.app), None, 9).await.unwrap();
    assert_eq!(left, []);
}

async fn a_receiver_that_is_slow_holds_up_no_other(kind: Kind) {
    let world = World::on(kind).await;
    let quick = Receiver::start_on([127, 0, 0, 2].into(), 0).await;
    // Another address of the same machine counts as another host.
    let body = json!({ "url": quick.url("/"), "events": super::EVENTS });
    let slow: Vec<_> = [world.webhook_here().await, world.webhook_here().await].into();
    let made = world.alice.post(&world.webhooks, &body).await.is(201).id();
    let other = format!("{}/{made}", world.webhooks);
    world.receiver.pause(Duration::from_mins(1));
    for _ in 0..5 {
        world.test(&slow[0]).await;
        world.test(&slow[1]).await;
    }
    world.receiver.wait_for(4).await;

    world.test(&other).await;
    quick.wait_for(1).await;

    assert_eq!(world.receiver.taken().len(), 4, "none of the four has ended");
    assert_eq!(world.receiver.most_at_once(), 4, "one host is sent four at once");
}

on_every_store![;
    a_receiver_that_is_down_for_a_while_gets_each_event_under_its_id,
    only_2xx_is_success,
    a_failing_receiver_is_listed_until_it_accepts_a_delivery,
    a_failed_delivery_is_retried_as_the_standard_proposes,
    a_receiver_that_is_gone_is_sent_nothing_more,
    the_retry_after_of_a_receiver_is_honoured,
    retry_after_never_shortens_a_delay,
    a_webhook_that_fails_for_five_days_is_disabled,
    a_webhook_that_recovers_is_not_disabled,
    a_success_restarts_the_five_days,
    a_deleted_project_restarts_the_five_days,
    a_service_that_was_down_restarts_the_five_days,
    pending_deliveries_of_a_disabled_webhook_are_given_up,
    a_replaced_delivery_that_is_repeated_is_sent_once,
    a_receiver_that_is_slow_holds_up_no_other,
];
