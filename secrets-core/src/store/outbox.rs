//! Transactional outbox: messages that are sent after the commit of the change that caused them.

use async_trait::async_trait;

use super::StoreResult;
use crate::model::{DeliveryId, Time};

/// A delivery in the outbox: one message to send. Claiming a delivery increments `attempts`, so ID
/// and `attempts` together identify a claim: a write fails with `Stale` if another worker has
/// claimed the delivery in the meantime, or if it was added again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// Delivery ID.
    pub id: DeliveryId,
    /// Kind of message, such as an e-mail or a webhook event.
    pub kind: String,
    /// Data from which the message is built, as a JSON object; contains no secret.
    pub payload: String,
    /// Number of attempts to send the message that were started.
    pub attempts: u32,
    /// Earliest time at which the delivery can be claimed. For a claimed delivery, the time at
    /// which the claim ends.
    pub next_attempt_at: Time,
    /// Time at which the delivery was enqueued.
    pub created_at: Time,
}

/// Read access to the outbox.
#[async_trait]
pub trait OutboxReads: Send {
    /// Lists the deliveries of one kind that can be claimed at `now`, at most `limit`. The
    /// deliveries that have been due for the longest time come first. If `after` is given, starts
    /// after the delivery with this due time and ID.
    async fn due_deliveries(
        &mut self,
        kind: &str,
        now: Time,
        after: Option<(Time, DeliveryId)>,
        limit: u32,
    ) -> StoreResult<Vec<DeliveryRecord>>;
}

/// Write access to the outbox.
#[async_trait]
pub trait OutboxWrites: Send {
    /// Adds a delivery to the outbox. If the outbox has a delivery with this ID, changes that one
    /// instead: it gets the new payload and `next_attempt_at`, and its `attempts` increases by 1, so
    /// that an earlier claim of it has no effect any more.
    async fn insert_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Claims a delivery: stores `attempts`, which must be one higher than the stored number, and
    /// the time at which the claim ends. Fails with `Stale` if another worker has claimed or
    /// deleted the delivery.
    async fn claim_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Sets the time of a delivery's next attempt, which also ends the claim. Fails with `Stale` if
    /// another worker has claimed or deleted the delivery.
    async fn postpone_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Sets the due time to `now` for all deliveries that would become due after `now` and at or
    /// before `by`. This also ends the claims that would end in that period.
    async fn release_claims(&mut self, now: Time, by: Time) -> StoreResult<()>;

    /// Deletes a delivery that was sent or will not be retried. Fails with `Stale` if another
    /// worker has claimed or deleted the delivery.
    async fn delete_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Adds 1 to the counter of messages with this name, in the time window that ends at `until`.
    /// Returns the new count.
    async fn count_message(&mut self, counter: &str, until: Time) -> StoreResult<u64>;

    /// Deletes counters of messages whose time window ended before `before`, at most `limit`. Returns
    /// the number of deleted counters.
    async fn prune_message_counts(&mut self, before: Time, limit: u32) -> StoreResult<u64>;
}
