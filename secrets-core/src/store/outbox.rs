//! What is to be sent.

use async_trait::async_trait;

use super::StoreResult;
use crate::model::{DeliveryId, Time};

/// Something to be sent. It is known by its id and the number of attempts: whoever claims it counts
/// one more, and from then on it is another to all who read it before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// Which delivery.
    pub id: DeliveryId,
    /// What it is.
    pub kind: String,
    /// What is needed to make it, as a JSON object; no secret.
    pub payload: String,
    /// How often sending it was begun.
    pub attempts: u32,
    /// When it may be claimed: while it is claimed, when that ends.
    pub next_attempt_at: Time,
    /// When it was left.
    pub created_at: Time,
}

/// Reading the outbox.
#[async_trait]
pub trait OutboxReads: Send {
    /// What may be claimed now of one kind, the longest due first.
    async fn due_deliveries(
        &mut self,
        kind: &str,
        now: Time,
        limit: u32,
    ) -> StoreResult<Vec<DeliveryRecord>>;
}

/// Writing the outbox.
#[async_trait]
pub trait OutboxWrites: Send {
    /// Leaves something to be sent.
    async fn insert_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Claims it: keeps the number of attempts, which is one higher than it was, and the end of the
    /// claim. Fails with `Stale` if somebody else has claimed or settled it.
    async fn claim_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Ends a claim before its time. Fails with `Stale` if it is not ours any more.
    async fn postpone_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;

    /// Makes due now what would be due until `by`.
    async fn hasten_deliveries(&mut self, now: Time, by: Time) -> StoreResult<()>;

    /// Deletes what was sent, or given up. Fails with `Stale` if the claim is not ours any more.
    async fn delete_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()>;
}
