//! Webhooks of rotations, and their deliveries.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::Sealed;
use crate::model::rotations::{DeliveryStatus, WebhookEvent};
use crate::model::{RotationId, Time, WebhookDeliveryId, WebhookId};

/// A webhook of a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRecord {
    /// Webhook ID.
    pub id: WebhookId,
    /// ID of the rotation whose events are sent.
    pub rotation: RotationId,
    /// Encrypted URL and signing secret. The URL is encrypted too, because it may contain a token.
    pub sealed: Sealed,
    /// Types of the events that are sent to the webhook.
    pub events: Vec<WebhookEvent>,
    /// True if events are sent to the webhook.
    pub enabled: bool,
    /// Time of the first failed attempt since the last successful one; `None` if no attempt has
    /// failed since then. Also cleared before an attempt that is more than a day late, and when a
    /// delivery is dropped because its project is deleted.
    pub failing_since: Option<Time>,
    /// ID of the user who created the webhook.
    pub created_by: Option<Uuid>,
    /// Creation time.
    pub created_at: Time,
}

/// A delivery of one event to a webhook. The outbox schedules the attempts to send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDeliveryRecord {
    /// Delivery ID, which is the same for every attempt to send the event.
    pub id: WebhookDeliveryId,
    /// Webhook ID.
    pub webhook: WebhookId,
    /// Type of the event; `None` for a test event.
    pub event: Option<WebhookEvent>,
    /// Body of the HTTP request, byte for byte: JSON that contains no secret value.
    pub body: String,
    /// Status of the delivery.
    pub status: DeliveryStatus,
    /// Number of attempts to send the event.
    pub attempts: u32,
    /// HTTP status of the receiver's last response; `None` if the receiver has not responded yet.
    pub response_status: Option<u16>,
    /// Time of the next attempt while the delivery is pending; otherwise `None`.
    pub next_attempt_at: Option<Time>,
    /// Time at which the event happened.
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

    /// Lists the deliveries of a webhook, newest first, at most `limit`.
    async fn webhook_deliveries(
        &mut self,
        webhook: WebhookId,
        limit: u32,
    ) -> StoreResult<Vec<WebhookDeliveryRecord>>;
}

/// Write access to webhooks.
#[async_trait]
pub trait WebhookWrites: Send {
    /// Inserts a webhook. Fails with `Stale` if its rotation does not exist. The caller must have
    /// locked the rotation.
    async fn insert_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()>;

    /// Updates `enabled` and `failing_since`. Fails with `Stale` if the webhook does not exist.
    async fn update_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()>;

    /// Deletes a webhook with its deliveries. Fails with `Stale` if the webhook does not exist.
    async fn delete_webhook(&mut self, webhook: WebhookId) -> StoreResult<()>;

    /// Inserts a delivery of an event to a webhook.
    async fn insert_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()>;

    /// Updates the status, number of attempts, response status and time of the next attempt of a
    /// delivery. Fails with `Stale` if the delivery does not exist.
    async fn update_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()>;

    /// Bounds the number of deliveries of a webhook. Examines only its newest `examined`
    /// deliveries: sets the status of pending ones to failed, except the newest `kept`, and then
    /// deletes those that are not pending, except the newest `kept`. Returns the number of
    /// deliveries whose status was set to failed. The caller must have locked the rotation.
    async fn trim_webhook_deliveries(
        &mut self,
        webhook: WebhookId,
        kept: u32,
        examined: u32,
    ) -> StoreResult<u64>;

    /// Deletes webhook deliveries that were created before `before` and are not pending, oldest
    /// first, at most `limit`. Returns the number of deleted deliveries.
    async fn prune_webhook_deliveries(&mut self, before: Time, limit: u32) -> StoreResult<u64>;
}
