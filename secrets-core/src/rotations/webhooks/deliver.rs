//! Delivery of events to webhooks, and the update of a webhook after each attempt.

use async_trait::async_trait;
use serde::Deserialize;

use super::event::{DELIVERY, message_id};
use super::limits::{DeliveryPermits, DeliveryPlace};
use super::schedule::{MAX_DELAY, MAX_FAILURE_TIME, next_attempt};
use super::sealing::Receiver;
use crate::engine::{AuditContext, Caller, DeliveryEnd, Engine, Failures, WorkItem};
use crate::model::rotations::DeliveryStatus;
use crate::model::{Error, Result, TeamId, Time, WebhookDeliveryId};
use crate::outbox::{Channel, DeliveryPermit, settle};
use crate::ports::webhooks::{SendError, WebhookAnswer, WebhookRequest, WebhookSender};
use crate::rotations::sealing::RotationContext;
use crate::store::{
    DeliveryRecord, Reads, RotationLocation, RotationRecord, StoreError, StoreResult, Tx,
    WebhookDeliveryRecord, WebhookRecord,
};

/// Payload in the outbox for a webhook delivery.
#[derive(Deserialize)]
struct OutboxPayload {
    delivery: WebhookDeliveryId,
    /// Team that owns the webhook; `None` if an earlier version of the service enqueued the
    /// delivery.
    #[serde(default)]
    team: Option<TeamId>,
}

/// A due webhook delivery, together with its webhook, rotation, project and environment.
struct Due {
    rotation: RotationRecord,
    place: RotationLocation,
    webhook: WebhookRecord,
    delivery: WebhookDeliveryRecord,
}

/// Result of an attempt to send a webhook delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// The receiver accepted the delivery, with this HTTP status.
    Accepted(u16),
    /// The attempt failed. It will be retried if retries are left.
    Failed { status: Option<u16>, retry_after: Option<String>, reason: &'static str },
    /// The receiver responded with HTTP status 410: the URL no longer exists.
    Gone,
    /// Nothing was sent, because the webhook is disabled or the project is deleted.
    Dropped,
}

/// Outbox channel that sends webhook deliveries.
#[derive(Debug, Clone, Copy)]
pub struct WebhookDeliveries;

#[async_trait]
impl Channel for WebhookDeliveries {
    fn kind(&self) -> &'static str {
        DELIVERY
    }

    fn max_in_flight(&self) -> usize {
        64
    }

    fn is_available(&self, engine: &Engine) -> bool {
        engine.ports().webhooks.is_some()
    }

    fn consider(&self, engine: &Engine, due: &[DeliveryRecord]) {
        let due = due.iter().map(|delivery| delivery.id);
        engine.shared::<DeliveryPermits>().forget_others(due);
    }

    fn team(&self, delivery: &DeliveryRecord) -> Option<TeamId> {
        serde_json::from_str::<OutboxPayload>(&delivery.payload).ok()?.team
    }

    fn must_wait(&self, engine: &Engine, delivery: &DeliveryRecord) -> bool {
        engine.shared::<DeliveryPermits>().must_wait(&delivery.id)
    }

    async fn admit(
        &self,
        engine: &Engine,
        delivery: &DeliveryRecord,
    ) -> StoreResult<Option<DeliveryPermit>> {
        let permits = engine.shared::<DeliveryPermits>();
        // For a delivery that cannot be sent: it needs no real permit, and its result is recorded
        // immediately.
        let unlimited: Option<DeliveryPermit> = Some(Box::new(()));
        let due = match due(engine, delivery).await {
            Ok(Some(due)) => due,
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            Ok(None) | Err(_) => return Ok(unlimited),
        };
        match receiver(engine, &due).await {
            Ok(receiver) => {
                let team = due.place.project.team;
                let host = DeliveryPlace::Host(team, receiver.url.host().to_owned());
                let permit = permits.acquire(delivery.id, vec![host, DeliveryPlace::Team(team)]);
                Ok(permit.map(|permit| Box::new(permit) as DeliveryPermit))
            }
            Err(Error::Unavailable(cause)) => Err(StoreError::Unavailable(cause)),
            Err(_) => Ok(unlimited),
        }
    }

    async fn deliver(&self, engine: &Engine, delivery: &DeliveryRecord) -> StoreResult<()> {
        let Some(sender) = engine.ports().webhooks.as_deref() else { return Ok(()) };
        deliver_webhook(engine, sender, delivery).await
    }

    async fn give_up(&self, engine: &Engine, delivery: &DeliveryRecord) -> StoreResult<()> {
        let found = webhook_delivery(engine.store().read().await?.as_mut(), delivery).await;
        let found = match found {
            // Leave the record of the delivery unchanged: the record or the payload is corrupt.
            Err(StoreError::Corrupt(_)) => None,
            found => found?,
        };
        let pending = found.filter(|found| found.status == DeliveryStatus::Pending);
        let Some(pending) = pending else { return Ok(()) };
        let (status, next_attempt_at) = (DeliveryStatus::Failed, None);
        let failed = WebhookDeliveryRecord { status, next_attempt_at, ..pending };
        let mut tx = engine.store().begin().await?;
        tx.update_webhook_delivery(&failed).await?;
        tx.commit().await
    }
}

/// Sends a delivery to its webhook and records the result.
async fn deliver_webhook(
    engine: &Engine,
    sender: &dyn WebhookSender,
    claimed: &DeliveryRecord,
) -> StoreResult<()> {
    let Some(due) = due(engine, claimed).await? else {
        return settle_ended(engine, claimed).await;
    };
    if !due.webhook.enabled || due.place.is_deleted {
        return settle_webhook(engine, claimed, due, Outcome::Dropped).await;
    }
    let (failures, item) = (engine.shared::<Failures>(), WorkItem::Webhook(due.webhook.id));
    let outcome = match receiver(engine, &due).await {
        Ok(receiver) => {
            failures.clear(item);
            let request = request(receiver, &due.delivery, engine.now());
            Outcome::of(sender.send(&request).await)
        }
        Err(Error::Unavailable(cause)) => return Err(StoreError::Unavailable(cause)),
        Err(error) => {
            failures.report(item, &error, engine.now());
            let reason = "the stored webhook cannot be read";
            Outcome::Failed { status: None, retry_after: None, reason }
        }
    };
    settle_webhook(engine, claimed, due, outcome).await
}

/// Removes from the outbox a delivery that was deleted, has ended, or failed because newer events
/// replaced it.
async fn settle_ended(engine: &Engine, claimed: &DeliveryRecord) -> StoreResult<()> {
    let delivery = webhook_delivery(engine.store().read().await?.as_mut(), claimed).await?;
    settle(engine.store().begin().await?, claimed, None).await?;
    if delivery.is_some_and(|delivery| delivery.status == DeliveryStatus::Failed) {
        engine.counters().count_delivery(DeliveryEnd::GivenUp);
    }
    Ok(())
}

/// Loads the record of the webhook delivery that an outbox row refers to; `None` if it was deleted.
async fn webhook_delivery(
    reads: &mut dyn Reads,
    claimed: &DeliveryRecord,
) -> StoreResult<Option<WebhookDeliveryRecord>> {
    let sending = serde_json::from_str::<OutboxPayload>(&claimed.payload);
    let sending =
        sending.map_err(|_| StoreError::Corrupt("the payload is not a webhook delivery".into()))?;
    reads.webhook_delivery(sending.delivery).await
}

async fn due(engine: &Engine, claimed: &DeliveryRecord) -> StoreResult<Option<Due>> {
    let mut reads = engine.store().read().await?;
    let delivery = webhook_delivery(reads.as_mut(), claimed).await?;
    let pending = delivery.filter(|found| found.status == DeliveryStatus::Pending);
    let Some(delivery) = pending else { return Ok(None) };
    let Some(webhook) = reads.webhook(delivery.webhook).await? else { return Ok(None) };
    let Some(rotation) = reads.rotation(webhook.rotation).await? else { return Ok(None) };
    let Some(place) = reads.rotation_location(rotation.id).await? else { return Ok(None) };
    Ok(Some(Due { rotation, place, webhook, delivery }))
}

async fn receiver(engine: &Engine, due: &Due) -> Result<Receiver> {
    let place = RotationContext::new(engine.keyring(), due.place.clone())?;
    let mut reads = engine.store().read().await?;
    Receiver::open(&place.sealer(engine.keyring()), reads.as_mut(), &due.webhook).await
}

async fn settle_webhook(
    engine: &Engine,
    claimed: &DeliveryRecord,
    due: Due,
    outcome: Outcome,
) -> StoreResult<()> {
    let mut tx = engine.store().begin().await?;
    // Locked, so that concurrent changes to the webhook are not lost.
    let current = match tx.lock_rotation(due.rotation.id).await {
        Ok(()) => current(tx.as_mut(), &due).await?,
        Err(StoreError::Stale(_)) => None,
        Err(error) => return Err(error),
    };
    let Some((before, mut delivery)) = current else {
        return settle(tx, claimed, None).await;
    };
    let (mut webhook, now) = (before.clone(), engine.now());
    let again = apply(&outcome, &mut delivery, &mut webhook, now);
    report(engine, &outcome, &delivery);
    tx.update_webhook_delivery(&delivery).await?;
    if webhook != before {
        tx.update_webhook(&webhook).await?;
    }
    if before.enabled && !webhook.enabled {
        tracing::warn!(webhook = %webhook.id, "webhook disabled: its receiver failed");
        let context = audit_context(&due, &outcome);
        tx.insert_audit(&[context.into_entry(&Caller::system(), "webhook.disabled", now)]).await?;
    }
    settle(tx, claimed, again).await?;
    engine.counters().count_delivery(match outcome {
        Outcome::Accepted(_) | Outcome::Dropped => DeliveryEnd::Done,
        _ if again.is_some() => DeliveryEnd::Retried,
        Outcome::Failed { .. } | Outcome::Gone => DeliveryEnd::GivenUp,
    });
    Ok(())
}

/// Reloads the webhook and the delivery from the store; `None` if either was deleted.
async fn current(
    tx: &mut dyn Tx,
    due: &Due,
) -> StoreResult<Option<(WebhookRecord, WebhookDeliveryRecord)>> {
    let webhook = tx.webhook(due.webhook.id).await?;
    let delivery = tx.webhook_delivery(due.delivery.id).await?;
    Ok(webhook.zip(delivery))
}

fn request(receiver: Receiver, delivery: &WebhookDeliveryRecord, now: Time) -> WebhookRequest {
    let body = delivery.body.clone();
    let headers = receiver.headers(message_id(delivery.id), now.timestamp(), &body);
    WebhookRequest { url: receiver.url, headers, body }
}

/// Updates the records of the delivery and the webhook after an attempt to send the delivery.
/// Returns the time of the next attempt; `None` if there are no more attempts.
fn apply(
    outcome: &Outcome,
    delivery: &mut WebhookDeliveryRecord,
    webhook: &mut WebhookRecord,
    now: Time,
) -> Option<Time> {
    if *outcome != Outcome::Dropped {
        delivery.attempts = delivery.attempts.saturating_add(1);
        delivery.response_status = outcome.status();
    }
    let again = match outcome {
        Outcome::Accepted(_) => {
            webhook.failing_since = None;
            delivery.status = DeliveryStatus::Delivered;
            delivery.next_attempt_at = None;
            return None;
        }
        Outcome::Failed { retry_after, .. } => {
            let is_over = fails_too_long(delivery, webhook, now);
            let again = next_attempt(delivery.attempts, retry_after.as_deref(), now);
            again.filter(|_| !is_over && webhook.enabled)
        }
        Outcome::Gone => None,
        Outcome::Dropped => {
            webhook.failing_since = None;
            None
        }
    };
    if again.is_none() {
        delivery.status = DeliveryStatus::Failed;
        webhook.enabled &= *outcome == Outcome::Dropped;
    }
    // A newer event can replace the delivery while it is being sent. Then its status is failed.
    let again = again.filter(|_| delivery.status == DeliveryStatus::Pending);
    delivery.next_attempt_at = again;
    again
}

/// Records in the webhook that an attempt to send the delivery failed. Returns true if every
/// attempt has failed for so long that the webhook must be disabled.
///
/// The time starts again after an attempt that was more than a day late, because no attempts were
/// made in the meantime: the service was down, or the database was restored. The first failure of a
/// delivery never disables the webhook.
fn fails_too_long(
    delivery: &WebhookDeliveryRecord,
    webhook: &mut WebhookRecord,
    now: Time,
) -> bool {
    if delivery.next_attempt_at.is_some_and(|due| now - due > MAX_DELAY) {
        webhook.failing_since = None;
    }
    let since = *webhook.failing_since.get_or_insert(now);
    delivery.attempts > 1 && now - since >= MAX_FAILURE_TIME
}

/// Logs a failed attempt to send a delivery, and lists the webhook's receiver as failing in the
/// health report. Any other outcome removes the receiver from this list.
fn report(engine: &Engine, outcome: &Outcome, delivery: &WebhookDeliveryRecord) {
    let WebhookDeliveryRecord { id, webhook, attempts, .. } = delivery;
    let (failures, item) = (engine.shared::<Failures>(), WorkItem::WebhookReceiver(*webhook));
    if let Outcome::Failed { status, reason, .. } = outcome {
        tracing::warn!(delivery = %id, %webhook, attempts, status, reason, "webhook not delivered");
        failures.report_scheduled(item, engine.now());
    } else {
        failures.clear(item);
    }
}

fn audit_context(due: &Due, outcome: &Outcome) -> AuditContext {
    let (project, environment) = (&due.place.project, &due.place.environment);
    let name = due.rotation.settings.name.to_string();
    let mut context = AuditContext {
        team: Some(project.team),
        project: Some((project.id, project.name.to_string())),
        environment: Some((environment.id, environment.name.to_string())),
        resource: Some(("webhook", Some(due.webhook.id.uuid()), Some(name))),
        ..AuditContext::default()
    };
    let reason = match outcome {
        Outcome::Gone => "the receiver answered 410",
        _ => "deliveries failed repeatedly",
    };
    context.details.insert("reason".to_owned(), reason.into());
    context
}

impl Outcome {
    fn of(answer: std::result::Result<WebhookAnswer, SendError>) -> Self {
        match answer {
            Ok(WebhookAnswer { status: status @ 200..=299, .. }) => Self::Accepted(status),
            Ok(WebhookAnswer { status: 410, .. }) => Self::Gone,
            Ok(WebhookAnswer { status, retry_after }) => {
                let reason = match status {
                    300..=399 => "the receiver answered with a redirect, which is not followed",
                    _ => "the receiver did not answer with a success status",
                };
                Self::Failed { status: Some(status), retry_after, reason }
            }
            Err(error) => Self::Failed { status: None, retry_after: None, reason: error.reason() },
        }
    }

    fn status(&self) -> Option<u16> {
        match self {
            Self::Accepted(status) => Some(*status),
            Self::Failed { status, .. } => *status,
            Self::Gone => Some(410),
            Self::Dropped => None,
        }
    }
}

#[cfg(test)]
mod tests;
