//! Outbox: messages that are sent after a commit. A crash loses no message, but a message may be
//! sent more than once.
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
use crate::model::{DeliveryId, TeamId, Time};
use crate::store::{DeliveryRecord, StoreResult, Tx};

/// A kind of delivery, such as e-mail or webhooks. Channels work independently: a slow channel does
/// not delay other channels.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Returns the value of the column `kind` in the outbox rows of this channel.
    fn kind(&self) -> &'static str;

    /// Returns the maximum number of concurrent deliveries on one node.
    fn max_in_flight(&self) -> usize;

    /// True if the client that sends this channel's messages (such as the mailer) is configured.
    /// Otherwise, the channel's deliveries wait in the outbox.
    fn is_available(&self, engine: &Engine) -> bool;

    /// Returns the team whose limits apply to a delivery; `None` if the channel has no limits for
    /// teams, or if an earlier version enqueued the delivery. Needs no database query.
    fn team(&self, _delivery: &DeliveryRecord) -> Option<TeamId> {
        None
    }

    /// True if a delivery was refused a permit and would be refused again. Needs no database query.
    fn must_wait(&self, _engine: &Engine, _delivery: &DeliveryRecord) -> bool {
        false
    }

    /// Acquires a permit to send a delivery. Called before the delivery is claimed. Returns `None`
    /// if the delivery must wait for other deliveries, for example to the same receiver.
    async fn admit(
        &self,
        _engine: &Engine,
        _delivery: &DeliveryRecord,
    ) -> StoreResult<Option<DeliveryPermit>> {
        Ok(Some(Box::new(())))
    }

    /// Receives all due deliveries before any of them is sent, so that the channel can discard its
    /// state for deliveries that are no longer due. Not called if more deliveries are due than one
    /// call of [`claim_due`] examines.
    fn consider(&self, _engine: &Engine, _due: &[DeliveryRecord]) {}

    /// Sends a claimed delivery once and records the result: sent, to be retried, or failed
    /// permanently. Ends within a minute, even if the receiver is slow. Fails with `Corrupt`, and
    /// records nothing, if a stored record that the message needs cannot be read.
    async fn deliver(&self, engine: &Engine, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Records that a delivery has failed permanently because a stored record that the message
    /// needs cannot be read. Called before the delivery is deleted from the outbox.
    async fn give_up(&self, _engine: &Engine, _delivery: &DeliveryRecord) -> StoreResult<()> {
        Ok(())
    }
}

/// Permit to send a delivery. Dropping the value releases the permit.
pub type DeliveryPermit = Box<dyn Any + Send>;

/// Enqueues a delivery in the transaction of a change. The delivery is sent after the commit, once
/// the time `due` has passed.
pub(crate) async fn enqueue(
    tx: &mut dyn Tx,
    kind: &'static str,
    payload: serde_json::Value,
    now: Time,
    due: Time,
) -> StoreResult<()> {
    enqueue_as(tx, DeliveryId::draw(now), (kind, payload), now, due).await
}

/// Enqueues a delivery like [`enqueue`], with this ID. A delivery with this ID that is already in
/// the outbox gets the new payload and is sent at the time `due` instead.
pub(crate) async fn enqueue_as(
    tx: &mut dyn Tx,
    id: DeliveryId,
    (kind, payload): (&'static str, serde_json::Value),
    now: Time,
    due: Time,
) -> StoreResult<()> {
    let delivery = DeliveryRecord {
        id,
        kind: kind.to_owned(),
        payload: payload.to_string(),
        attempts: 0,
        next_attempt_at: due,
        created_at: now,
    };
    tx.insert_delivery(&delivery).await
}
