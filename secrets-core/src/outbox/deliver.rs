//! Delivery of outbox messages: claims due messages (reserves them for this node), sends them and
//! records the results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use futures_util::future::join_all;

use super::{Channel, DeliveryPermit};
use crate::engine::{DeliveryEnd, Engine, Failures, Job, Schedule, WorkItem, Worker};
use crate::model::lock::lock;
use crate::model::{DeliveryId, Error, Time};
use crate::ports::mail::DeliveryError;
use crate::store::{DeliveryRecord, StoreError, StoreResult, Tx};

/// Maximum number of due deliveries that one call of [`claim_due`] examines. Larger than the number
/// of concurrent deliveries, because many due deliveries may have to wait for the same receiver. If
/// more are due, the next call continues after the last examined delivery.
const MAX_CANDIDATES: u32 = 4_096;

/// Maximum number of times that one call of [`claim_due`] fails to get a permit for deliveries of
/// the same team. After that, it skips the team's deliveries, because each try needs database
/// queries, and deliveries of other teams wait meanwhile.
const MAX_REFUSED: usize = 16;

/// Last delivery that the previous call of [`claim_due`] examined for a channel, by the channel's
/// kind. Contains only channels with more due deliveries than one call examines.
#[derive(Default)]
struct Positions(Mutex<HashMap<&'static str, (Time, DeliveryId)>>);

/// Time for which a claim reserves a delivery for a node. Longer than the maximum time that sending
/// takes.
const CLAIM_DURATION: TimeDelta = TimeDelta::minutes(2);

/// Delays in seconds before each retry of a failed delivery. If the last retry fails too, the
/// delivery is not tried again.
const RETRY_DELAYS: [i64; 7] = [5, 60, 300, 1_800, 7_200, 18_000, 36_000];

/// A delivery that this node has claimed (reserved for itself). No other node sends the delivery
/// until the claim ends.
pub struct Claimed {
    delivery: DeliveryRecord,
    _permit: DeliveryPermit,
}

/// Worker that reserves the due deliveries of one channel for this node and sends them.
pub struct DeliveryWorker<C>(pub C);

#[async_trait]
impl<C: Channel + Clone + 'static> Worker for DeliveryWorker<C> {
    fn name(&self) -> &'static str {
        self.0.kind()
    }

    fn schedule(&self) -> Schedule {
        let max_jobs = self.0.max_in_flight();
        // Longer than a mail server may take, and shorter than the claim.
        let timeout = Duration::from_secs(90);
        Schedule { timeout, max_jobs, ..Schedule::every(Duration::from_secs(2)) }
    }

    async fn jobs(&self, engine: &Arc<Engine>, room: usize) -> Result<Vec<Job>, Error> {
        let claimed = claim_due(engine, &self.0, room).await?.into_iter();
        let job = |claimed| {
            let (engine, channel) = (Arc::clone(engine), self.0.clone());
            Box::pin(async move { Ok(deliver(&engine, &channel, claimed).await?) }) as Job
        };
        Ok(claimed.map(job).collect())
    }
}

/// Tries once to send the due deliveries of a channel, at most [`Channel::max_in_flight`]. Returns
/// the number of deliveries that were tried. Several nodes may call this function concurrently.
pub async fn deliver_due(engine: &Engine, channel: &dyn Channel) -> StoreResult<usize> {
    let claimed = claim_due(engine, channel, channel.max_in_flight()).await?;
    let number = claimed.len();
    let settled = claimed.into_iter().map(|claimed| deliver(engine, channel, claimed));
    join_all(settled).await.into_iter().collect::<StoreResult<()>>()?;
    Ok(number)
}

/// Claims due deliveries of a channel that can be sent now, at most `limit`. The deliveries that
/// have been due for the longest time come first. Claims nothing if the channel is not available.
pub async fn claim_due(
    engine: &Engine,
    channel: &dyn Channel,
    limit: usize,
) -> StoreResult<Vec<Claimed>> {
    let mut claimed = Vec::new();
    if !channel.is_available(engine) {
        return Ok(claimed);
    }
    let admitted = admit_due(engine, channel, limit).await?;
    if admitted.is_empty() {
        return Ok(claimed);
    }
    let mut tx = engine.store().begin().await?;
    let now = engine.now();
    for (delivery, permit) in admitted {
        let delivery = DeliveryRecord {
            attempts: delivery.attempts.saturating_add(1),
            next_attempt_at: now + CLAIM_DURATION,
            ..delivery
        };
        match tx.claim_delivery(&delivery).await {
            Ok(()) => claimed.push(Claimed { delivery, _permit: permit }),
            // Another node claimed the delivery first.
            Err(StoreError::Stale(_)) => {}
            Err(error) => return Err(error),
        }
    }
    tx.commit().await?;
    Ok(claimed)
}

/// Reads due deliveries of a channel and acquires permits to send them. Returns the deliveries that
/// got a permit, at most `limit`.
async fn admit_due(
    engine: &Engine,
    channel: &dyn Channel,
    limit: usize,
) -> StoreResult<Vec<(DeliveryRecord, DeliveryPermit)>> {
    let now = engine.now();
    let mut reads = engine.store().read().await?;
    let positions = engine.shared::<Positions>();
    let after = lock(&positions.0).remove(channel.kind());
    let due = reads.due_deliveries(channel.kind(), now, after, MAX_CANDIDATES).await?;
    drop(reads);
    let is_full = due.len() == MAX_CANDIDATES as usize;
    // Called only if `due` contains all due deliveries, not one of several pages.
    if after.is_none() && !is_full {
        channel.consider(engine, &due);
    }
    let (mut admitted, mut waiting_since) = (Vec::new(), None);
    let mut refused = HashMap::<_, usize>::new();
    for delivery in due {
        if admitted.len() >= limit {
            waiting_since = Some(delivery.next_attempt_at);
            break;
        }
        if is_full {
            let position = (delivery.next_attempt_at, delivery.id);
            lock(&positions.0).insert(channel.kind(), position);
        }
        let team = channel.team(&delivery);
        let refusals = team.and_then(|team| refused.get(&team).copied()).unwrap_or_default();
        if refusals >= MAX_REFUSED || channel.must_wait(engine, &delivery) {
            continue;
        }
        match channel.admit(engine, &delivery).await? {
            Some(permit) => admitted.push((delivery, permit)),
            None => refused.extend(team.map(|team| (team, refusals + 1))),
        }
    }
    // The first page has the oldest deliveries.
    if after.is_none() {
        engine.counters().set_waiting_since(channel.kind(), waiting_since);
    }
    Ok(admitted)
}

/// Sends a claimed delivery and records the result. If a stored record that the message needs
/// cannot be read, the attempt has failed: the delivery is listed as failing, and is retried after
/// a delay or has failed permanently.
pub async fn deliver(engine: &Engine, channel: &dyn Channel, claimed: Claimed) -> StoreResult<()> {
    let (failures, delivery) = (engine.shared::<Failures>(), &claimed.delivery);
    let item = WorkItem::Delivery(delivery.id);
    match channel.deliver(engine, delivery).await {
        Ok(()) => {
            failures.clear(item);
            Ok(())
        }
        Err(error @ StoreError::Corrupt(_)) => {
            failures.report(item, &error, engine.now());
            match next_attempt(delivery.attempts, engine.now()) {
                Some(again) => failures.postpone(item, again),
                None => channel.give_up(engine, delivery).await?,
            }
            let failure = DeliveryError::Failed("a stored record cannot be read".to_owned());
            settle_attempt(engine, delivery, Err(failure)).await
        }
        Err(error) => Err(error),
    }
}

/// Ends all claims, which reserve deliveries for a node, so that deliveries claimed by a process
/// that crashed can be sent immediately. Call this function only if no other process uses the
/// store.
pub async fn end_claims(engine: &Engine) -> StoreResult<()> {
    let now = engine.now();
    let mut tx = engine.store().begin().await?;
    tx.release_claims(now, now + CLAIM_DURATION).await?;
    tx.commit().await
}

/// Records the result of an attempt to send a delivery: sent, to be retried after a delay, or
/// failed permanently.
pub(crate) async fn settle_attempt(
    engine: &Engine,
    delivery: &DeliveryRecord,
    outcome: Result<(), DeliveryError>,
) -> StoreResult<()> {
    let (id, kind, attempts) = (delivery.id, delivery.kind.as_str(), delivery.attempts);
    let (again, end) = match outcome {
        Ok(()) => (None, DeliveryEnd::Done),
        Err(DeliveryError::Refused(reason)) => {
            tracing::error!(delivery = %id, kind, attempts, reason, "refused for good");
            (None, DeliveryEnd::GivenUp)
        }
        Err(DeliveryError::Failed(reason)) => {
            let again = next_attempt(attempts, engine.now());
            if again.is_some() {
                tracing::warn!(delivery = %id, kind, attempts, reason, "not sent");
                (again, DeliveryEnd::Retried)
            } else {
                tracing::error!(delivery = %id, kind, attempts, reason, "given up");
                (again, DeliveryEnd::GivenUp)
            }
        }
    };
    let tx = engine.store().begin().await?;
    settle(tx, delivery, again).await?;
    engine.counters().count_delivery(end);
    Ok(())
}

/// Ends a claim on a delivery and commits the transaction. If `again` is a time, the next attempt
/// happens then; if `again` is `None`, the delivery is deleted. Commits nothing if another node has
/// claimed the delivery, or if it was added again, in the meantime.
pub(crate) async fn settle(
    mut tx: Box<dyn Tx>,
    delivery: &DeliveryRecord,
    again: Option<Time>,
) -> StoreResult<()> {
    let settled = match again {
        Some(at) => {
            let later = DeliveryRecord { next_attempt_at: at, ..delivery.clone() };
            tx.postpone_delivery(&later).await
        }
        None => tx.delete_delivery(delivery).await,
    };
    match settled {
        Err(StoreError::Stale(_)) => Ok(()),
        Err(error) => Err(error),
        Ok(()) => tx.commit().await,
    }
}

fn next_attempt(attempts: u32, now: Time) -> Option<Time> {
    let failed = usize::try_from(attempts).ok()?.checked_sub(1)?;
    RETRY_DELAYS.get(failed).map(|seconds| now + TimeDelta::seconds(*seconds))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn attempts_are_further_and_further_apart_and_end() {
        let now = DateTime::from_timestamp(0, 0).unwrap();
        let at = |attempts| next_attempt(attempts, now).map(|time| time.timestamp());

        assert_eq!((at(1), at(2), at(7), at(8)), (Some(5), Some(60), Some(36_000), None));
        assert!(RETRY_DELAYS.is_sorted());
    }
}
