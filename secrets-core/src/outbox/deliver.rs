//! Delivery: claims due deliveries, sends them and records the outcome.

use chrono::TimeDelta;
use futures_util::future::join_all;

use super::{Channel, DeliveryError, Mail};
use crate::clock::Time;
use crate::error::Error;
use crate::rotations::webhooks::WebhookSender;
use crate::service::Service;
use crate::store::{DeliveryRecord, StoreError, StoreResult, Tx};

/// Number of deliveries sent at once by [`Service::deliver_due`].
const BATCH: usize = 8;

/// Duration of a claim. Longer than sending may take.
const CLAIM_DURATION: TimeDelta = TimeDelta::minutes(2);

/// Delays after failed attempts to send mail, in seconds. When they are used up, the mail is
/// discarded.
const RETRY_DELAYS: [i64; 7] = [5, 60, 300, 1_800, 7_200, 18_000, 36_000];

/// A claimed delivery: no other node sends it while the claim lasts.
#[derive(Debug)]
pub struct Claimed(DeliveryRecord);

/// Sender for a channel.
enum Sender<'a> {
    Mail(&'a Mail),
    Webhooks(&'a dyn WebhookSender),
}

impl Service {
    /// Sends due deliveries and returns the number attempted. Several nodes may do so at once: a
    /// delivery claimed by one node is not sent by another until the claim ends.
    pub async fn deliver_due(&self, channel: Channel) -> StoreResult<usize> {
        let claimed = self.claim_due(channel, BATCH).await?;
        let number = claimed.len();
        let settled = join_all(claimed.into_iter().map(|claimed| self.deliver(claimed))).await;
        settled.into_iter().collect::<StoreResult<()>>()?;
        Ok(number)
    }

    /// Claims up to `limit` due deliveries, the longest overdue first. Returns none if the channel
    /// has no sender.
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
                next_attempt_at: now + CLAIM_DURATION,
                ..delivery
            };
            match tx.claim_delivery(&delivery).await {
                Ok(()) => claimed.push(Claimed(delivery)),
                // Another node claimed it first.
                Err(StoreError::Stale(_)) => {}
                Err(error) => return Err(error),
            }
        }
        tx.commit().await?;
        Ok(claimed)
    }

    /// Sends a claimed delivery and records the outcome. Takes at most a minute, however slow the
    /// receiver.
    pub async fn deliver(&self, claimed: Claimed) -> StoreResult<()> {
        let delivery = claimed.0;
        match Channel::of_kind(&delivery.kind).and_then(|channel| self.sender(channel)) {
            Some(Sender::Mail(mail)) => {
                let outcome = self.send_mail(mail, &delivery).await;
                self.settle_mail(&delivery, outcome).await
            }
            Some(Sender::Webhooks(sender)) => self.deliver_webhook(sender, &delivery).await,
            // Unreachable: deliveries are only claimed if there is a sender.
            None => Ok(()),
        }
    }

    /// Ends all claims, so that deliveries claimed by a process that died need not wait. Only call
    /// it while no other process uses the store.
    pub async fn end_claims(&self) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.store().begin().await?;
        tx.hasten_deliveries(now, now + CLAIM_DURATION).await?;
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
            // The invitation was revoked, used, expired or sent again since: nothing to send.
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
                tracing::error!(delivery = %id, kind, attempts, reason, "permanently refused");
                None
            }
            Err(DeliveryError::Failed(reason)) => {
                let again = next_attempt(attempts, self.now());
                if again.is_some() {
                    tracing::warn!(delivery = %id, kind, attempts, reason, "delivery failed");
                } else {
                    tracing::error!(delivery = %id, kind, attempts, reason, "delivery abandoned");
                }
                again
            }
        };
        let tx = self.store().begin().await?;
        settle(tx, delivery, again).await
    }
}

/// Ends a claim and commits the transaction with the outcome: the delivery is retried at `again`,
/// or deleted. Commits nothing if the claim ended earlier and another node has claimed the delivery
/// since: that node decides the outcome.
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
        assert!(RETRY_DELAYS.is_sorted());
    }
}
