//! Claiming, sending, settling.

use chrono::TimeDelta;
use futures_util::future::join_all;

use super::{DeliveryError, Mail};
use crate::clock::Time;
use crate::error::Error;
use crate::invitations;
use crate::service::Service;
use crate::store::{DeliveryRecord, StoreError, StoreResult};

/// How many are sent at once.
const BATCH: u32 = 8;

/// How long a claim lasts: longer than sending may take.
const CLAIM: TimeDelta = TimeDelta::minutes(2);

/// The pauses after failed attempts, in seconds. Once they are used up, it is given up.
const PAUSES: [i64; 7] = [5, 60, 300, 1_800, 7_200, 18_000, 36_000];

impl Service {
    /// Sends what is due, and gives how much was tried. Any number of nodes may do so at once: what
    /// one has claimed no other sends until the claim ends.
    pub async fn deliver_due(&self) -> StoreResult<usize> {
        let Some(mail) = self.mail() else { return Ok(0) };
        let claimed = self.claim_due().await?;
        let settled = claimed.iter().map(|delivery| async {
            let outcome = self.send(mail, delivery).await;
            self.settle(delivery, outcome).await
        });
        let settled = join_all(settled).await;
        settled.into_iter().collect::<StoreResult<()>>()?;
        Ok(claimed.len())
    }

    /// Ends all claims. Only where no other process has the store: what one that died had claimed
    /// need not wait then.
    pub async fn end_claims(&self) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.store().begin().await?;
        tx.hasten_deliveries(now, now + CLAIM).await?;
        tx.commit().await
    }

    async fn claim_due(&self) -> StoreResult<Vec<DeliveryRecord>> {
        let now = self.now();
        let mut reads = self.store().read().await?;
        let due = reads.due_deliveries(invitations::DELIVERY, now, BATCH).await?;
        drop(reads);
        if due.is_empty() {
            return Ok(due);
        }
        let mut claimed = Vec::new();
        let mut tx = self.store().begin().await?;
        for delivery in due {
            let delivery = DeliveryRecord {
                attempts: delivery.attempts.saturating_add(1),
                next_attempt_at: now + CLAIM,
                ..delivery
            };
            match tx.claim_delivery(&delivery).await {
                Ok(()) => claimed.push(delivery),
                // Another node was faster.
                Err(StoreError::Stale(_)) => {}
                Err(error) => return Err(error),
            }
        }
        tx.commit().await?;
        Ok(claimed)
    }

    async fn send(&self, mail: &Mail, delivery: &DeliveryRecord) -> Result<(), DeliveryError> {
        match delivery.kind.as_str() {
            invitations::DELIVERY => match self.invitation_mail(mail, &delivery.payload).await {
                Ok(Some(email)) => mail.mailer.send(&email).await,
                // Revoked, used, expired or sent again since: there is nothing to say any more.
                Ok(None) => Ok(()),
                Err(error) => Err(unreadable(&error)),
            },
            _ => Err(DeliveryError::Failed("this version does not know how to send it".to_owned())),
        }
    }

    async fn settle(
        &self,
        delivery: &DeliveryRecord,
        outcome: Result<(), DeliveryError>,
    ) -> StoreResult<()> {
        let (id, kind, attempts) = (delivery.id, delivery.kind.as_str(), delivery.attempts);
        let again = match outcome {
            Ok(()) => None,
            Err(DeliveryError::Refused(reason)) => {
                tracing::error!(delivery = %id, kind, attempts, reason, "refused for good");
                None
            }
            Err(DeliveryError::Failed(reason)) => {
                let again = next_attempt(attempts, self.now());
                if again.is_some() {
                    tracing::warn!(delivery = %id, kind, attempts, reason, "not sent");
                } else {
                    tracing::error!(delivery = %id, kind, attempts, reason, "given up");
                }
                again
            }
        };
        let mut tx = self.store().begin().await?;
        let settled = match again {
            Some(at) => {
                let later = DeliveryRecord { next_attempt_at: at, ..delivery.clone() };
                tx.postpone_delivery(&later).await
            }
            None => tx.delete_delivery(delivery).await,
        };
        match settled {
            // The claim ended and another node has it: what became of it is theirs to say.
            Err(StoreError::Stale(_)) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => tx.commit().await,
        }
    }
}

fn next_attempt(attempts: u32, now: Time) -> Option<Time> {
    let failed = usize::try_from(attempts).ok()?.checked_sub(1)?;
    PAUSES.get(failed).map(|seconds| now + TimeDelta::seconds(*seconds))
}

fn unreadable(error: &Error) -> DeliveryError {
    DeliveryError::Failed(error.to_string())
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
        assert!(PAUSES.is_sorted());
    }
}
