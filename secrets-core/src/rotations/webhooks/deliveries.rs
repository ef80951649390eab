//! Listing what a webhook was told.

use serde::Serialize;

use super::event::TEST;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::rotations::DeliveryStatus;
use crate::model::{EnvironmentPath, Permission, Result, Time, WebhookDeliveryId, WebhookId};
use crate::store::WebhookDeliveryRecord;

/// Lists what a webhook was told and is to be told, newest first: the last 100, of 30 days.
#[derive(Debug)]
pub struct ListDeliveries {
    /// Where the rotation is.
    pub at: EnvironmentPath,
    /// The rotation's name; what cannot be one names nothing.
    pub rotation: String,
    /// Which webhook; `None` if what was given is no id and names nothing.
    pub webhook: Option<WebhookId>,
}

/// An event on its way to a webhook, or there. The message's id is `msg_` and the delivery's.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookDelivery {
    /// Which delivery.
    pub id: WebhookDeliveryId,
    /// Of what: an event of the rotation, or `webhook.test`.
    pub event: &'static str,
    /// How it is doing.
    pub status: DeliveryStatus,
    /// How often it was sent.
    pub attempts: u32,
    /// The status of the receiver's last answer.
    pub response_status: Option<u16>,
    /// When it is sent next, while it is pending.
    pub next_attempt_at: Option<Time>,
    /// When the event happened.
    pub created_at: Time,
}

/// The most that are told of.
const LIMIT: u32 = 100;

impl Operation for ListDeliveries {
    const NAME: &'static str = "webhook.deliveries";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<WebhookDelivery>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<WebhookDelivery>> {
        let (_, rotation) =
            cx.rotation_of_webhooks(&self.at, self.rotation, Permission::Read).await?;
        let webhook = cx.webhook_of(&rotation, self.webhook).await?;
        let deliveries = cx.reads().webhook_deliveries(webhook.id, LIMIT).await?;
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
