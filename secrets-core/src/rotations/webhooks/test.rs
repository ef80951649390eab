//! Sending of test events to webhooks.

use chrono::{DateTime, TimeDelta};

use super::event::{EventPlace, enqueue_test_event};
use super::{DISABLED, WebhookDelivery};
use super::{locked_webhook_rotation, rotation_webhook};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Bound, EnvironmentPath, Error, Result, Subject, Time, WebhookId};

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

/// Maximum number of messages to a webhook per minute that users request: test events, and
/// deliveries that are sent again. Limited, because the owner of the receiver may not have agreed to
/// get them.
const MAX_REQUESTED_PER_MINUTE: u64 = 5;

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
        count_requested(cx, webhook.id).await?;

        let now = cx.now();
        let place = cx.reads().rotation_location(rotation.id).await?;
        let place = place.ok_or(Error::NotFound(Subject::Rotation))?;
        let place = EventPlace::new(&place, &rotation);
        let delivery = enqueue_test_event(cx.tx(), webhook.id, &place, now).await?;
        Ok(delivery.into())
    }
}

/// Counts a message to a webhook that a user requested: a test event, or a delivery that is sent
/// again. Fails if there are too many in this minute.
pub(super) async fn count_requested(cx: &mut Context<'_, Write>, webhook: WebhookId) -> Result<()> {
    let until = next_minute(cx.now());
    let counter = format!("webhook-requests/{webhook}");
    if cx.tx().count_message(&counter, until).await? > MAX_REQUESTED_PER_MINUTE {
        return Err(Error::RateLimited { bound: Bound::WebhookTests, until });
    }
    Ok(())
}

/// Returns the beginning of the minute after this time.
fn next_minute(now: Time) -> Time {
    let minute = now.timestamp().div_euclid(60) + 1;
    DateTime::from_timestamp(minute * 60, 0).unwrap_or(now + TimeDelta::minutes(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_ends_at_the_next_full_one() {
        for (now, end) in [(0, 60), (59, 60), (60, 120), (-1, 0)] {
            let [now, end] = [now, end].map(|time| DateTime::from_timestamp(time, 0).unwrap());

            assert_eq!(next_minute(now), end, "{now}");
        }
    }
}
