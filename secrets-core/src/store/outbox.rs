//! Transactional outbox: messages to send after a commit.

use async_trait::async_trait;

use super::StoreResult;
use crate::model::{DeliveryId, Time};

/// An outbox delivery. Claiming increments `attempts`, so ID and `attempts` together identify a
/// claim: a write fails as stale if another worker has claimed the delivery since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// Delivery ID.
    pub id: DeliveryId,
    /// Kind of message.
    pub kind: String,
    /// Data to build the message from, as a JSON object; contains no secret.
    pub payload: String,
    /// Number of attempts started.
    pub attempts: u32,
    /// Time from which the delivery can be claimed. For a claimed delivery, the end of the claim.
    pub next_attempt_at: Time,
    /// Time at which the delivery was enqueued.
    pub created_at: Time,
}

/// Read access to the outbox.
#[async_trait]
pub trait OutboxReads: Send {
    /// Lists the deliveries of one kind that can be claimed at `now`, longest overdue first, at
    /// most `limit` of them. Starts after the delivery with the due time and ID in `after`, if
    /// given.
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
    /// Enqueues a delivery.
    async fn insert_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Claims a delivery: stores `attempts`, which must be one higher than the stored number, and
    /// the end of the claim. Fails with `Stale` if another worker has claimed or deleted the
    /// delivery.
    async fn claim_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Sets the time of the next attempt, which ends a claim early. Fails with `Stale` if another
    /// worker has claimed or deleted the delivery.
    async fn postpone_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Sets `next_attempt_at` to `now` for all deliveries that become due between `now` and `by`.
    /// This also ends the claims that expire in that time.
    async fn release_claims(&mut self, now: Time, by: Time) -> StoreResult<()>;

    /// Deletes a delivery that was sent or will not be retried. Fails with `Stale` if another
    /// worker has claimed or deleted the delivery.
    async fn delete_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Adds one message to a counter of the time window that ends at `until`. Returns the new
    /// number.
    async fn count_mail(&mut self, counter: &str, until: Time) -> StoreResult<u64>;

    /// Deletes counters whose window ended before `before`, at most `limit` of them. Returns the
    /// number of deleted counters.
    async fn prune_mail_counts(&mut self, before: Time, limit: u32) -> StoreResult<u64>;
}
