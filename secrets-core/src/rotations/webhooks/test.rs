//! Sending of test events to webhooks.

use chrono::TimeDelta;

use super::event::{EventPlace, enqueue_test_event};
use super::{DISABLED, WebhookDelivery};
use super::{locked_webhook_rotation, rotation_webhook};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Bound, EnvironmentPath, Error, Result, Subject, WebhookId};

/// Sends a test event (`webhook.test`) to a webhook, through the same queue as all events. The
/// operation ends before the event is delivered; the list of deliveries shows the result.
#[derive(Debug)]
pub struct TestWebhook {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name; an invalid name is treated as an unknown rotation.
    pub rotation: String,
    /// Webhook ID; `None`, treated as an unknown webhook, if the given string is not a valid ID.
    pub webhook: Option<WebhookId>,
}

/// Maximum number of test events to a webhook per minute. Limited, because the owner of the
/// receiver may not have agreed to get test events.
const MAX_TESTS_PER_MINUTE: usize = 5;

/// Number of latest deliveries in which test events are counted, to enforce the maximum per minute.
const DELIVERIES_SEARCHED: u32 = 50;

impl Operation for TestWebhook {
    const NAME: &'static str = "webhook.test";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("webhook.tested");
    type Access = Write;
    type Output = WebhookDelivery;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<WebhookDelivery> {
        let (_, rotation) = locked_webhook_rotation(cx, &self.at, &self.rotation).await?;
        let webhook = rotation_webhook(cx, &rotation, self.webhook).await?;
        if !webhook.enabled {
            return Err(DISABLED);
        }
        check_test_rate(cx, webhook.id).await?;

        let now = cx.now();
        let place = cx.reads().rotation_location(rotation.id).await?;
        let place = place.ok_or(Error::NotFound(Subject::Rotation))?;
        let place = EventPlace::new(&place, &rotation);
        let delivery = enqueue_test_event(cx.tx(), webhook.id, &place, now).await?;
        Ok(delivery.into())
    }
}

async fn check_test_rate(cx: &mut Context<'_, Write>, webhook: WebhookId) -> Result<()> {
    let since = cx.now() - TimeDelta::minutes(1);
    let deliveries = cx.reads().webhook_deliveries(webhook, DELIVERIES_SEARCHED).await?;
    let tests = deliveries.iter().filter(|one| one.event.is_none() && one.created_at > since);
    // Newest first, so the last counted test is the first to become older than a minute.
    match tests.take(MAX_TESTS_PER_MINUTE).enumerate().last() {
        Some((last, oldest)) if last + 1 == MAX_TESTS_PER_MINUTE => {
            let until = oldest.created_at + TimeDelta::minutes(1);
            Err(Error::RateLimited { bound: Bound::WebhookTests, until })
        }
        _ => Ok(()),
    }
}
