//! Tests of the update of a webhook after attempts.

use super::*;
use crate::model::EnvironmentId;
use crate::testing::fixtures::{at, rotation_in, webhook, webhook_delivery};

#[test]
fn a_delivery_that_was_replaced_while_it_was_sent_is_not_retried() {
    let rotation = rotation_in(EnvironmentId::draw(at(0)), "orders", at(0));
    let mut webhook = webhook(&rotation);
    let mut delivery = WebhookDeliveryRecord {
        status: DeliveryStatus::Failed,
        next_attempt_at: None,
        ..webhook_delivery(&webhook, at(1))
    };
    let failed = Outcome::Failed { status: Some(500), retry_after: None, reason: "failed" };

    let again = apply(&failed, &mut delivery, &mut webhook, at(2));

    assert_eq!((again, delivery.next_attempt_at), (None, None));
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Failed, 1));
    assert_eq!((webhook.enabled, webhook.failing_since), (true, Some(at(2))));
    apply(&Outcome::Accepted(204), &mut delivery, &mut webhook, at(3));
    assert_eq!(delivery.status, DeliveryStatus::Delivered);
}

#[test]
fn five_days_without_success_disable_a_webhook_at_a_repeated_failure() {
    let rotation = rotation_in(EnvironmentId::draw(at(0)), "orders", at(0));
    let (failing_since, day) = (Some(at(0)), 86_400);
    let mut webhook = WebhookRecord { failing_since, ..webhook(&rotation) };
    let failed = Outcome::Failed { status: Some(500), retry_after: None, reason: "failed" };
    let mut delivery = webhook_delivery(&webhook, at(6 * day));

    let again = apply(&failed, &mut delivery, &mut webhook, at(6 * day));
    assert!(again.is_some() && webhook.enabled);
    let again = apply(&failed, &mut delivery, &mut webhook, at(6 * day + 5));

    assert_eq!((again, webhook.enabled), (None, false));
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Failed, 2));
}

#[test]
fn an_attempt_that_is_exactly_a_day_late_does_not_restart_the_five_days() {
    let rotation = rotation_in(EnvironmentId::draw(at(0)), "orders", at(0));
    let (failing_since, day) = (Some(at(0)), 86_400);
    let mut webhook = WebhookRecord { failing_since, ..webhook(&rotation) };
    let failed = Outcome::Failed { status: None, retry_after: None, reason: "failed" };
    let mut delivery =
        WebhookDeliveryRecord { attempts: 3, ..webhook_delivery(&webhook, at(4 * day)) };

    let again = apply(&failed, &mut delivery, &mut webhook, at(5 * day));

    assert_eq!((again, webhook.enabled, webhook.failing_since), (None, false, Some(at(0))));
}

#[test]
fn the_five_days_start_again_after_a_day_without_attempts() {
    let rotation = rotation_in(EnvironmentId::draw(at(0)), "orders", at(0));
    let (failing_since, day) = (Some(at(0)), 86_400);
    let mut webhook = WebhookRecord { failing_since, ..webhook(&rotation) };
    let failed = Outcome::Failed { status: None, retry_after: None, reason: "failed" };
    let due = |due| WebhookDeliveryRecord { attempts: 3, ..webhook_delivery(&webhook, due) };
    let (mut on_time, mut late) = (due(at(4 * day)), due(at(5 * day)));

    apply(&failed, &mut on_time, &mut webhook, at(4 * day + 60));
    assert_eq!((webhook.enabled, webhook.failing_since), (true, Some(at(0))));
    apply(&failed, &mut late, &mut webhook, at(7 * day));

    assert_eq!((webhook.enabled, webhook.failing_since), (true, Some(at(7 * day))));
    apply(&Outcome::Dropped, &mut late, &mut webhook, at(8 * day));
    assert_eq!((webhook.enabled, webhook.failing_since), (true, None));
}
