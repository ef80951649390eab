//! Outbox: deliveries that must happen after a commit, and therefore at least once.
//!
//! An operation enqueues a row in the transaction of its change. A worker claims due rows of each
//! [`Channel`] ([`claim_due`]), sends the messages and records the outcomes ([`Channel::deliver`]).
//! A row contains IDs and no secret: the message is built when it is sent.

mod deliver;

use std::any::Any;

use async_trait::async_trait;
pub use deliver::{Claimed, DeliveryWorker, claim_due, deliver, deliver_due, end_claims};
pub(crate) use deliver::{settle, settle_attempt};

use crate::engine::Engine;
use crate::model::{DeliveryId, Time};
use crate::store::{DeliveryRecord, StoreResult, Tx};

/// A kind of delivery, such as e-mail or webhooks. Channels are independent: a slow channel does
/// not delay other channels.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Returns the value of `kind` in the outbox rows of this channel.
    fn kind(&self) -> &'static str;

    /// Returns the maximum number of concurrent deliveries on one node.
    fn max_in_flight(&self) -> usize;

    /// True if the port that sends these messages is configured. Otherwise, deliveries wait in the
    /// outbox.
    fn is_available(&self, engine: &Engine) -> bool;

    /// Acquires a permit to send a delivery. Called before the delivery is claimed. `None` if the
    /// delivery must wait for others, for example to the same receiver.
    async fn admit(
        &self,
        _engine: &Engine,
        _delivery: &DeliveryRecord,
    ) -> StoreResult<Option<DeliveryPermit>> {
        Ok(Some(Box::new(())))
    }

    /// Receives all due deliveries before they are admitted, so that the channel can discard the
    /// state that it keeps for other deliveries. Not called if there are more due deliveries than
    /// one call considers.
    fn consider(&self, _engine: &Engine, _due: &[DeliveryRecord]) {}

    /// Sends a claimed delivery once and records the outcome: done, to be retried, or given up.
    /// Ends within a minute, however slow the receiver is.
    async fn deliver(&self, engine: &Engine, delivery: &DeliveryRecord) -> StoreResult<()>;
}

/// Permit to send a delivery. Released when dropped.
pub type DeliveryPermit = Box<dyn Any + Send>;

/// Enqueues a delivery, to be sent once the transaction is committed and `due` has passed.
pub(crate) async fn enqueue(
    tx: &mut dyn Tx,
    kind: &'static str,
    payload: serde_json::Value,
    now: Time,
    due: Time,
) -> StoreResult<()> {
    let delivery = DeliveryRecord {
        id: DeliveryId::draw(now),
        kind: kind.to_owned(),
        payload: payload.to_string(),
        attempts: 0,
        next_attempt_at: due,
        created_at: now,
    };
    tx.insert_delivery(&delivery).await
}
