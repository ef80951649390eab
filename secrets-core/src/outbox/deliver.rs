//! Claiming, sending, settling.

use chrono::TimeDelta;
use futures_util::future::join_all;

use super::{Channel, DeliveryError, Mail};
use crate::clock::Time;
use crate::error::Error;
use crate::rotations::webhooks::WebhookSender;
use crate::service::Service;
use crate::store::{DeliveryRecord, StoreError, StoreResult, Tx};

/// How many are sent at once where nobody says it.
const BATCH: usize = 8;

/// How long a claim lasts: longer than sending may take.
const CLAIM: TimeDelta = TimeDelta::minutes(2);

/// The pauses after failed attempts to send mail, in seconds. Once they are used up, it is given up.
const PAUSES: [i64; 7] = [5, 60, 300, 1_800, 7_200, 18_000, 36_000];

/// Something that nobody else sends while the claim on it lasts.
#[derive(Debug)]
pub struct Claimed(DeliveryRecord);

/// What sends.
enum Sender<'a> {
    Mail(&'a Mail),
    Webhooks(&'a dyn WebhookSender),
}

impl Service {
    /// Sends what is due, and gives how much was tried. Any number of nodes may do so at once: what
    /// one has claimed no other sends until the claim ends.
    pub async fn deliver_due(&self, channel: Channel) -> StoreResult<usize> {
        let claimed = self.claim_due(channel, BATCH).await?;
        let number = claimed.len();
        let settled = join_all(claimed.into_iter().map(|claimed| self.deliver(claimed))).await;
        settled.into_iter().collect::<StoreResult<()>>()?;
        Ok(number)
    }

    /// Claims what is due, at most `limit`, the longest due first. Nothing where nothing sends it.
    pub async fn claim_due(&self, channel: Channel, limit: usize) -> StoreResult<Vec<Claimed>> {
        if self.sender(channel).is_none() {
            return Ok(Vec::new());
        }
        let now = self.now();
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let mut reads = self.store().read().await?;
        let due = reads.due_deliveries(channel.kind(), now, limit).await?;
        drop(reads);
        let mut claimed = Vec::new();
        if due.is_empty() {
            return Ok(claimed);
        }
        let mut tx = self.store().begin().await?;
        for delivery in due {
            let delivery = DeliveryRecord {
                attempts: delivery.attempts.saturating_add(1),
                next_attempt_at: now + CLAIM,
                ..delivery
            };
            match tx.claim_delivery(&delivery).await {
                Ok(()) => claimed.push(Claimed(delivery)),
                // Another node was faster.
                Err(StoreError::Stale(_)) => {}
                Err(error) => return Err(error),
            }
        }
        tx.commit().await?;
        Ok(claimed)
    }

    /// Sends what was claimed, and settles it. Ends within a minute, however slow the receiver.
    pub async fn deliver(&self, claimed: Claimed) -> StoreResult<()> {
        let delivery = claimed.0;
        match Channel::of_kind(&delivery.kind).and_then(|channel| self.sender(channel)) {
            Some(Sender::Mail(mail)) => {
                let outcome = self.send_mail(mail, &delivery).await;
                self.settle_mail(&delivery, outcome).await
            }
            Some(Sender::Webhooks(sender)) => self.deliver_webhook(sender, &delivery).await,
            // It was claimed, so there is one.
            None => Ok(()),
        }
    }

    /// Ends all claims. Only where no other process has the store: what one that died had claimed
    /// need not wait then.
    pub async fn end_claims(&self) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.store().begin().await?;
        tx.hasten_deliveries(now, now + CLAIM).await?;
        tx.commit().await
    }

    fn sender(&self, channel: Channel) -> Option<Sender<'_>> {
        match channel {
            Channel::Mail => self.mail().map(Sender::Mail),
            Channel::Webhooks => self.webhooks().map(Sender::Webhooks),
        }
    }

    async fn send_mail(&self, mail: &Mail, delivery: &DeliveryRecord) -> Result<(), DeliveryError> {
        match self.invitation_mail(mail, &delivery.payload).await {
            Ok(Some(email)) => mail.mailer.send(&email).await,
            // Revoked, used, expired or sent again since: there is nothing to say any more.
            Ok(None) => Ok(()),
            Err(error) => Err(unreadable(&error)),
        }
    }

    async fn settle_mail(
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
        let tx = self.store().begin().await?;
        settle(tx, delivery, again).await
    }
}

/// Ends a claim, and commits what came of it with it: the delivery is tried again then, or never.
/// Nothing is committed if the claim ended before and another node has the delivery: what becomes
/// of it is theirs to say.
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
