//! Conformance rules for webhooks and their deliveries.

use super::{assert_stale, begin, committed};
use crate::model::rotations::{DeliveryStatus, WebhookEvent};
use crate::model::{Subject, WebhookDeliveryId, WebhookId};
use crate::store::{RotationRecord, Store, StoreError, Tx, WebhookDeliveryRecord, WebhookRecord};
use crate::testing::fixtures::{World, at, rotation, sealed, webhook, webhook_delivery};

/// A webhook is found by its ID and its rotation, with all its fields.
pub async fn all_fields_of_a_webhook_survive(store: &dyn Store) {
    let (world, of, mut tx) = one(store).await;
    let full = WebhookRecord {
        sealed: sealed(&[0, 255]),
        events: vec![WebhookEvent::Failed, WebhookEvent::Started],
        enabled: false,
        failing_since: Some(at(3)),
        created_by: Some(world.owner.id.uuid()),
        created_at: at(1),
        ..webhook(&of)
    };
    let all = WebhookRecord { created_at: at(2), ..webhook(&of) };
    let none = WebhookRecord { events: Vec::new(), created_at: at(4), ..webhook(&of) };

    for webhook in [&full, &all, &none] {
        tx.insert_webhook(webhook).await.unwrap();
    }

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.webhook(full.id).await.unwrap(), Some(full.clone()));
    assert_eq!(seen.webhooks(of.id).await.unwrap(), [full, all, none]);
}

/// A lookup finds no webhook with an unknown ID, and no webhook of another rotation.
pub async fn an_unknown_webhook_is_not_found(store: &dyn Store) {
    let (world, of, mut tx) = one(store).await;
    let other = rotation(&world.staging, "other");
    tx.insert_rotation(&other, &[]).await.unwrap();
    tx.insert_webhook(&webhook(&of)).await.unwrap();

    let mut seen = committed(store, tx).await;

    let unknown = WebhookId::draw(at(0));
    assert_eq!(seen.webhook(unknown).await.unwrap(), None);
    assert_eq!(seen.webhooks(other.id).await.unwrap(), []);
    assert_eq!(seen.webhook_deliveries(unknown, 9).await.unwrap(), []);
    let unknown = WebhookDeliveryId::draw(at(0));
    assert_eq!(seen.webhook_delivery(unknown).await.unwrap(), None);
}

/// Webhooks of a rotation are listed oldest first.
pub async fn webhooks_come_oldest_first(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let [third, first, second] =
        [30, 10, 20].map(|age| WebhookRecord { created_at: at(age), ..webhook(&of) });
    for webhook in [&third, &first, &second] {
        tx.insert_webhook(webhook).await.unwrap();
    }

    let found = committed(store, tx).await.webhooks(of.id).await.unwrap();

    assert_eq!(found, [first, second, third]);
}

/// Adding a webhook to a deleted rotation fails.
pub async fn a_rotation_that_is_gone_gets_no_webhook(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    tx.delete_rotation(of.id).await.unwrap();

    assert_stale(tx.insert_webhook(&webhook(&of)).await, Subject::Rotation);

    assert_eq!(committed(store, tx).await.webhooks(of.id).await.unwrap(), []);
}

/// `update_webhook` changes `enabled` and `failing_since`, and nothing else.
pub async fn an_update_enables_or_disables_a_webhook(store: &dyn Store) {
    let (world, of, mut tx) = one(store).await;
    let (before, other) = (webhook(&of), WebhookRecord { created_at: at(1), ..webhook(&of) });
    tx.insert_webhook(&before).await.unwrap();
    tx.insert_webhook(&other).await.unwrap();
    let after = WebhookRecord { enabled: false, failing_since: Some(at(9)), ..before.clone() };
    let changed = WebhookRecord {
        sealed: sealed(b"another"),
        events: Vec::new(),
        created_by: Some(world.owner.id.uuid()),
        created_at: at(5),
        ..after.clone()
    };

    tx.update_webhook(&changed).await.unwrap();

    assert_eq!(tx.webhook(before.id).await.unwrap(), Some(after));
    tx.update_webhook(&before).await.unwrap();
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.webhooks(of.id).await.unwrap(), [before, other]);
}

/// Deleting a webhook deletes its deliveries, and no other webhook or delivery.
pub async fn a_deleted_webhook_is_gone_with_its_deliveries(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let [gone, kept] = [0, 1].map(|_| webhook(&of));
    let [lost, held] = [&gone, &kept].map(|webhook| webhook_delivery(webhook, at(1)));
    for (webhook, delivery) in [(&gone, &lost), (&kept, &held)] {
        tx.insert_webhook(webhook).await.unwrap();
        tx.insert_webhook_delivery(delivery).await.unwrap();
    }

    tx.delete_webhook(gone.id).await.unwrap();

    assert_stale(tx.delete_webhook(gone.id).await, Subject::Webhook);
    assert_stale(tx.update_webhook(&gone).await, Subject::Webhook);
    assert_stale(tx.update_webhook_delivery(&lost).await, Subject::WebhookDelivery);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.webhook(gone.id).await.unwrap(), None);
    assert_eq!(seen.webhook_delivery(lost.id).await.unwrap(), None);
    assert_eq!(seen.webhook_deliveries(gone.id, 9).await.unwrap(), []);
    assert_eq!(seen.webhook_deliveries(kept.id, 9).await.unwrap(), [held]);
    assert_eq!(seen.webhooks(of.id).await.unwrap(), [kept]);
}

/// A delivery is loaded with all its fields. A delivery of a test event has no event type.
pub async fn all_fields_of_a_webhook_delivery_survive(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let to = webhook(&of);
    let full = WebhookDeliveryRecord {
        event: Some(WebhookEvent::Completed),
        body: r#"{"ünï":"日本 '\\"}"#.to_owned(),
        status: DeliveryStatus::Failed,
        attempts: u32::MAX,
        response_status: Some(u16::MAX),
        next_attempt_at: Some(at(9)),
        ..webhook_delivery(&to, at(2))
    };
    let test = WebhookDeliveryRecord {
        event: None,
        status: DeliveryStatus::Delivered,
        next_attempt_at: None,
        ..webhook_delivery(&to, at(1))
    };
    tx.insert_webhook(&to).await.unwrap();

    tx.insert_webhook_delivery(&full).await.unwrap();
    tx.insert_webhook_delivery(&test).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.webhook_delivery(full.id).await.unwrap(), Some(full.clone()));
    assert_eq!(seen.webhook_deliveries(to.id, 9).await.unwrap(), [full, test]);
}

/// Inserting a delivery fails if its webhook does not exist.
pub async fn a_delivery_needs_a_webhook(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;

    let refused = tx.insert_webhook_delivery(&webhook_delivery(&webhook(&of), at(1))).await;

    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
}

/// Deliveries are listed newest first, up to the limit.
pub async fn webhook_deliveries_come_newest_first(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let to = webhook(&of);
    let [second, third, first] = [20, 30, 10].map(|age| webhook_delivery(&to, at(age)));
    tx.insert_webhook(&to).await.unwrap();
    for delivery in [&second, &third, &first] {
        tx.insert_webhook_delivery(delivery).await.unwrap();
    }

    let mut seen = committed(store, tx).await;

    let found = seen.webhook_deliveries(to.id, 9).await.unwrap();
    assert_eq!(found, [third.clone(), second.clone(), first]);
    assert_eq!(seen.webhook_deliveries(to.id, 2).await.unwrap(), [third, second]);
}

/// An update changes the state of a delivery, but not its content or its webhook.
pub async fn an_update_stores_the_status_of_a_delivery(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let [to, other] = [0, 1].map(|_| webhook(&of));
    let before = webhook_delivery(&to, at(1));
    tx.insert_webhook(&to).await.unwrap();
    tx.insert_webhook(&other).await.unwrap();
    tx.insert_webhook_delivery(&before).await.unwrap();
    let after = WebhookDeliveryRecord {
        status: DeliveryStatus::Delivered,
        attempts: 3,
        response_status: Some(204),
        next_attempt_at: None,
        ..before.clone()
    };
    let changed = WebhookDeliveryRecord {
        webhook: other.id,
        event: None,
        body: "another".to_owned(),
        created_at: at(9),
        ..after.clone()
    };

    tx.update_webhook_delivery(&changed).await.unwrap();

    let mut seen = committed(store, tx).await;
    assert_eq!(seen.webhook_deliveries(to.id, 9).await.unwrap(), [after]);
}

/// Pruning deletes old webhook deliveries, oldest first, up to the limit. It keeps pending
/// deliveries.
pub async fn old_webhook_deliveries_are_pruned(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let to = webhook(&of);
    let over = |age, status| WebhookDeliveryRecord { status, ..webhook_delivery(&to, at(age)) };
    let (oldest, older) = (over(1, DeliveryStatus::Failed), over(2, DeliveryStatus::Delivered));
    let (waits, old) = (over(0, DeliveryStatus::Pending), over(3, DeliveryStatus::Delivered));
    let young = over(10, DeliveryStatus::Delivered);
    tx.insert_webhook(&to).await.unwrap();
    for delivery in [&old, &waits, &young, &oldest, &older] {
        tx.insert_webhook_delivery(delivery).await.unwrap();
    }

    tx.prune_webhook_deliveries(at(10), 2).await.unwrap();
    let left = tx.webhook_deliveries(to.id, 9).await.unwrap();
    tx.prune_webhook_deliveries(at(10), 9).await.unwrap();

    assert_eq!(left, [young.clone(), old, waits.clone()]);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.webhook_deliveries(to.id, 9).await.unwrap(), [young, waits]);
}

/// Trimming the deliveries of a webhook to a maximum number sets the status of the older pending
/// deliveries to failed, and deletes the older deliveries that have ended. The maximum applies to
/// each of the two kinds separately. No other webhook is changed.
pub async fn surplus_pending_deliveries_fail(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let [to, other] = [0, 1].map(|_| webhook(&of));
    let ended = WebhookDeliveryRecord {
        status: DeliveryStatus::Delivered,
        next_attempt_at: None,
        ..webhook_delivery(&to, at(1))
    };
    let [old, middle, new] = [2, 3, 4].map(|age| webhook_delivery(&to, at(age)));
    let others = [4, 3, 2].map(|age| webhook_delivery(&other, at(age)));
    tx.insert_webhook(&to).await.unwrap();
    tx.insert_webhook(&other).await.unwrap();
    for delivery in [&middle, &ended, &new, &old].into_iter().chain(&others) {
        tx.insert_webhook_delivery(delivery).await.unwrap();
    }

    let failed = tx.trim_webhook_deliveries(to.id, 2, 9).await.unwrap();
    let none = tx.trim_webhook_deliveries(to.id, 2, 9).await.unwrap();

    assert_eq!((failed, none), (1, 0));
    let old =
        WebhookDeliveryRecord { status: DeliveryStatus::Failed, next_attempt_at: None, ..old };
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.webhook_deliveries(to.id, 9).await.unwrap(), [new, middle, old, ended]);
    assert_eq!(seen.webhook_deliveries(other.id, 9).await.unwrap(), others);
}

/// Trimming deletes deliveries of a webhook that have ended, except the newest ones. It deletes no
/// pending delivery, and no delivery of another webhook.
pub async fn surplus_webhook_deliveries_are_deleted(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let [to, other] = [0, 1].map(|_| webhook(&of));
    let over = |to, age, status| WebhookDeliveryRecord { status, ..webhook_delivery(to, at(age)) };
    let waits = webhook_delivery(&to, at(1));
    let [oldest, old] = [2, 3].map(|age| over(&to, age, DeliveryStatus::Failed));
    let [young, youngest] = [4, 5].map(|age| over(&to, age, DeliveryStatus::Delivered));
    let others = [3, 2, 1].map(|age| over(&other, age, DeliveryStatus::Delivered));
    tx.insert_webhook(&to).await.unwrap();
    tx.insert_webhook(&other).await.unwrap();
    for delivery in [&young, &oldest, &waits, &youngest, &old].into_iter().chain(&others) {
        tx.insert_webhook_delivery(delivery).await.unwrap();
    }

    let failed = tx.trim_webhook_deliveries(to.id, 2, 9).await.unwrap();

    assert_eq!(failed, 0);
    let mut seen = committed(store, tx).await;
    assert_eq!(seen.webhook_deliveries(to.id, 9).await.unwrap(), [youngest, young, waits]);
    assert_eq!(seen.webhook_deliveries(other.id, 9).await.unwrap(), others);
}

/// A webhook that is trimmed after each new delivery never has more than the given numbers of
/// deliveries. If it has more at first, each call examines only the newest ones.
pub async fn a_trimmed_webhook_has_few_deliveries(store: &dyn Store) {
    let (_, of, mut tx) = one(store).await;
    let to = webhook(&of);
    tx.insert_webhook(&to).await.unwrap();
    for age in 0..20 {
        tx.insert_webhook_delivery(&webhook_delivery(&to, at(age))).await.unwrap();
    }

    let failed = tx.trim_webhook_deliveries(to.id, 2, 6).await.unwrap();

    // The two failed deliveries before the last two are deleted at once.
    assert_eq!((failed, tx.webhook_deliveries(to.id, 99).await.unwrap().len()), (4, 18));
    for age in 20..40 {
        tx.insert_webhook_delivery(&webhook_delivery(&to, at(age))).await.unwrap();
        tx.trim_webhook_deliveries(to.id, 2, 6).await.unwrap();
    }
    let left = committed(store, tx).await.webhook_deliveries(to.id, 99).await.unwrap();
    let left: Vec<_> = left.iter().map(|one| (one.created_at, one.status)).collect();
    let (pending, failed) = (DeliveryStatus::Pending, DeliveryStatus::Failed);
    assert_eq!(left, [(at(39), pending), (at(38), pending), (at(37), failed), (at(36), failed)]);
}

/// Begins a transaction and creates a test world with a rotation in it. Returns the world, the
/// rotation and the open transaction.
async fn one(store: &dyn Store) -> (World, RotationRecord, Box<dyn Tx>) {
    let world = World::build(store).await;
    let of = rotation(&world.staging, "orders");
    let mut tx = begin(store).await;
    tx.insert_rotation(&of, &[]).await.unwrap();
    (world, of, tx)
}
