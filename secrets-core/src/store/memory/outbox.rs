use async_trait::async_trait;

use super::state::{State, owned};
use super::{Pending, Session, Snapshot};
use crate::model::{DeliveryId, Subject, Time};
use crate::store::{DeliveryRecord, OutboxReads, OutboxWrites, StoreError, StoreResult};

#[async_trait]
impl<S: Snapshot> OutboxReads for Session<S> {
    async fn due_deliveries(
        &mut self,
        kind: &str,
        now: Time,
        after: Option<(Time, DeliveryId)>,
        limit: u32,
    ) -> StoreResult<Vec<DeliveryRecord>> {
        let state = self.state();
        let due = state
            .outbox
            .values()
            .filter(|delivery| delivery.kind == kind && delivery.next_attempt_at <= now);
        let position = |delivery: &DeliveryRecord| (delivery.next_attempt_at, delivery.id);
        let due = due.filter(|delivery| after.is_none_or(|after| position(delivery) > after));
        let mut due: Vec<_> = due.map(owned).collect();
        due.sort_by_key(position);
        due.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(due)
    }
}

#[async_trait]
impl OutboxWrites for Session<Pending> {
    async fn insert_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let new = match state.outbox.get(&delivery.id).map(owned) {
            Some(old) => DeliveryRecord {
                attempts: old.attempts.saturating_add(1),
                next_attempt_at: delivery.next_attempt_at,
                payload: delivery.payload.clone(),
                ..old
            },
            None => delivery.clone(),
        };
        state.outbox.insert(new.id, new.into());
        Ok(())
    }

    async fn claim_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let attempts = delivery.attempts.saturating_sub(1);
        let old = state.with_attempts(delivery, attempts)?;
        let (attempts, next_attempt_at) = (delivery.attempts, delivery.next_attempt_at);
        let claimed = DeliveryRecord { attempts, next_attempt_at, ..old };
        state.outbox.insert(claimed.id, claimed.into());
        Ok(())
    }

    async fn postpone_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state.with_attempts(delivery, delivery.attempts)?;
        let later = DeliveryRecord { next_attempt_at: delivery.next_attempt_at, ..old };
        state.outbox.insert(later.id, later.into());
        Ok(())
    }

    async fn release_claims(&mut self, now: Time, by: Time) -> StoreResult<()> {
        let state = self.state_mut();
        let waiting: Vec<_> = state.outbox.values().map(owned).collect();
        for delivery in waiting {
            if delivery.next_attempt_at > now && delivery.next_attempt_at <= by {
                let due_now = DeliveryRecord { next_attempt_at: now, ..delivery };
                state.outbox.insert(due_now.id, due_now.into());
            }
        }
        Ok(())
    }

    async fn delete_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()> {
        let state = self.state_mut();
        state.with_attempts(delivery, delivery.attempts)?;
        state.outbox.remove(&delivery.id);
        Ok(())
    }

    async fn count_message(&mut self, counter: &str, until: Time) -> StoreResult<u64> {
        let counts = &mut self.state_mut().message_counts;
        let sent = counts.entry((until, counter.to_owned())).or_default();
        *sent = sent.saturating_add(1);
        Ok(*sent)
    }

    async fn prune_message_counts(&mut self, before: Time, limit: u32) -> StoreResult<u64> {
        let counts = &mut self.state_mut().message_counts;
        let ended = counts.keys().take_while(|(until, _)| *until < before).take(limit as usize);
        let ended: Vec<_> = ended.cloned().collect();
        for counter in &ended {
            counts.remove(counter);
        }
        Ok(ended.len() as u64)
    }
}

impl State {
    /// Returns the stored delivery. Fails with `Stale` if the delivery does not exist, or if its
    /// number of attempts is not `attempts`.
    fn with_attempts(
        &self,
        delivery: &DeliveryRecord,
        attempts: u32,
    ) -> StoreResult<DeliveryRecord> {
        let found = self.outbox.get(&delivery.id).map(owned);
        found.filter(|found| found.attempts == attempts).ok_or(StoreError::Stale(Subject::Resource))
    }
}
