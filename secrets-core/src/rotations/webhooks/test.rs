//! Sending of test events to webhooks.

use super::event::{EventPlace, enqueue_test_event};
use super::limits::count_requested;
use super::{DISABLED, WebhookDelivery};
use super::{locked_webhook_rotation, rotation_webhook};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{EnvironmentPath, Error, Result, Subject, WebhookId};

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
