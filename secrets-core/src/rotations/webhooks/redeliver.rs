//! Sending webhook deliveries again.

use super::event::enqueue;
use super::limits::count_requested;
use super::{DISABLED, WebhookDelivery};
use super::{locked_webhook_rotation, rotation_webhook};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::rotations::DeliveryStatus;
use crate::model::{Code, EnvironmentPath, Error, Result, Subject, WebhookDeliveryId, WebhookId};
use crate::store::WebhookDeliveryRecord;

/// Sends a delivery that has ended (delivered or failed) again: the same message with the same ID.
#[derive(Debug)]
pub struct Redeliver {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name; an invalid name is treated as an unknown rotation.
    pub rotation: String,
    /// Webhook ID; `None`, treated as an unknown webhook, if the given string is not a valid ID.
    pub webhook: Option<WebhookId>,
    /// Delivery ID; `None`, treated as an unknown delivery, if the given string is not a valid ID.
    pub delivery: Option<WebhookDeliveryId>,
}

impl Operation for Redeliver {
    const NAME: &'static str = "webhook.redeliver";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("webhook.redelivered");
    type Access = Write;
    type Output = WebhookDelivery;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<WebhookDelivery> {
        let (scope, rotation) = locked_webhook_rotation(cx, &self.at, &self.rotation).await?;
        let webhook = rotation_webhook(cx, &rotation, self.webhook).await?;
        let unknown = || Error::NotFound(Subject::WebhookDelivery);
        let found = cx.reads().webhook_delivery(self.delivery.ok_or_else(unknown)?).await?;
        let found = found.filter(|delivery| delivery.webhook == webhook.id);
        let delivery = found.ok_or_else(unknown)?;
        if !webhook.enabled {
            return Err(DISABLED);
        }
        if delivery.status == DeliveryStatus::Pending {
            let reason = "this delivery is still pending".into();
            return Err(Error::Refused { code: Code::InvalidRequest, reason });
        }
        count_requested(cx, webhook.id).await?;

        let now = cx.now();
        let again = WebhookDeliveryRecord {
            status: DeliveryStatus::Pending,
            attempts: 0,
            response_status: None,
            next_attempt_at: Some(now),
            ..delivery
        };
        cx.tx()
            .update_webhook_delivery(&again)
            .await
            .map_err(|error| error.or_not_found(Subject::WebhookDelivery))?;
        enqueue(cx.tx(), scope.project.team, again.id, now).await?;
        cx.add_detail("delivery", again.id.to_string());
        Ok(again.into())
    }
}
