//! Listing of a webhook's deliveries.

use serde::Serialize;

use super::event::TEST;
use super::{rotation_webhook, webhook_rotation};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::rotations::DeliveryStatus;
use crate::model::{EnvironmentPath, Result, Time, WebhookDeliveryId, WebhookId};
use crate::store::WebhookDeliveryRecord;

/// Lists the deliveries of a webhook, newest first: at most 100, and only those created in the last
/// 30 days.
#[derive(Debug)]
pub struct ListDeliveries {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name; an invalid name is treated as an unknown rotation.
    pub rotation: String,
    /// Webhook ID; `None`, treated as an unknown webhook, if the given string is not a valid ID.
    pub webhook: Option<WebhookId>,
}

/// Delivery of an event to a webhook: pending, delivered or failed. The message ID that the
/// receiver gets is `msg_` followed by the delivery ID.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookDelivery {
    /// Delivery ID.
    pub id: WebhookDeliveryId,
    /// Name of the rotation's event, or `webhook.test` for a test event.
    pub event: &'static str,
    /// Status of the delivery.
    pub status: DeliveryStatus,
    /// Number of attempts to send the event.
    pub attempts: u32,
    /// HTTP status of the receiver's last response; `null` if the receiver has not responded yet.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub response_status: Option<u16>,
    /// Time of the next attempt while the delivery is pending; `null` otherwise.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_attempt_at: Option<Time>,
    /// Time of the event.
    pub created_at: Time,
}

/// Maximum number of pending deliveries that are kept for a webhook. The same maximum applies to
/// the deliveries that have ended.
pub(super) const MAX_DELIVERIES: u32 = 100;

/// Maximum number of deliveries in a list: all that are kept.
const MAX_LISTED: u32 = 2 * MAX_DELIVERIES;

impl Operation for ListDeliveries {
    const NAME: &'static str = "webhook.deliveries";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<WebhookDelivery>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<WebhookDelivery>> {
        let (_, rotation) = webhook_rotation(cx, &self.at, &self.rotation).await?;
        let webhook = rotation_webhook(cx, &rotation, self.webhook).await?;
        let deliveries = cx.reads().webhook_deliveries(webhook.id, MAX_LISTED).await?;
        Ok(deliveries.into_iter().map(Into::into).collect())
    }
}

impl From<WebhookDeliveryRecord> for WebhookDelivery {
    fn from(record: WebhookDeliveryRecord) -> Self {
        Self {
            id: record.id,
            event: record.event.map_or(TEST, |event| event.as_str()),
            status: record.status,
            attempts: record.attempts,
            response_status: record.response_status,
            next_attempt_at: record.next_attempt_at,
            created_at: record.created_at,
        }
    }
}
