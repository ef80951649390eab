//! Webhooks of rotations, and what they were told.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::Sealed;
use crate::model::rotations::{DeliveryStatus, WebhookEvent};
use crate::model::{RotationId, Time, WebhookDeliveryId, WebhookId};

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRecord {
    /// Which webhook.
    pub id: WebhookId,
    /// Whose events it is told.
    pub rotation: RotationId,
    /// Where it is and what signs deliveries to it, sealed together: an address may hold a token.
    pub sealed: Sealed,
    /// What it is told.
    pub events: Vec<WebhookEvent>,
    /// Whether it is told anything.
    pub enabled: bool,
    /// Since when every delivery to it has failed.
    pub failing_since: Option<Time>,
    /// Who made it.
    pub created_by: Option<Uuid>,
    /// When it was made.
    pub created_at: Time,
}

/// An event on its way to a webhook. When it is tried next is said by the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDeliveryRecord {
    /// Which delivery; stays the same however often it is sent.
    pub id: WebhookDeliveryId,
    /// To which webhook.
    pub webhook: WebhookId,
    /// Of what; `None` is a test.
    pub event: Option<WebhookEvent>,
    /// What is sent, byte for byte: JSON without any value.
    pub body: String,
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

/// Reading webhooks.
#[async_trait]
pub trait WebhookReads: Send {
    /// A rotation's webhooks, oldest first.
    async fn webhooks(&mut self, rotation: RotationId) -> StoreResult<Vec<WebhookRecord>>;

    /// The webhook with this id.
    async fn webhook(&mut self, webhook: WebhookId) -> StoreResult<Option<WebhookRecord>>;

    /// The delivery with this id.
    async fn webhook_delivery(
        &mut self,
        delivery: WebhookDeliveryId,
    ) -> StoreResult<Option<WebhookDeliveryRecord>>;

    /// A webhook's deliveries, newest first.
    async fn webhook_deliveries(
        &mut self,
        webhook: WebhookId,
        limit: u32,
    ) -> StoreResult<Vec<WebhookDeliveryRecord>>;
}

/// Writing webhooks.
#[async_trait]
pub trait WebhookWrites: Send {
    /// Fails with `Stale` if the rotation is gone. The rotation's row was locked before.
    async fn insert_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()>;

    /// Replaces `enabled` and `failing_since`. Fails with `Stale` if it is gone.
    async fn update_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()>;

    /// Deletes it with its deliveries. Fails with `Stale` if it is gone.
    async fn delete_webhook(&mut self, webhook: WebhookId) -> StoreResult<()>;

    /// Keeps a delivery.
    async fn insert_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()>;

    /// Replaces status, attempts, response and the time of the next attempt. Fails with `Stale` if
    /// it is gone.
    async fn update_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()>;

    /// Deletes deliveries that were created before a time and are not pending, at most `limit`.
    async fn prune_webhook_deliveries(&mut self, before: Time, limit: u32) -> StoreResult<()>;
}
