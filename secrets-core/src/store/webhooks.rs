//! Webhooks of rotations, and their deliveries.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::Sealed;
use crate::model::rotations::{DeliveryStatus, WebhookEvent};
use crate::model::{RotationId, Time, WebhookDeliveryId, WebhookId};

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRecord {
    /// Webhook ID.
    pub id: WebhookId,
    /// Rotation whose events are sent.
    pub rotation: RotationId,
    /// URL and signing secret, encrypted together because a URL may contain a token.
    pub sealed: Sealed,
    /// Types of the events to send.
    pub events: Vec<WebhookEvent>,
    /// True if the webhook is enabled.
    pub enabled: bool,
    /// Time of the first failed delivery since the last success; `None` if the last delivery
    /// succeeded.
    pub failing_since: Option<Time>,
    /// ID of the user who created the webhook.
    pub created_by: Option<Uuid>,
    /// Creation time.
    pub created_at: Time,
}

/// A delivery of an event to a webhook. The outbox schedules its attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDeliveryRecord {
    /// Delivery ID, the same for every attempt.
    pub id: WebhookDeliveryId,
    /// Webhook ID.
    pub webhook: WebhookId,
    /// Event type; `None` for a test.
    pub event: Option<WebhookEvent>,
    /// Request body, byte for byte: JSON that contains no secret value.
    pub body: String,
    /// Status.
    pub status: DeliveryStatus,
    /// Number of attempts.
    pub attempts: u32,
    /// HTTP status of the receiver's last response.
    pub response_status: Option<u16>,
    /// Time of the next attempt, while the delivery is pending.
    pub next_attempt_at: Option<Time>,
    /// Time of the event.
    pub created_at: Time,
}

/// Read access to webhooks.
#[async_trait]
pub trait WebhookReads: Send {
    /// Lists the webhooks of a rotation, oldest first.
    async fn webhooks(&mut self, rotation: RotationId) -> StoreResult<Vec<WebhookRecord>>;

    /// Returns the webhook with this ID.
    async fn webhook(&mut self, webhook: WebhookId) -> StoreResult<Option<WebhookRecord>>;

    /// Returns the delivery with this ID.
    async fn webhook_delivery(
        &mut self,
        delivery: WebhookDeliveryId,
    ) -> StoreResult<Option<WebhookDeliveryRecord>>;

    /// Lists the deliveries of a webhook, newest first.
    async fn webhook_deliveries(
        &mut self,
        webhook: WebhookId,
        limit: u32,
    ) -> StoreResult<Vec<WebhookDeliveryRecord>>;
}

/// Write access to webhooks.
#[async_trait]
pub trait WebhookWrites: Send {
    /// Inserts a webhook. Fails with `Stale` if the rotation does not exist. The caller must have
    /// locked the rotation.
    async fn insert_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()>;

    /// Updates `enabled` and `failing_since`. Fails with `Stale` if the webhook does not exist.
    async fn update_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()>;

    /// Deletes a webhook with its deliveries. Fails with `Stale` if it does not exist.
    async fn delete_webhook(&mut self, webhook: WebhookId) -> StoreResult<()>;

    /// Inserts a delivery of an event to a webhook.
    async fn insert_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()>;

    /// Updates status, number of attempts, response status and the time of the next attempt. Fails
    /// with `Stale` if the delivery does not exist.
    async fn update_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()>;

    /// Deletes deliveries that were created before `before` and are not pending, oldest first, at
    /// most `limit` of them. Returns the number of deleted deliveries.
    async fn prune_webhook_deliveries(&mut self, before: Time, limit: u32) -> StoreResult<u64>;
}
