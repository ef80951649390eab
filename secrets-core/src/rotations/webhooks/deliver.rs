//! Sending a delivery, and what becomes of it and its webhook.

use chrono::TimeDelta;
use serde::Deserialize;

use super::event::message_id;
use super::schedule::{PATIENCE, after_a_crowd, next_attempt};
use super::sealing::Receiver;
use crate::engine::Engine;
use crate::engine::Note;
use crate::model::rotations::DeliveryStatus;
use crate::model::{Error, Result, Time, WebhookDeliveryId};
use crate::outbox::settle;
use crate::ports::webhooks::{SendError, WebhookAnswer, WebhookRequest, WebhookSender};
use crate::rotations::sealing::OpenPlace;
use crate::store::{
    DeliveryRecord, RotationPlace, RotationRecord, StoreError, StoreResult, Tx,
    WebhookDeliveryRecord, WebhookRecord,
};

/// How long deliveries are kept once they are settled.
const KEPT: TimeDelta = TimeDelta::days(30);

/// The most that are deleted at once.
const PRUNED: u32 = 10_000;

/// What stands in the outbox.
#[derive(Deserialize)]
struct Sending {
    delivery: WebhookDeliveryId,
}

/// A delivery that is due, with all it is part of.
struct Due {
    rotation: RotationRecord,
    place: RotationPlace,
    webhook: WebhookRecord,
    delivery: WebhookDeliveryRecord,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// It was taken.
    Taken(u16),
    /// It was not, this time.
    Failed { status: Option<u16>, retry_after: Option<String>, reason: &'static str },
    /// The receiver is gone for good.
    Gone,
    /// It was not sent: nobody is to be told any more.
    Dropped,
}

impl Engine {
    /// Sends a delivery to a webhook, and settles it.
    pub(crate) async fn deliver_webhook(
        &self,
        sender: &dyn WebhookSender,
        claimed: &DeliveryRecord,
    ) -> StoreResult<()> {
        let Some(due) = self.due(claimed).await? else {
            // Deleted or settled since.
            return settle(self.store().begin().await?, claimed, None).await;
        };
        if !due.webhook.enabled || due.place.is_deleted {
            return self.settle_webhook(claimed, due, Outcome::Dropped).await;
        }
        let outcome = match self.receiver(&due).await {
            Ok(receiver) => {
                let team = due.place.project.team;
                let Some(_seat) = self.shared::<Receivers>().take(receiver.url.host(), team) else {
                    let later = after_a_crowd(self.now());
                    return settle(self.store().begin().await?, claimed, Some(later)).await;
                };
                let request = request(receiver, &due.delivery, self.now());
                Outcome::of(sender.send(&request).await)
            }
            Err(Error::Unavailable(cause)) => return Err(StoreError::Unavailable(cause)),
            Err(error) => {
                let cause = std::error::Error::source(&error);
                tracing::error!(webhook = %due.webhook.id, cause, "cannot be read");
                let reason = "what is kept of the webhook cannot be read";
                Outcome::Failed { status: None, retry_after: None, reason }
            }
        };
        self.settle_webhook(claimed, due, outcome).await
    }

    /// Deletes what webhooks were told a month ago. The host calls it now and then.
    pub async fn prune_webhook_deliveries(&self) -> Result<()> {
        let mut tx = self.store().begin().await?;
        tx.prune_webhook_deliveries(self.now() - KEPT, PRUNED).await?;
        Ok(tx.commit().await?)
    }

    async fn due(&self, claimed: &DeliveryRecord) -> StoreResult<Option<Due>> {
        let Ok(sending) = serde_json::from_str::<Sending>(&claimed.payload) else {
            return Ok(None);
        };
        let mut reads = self.store().read().await?;
        let delivery = reads.webhook_delivery(sending.delivery).await?;
        let pending = delivery.filter(|found| found.status == DeliveryStatus::Pending);
        let Some(delivery) = pending else { return Ok(None) };
        let Some(webhook) = reads.webhook(delivery.webhook).await? else { return Ok(None) };
        let Some(rotation) = reads.rotation(webhook.rotation).await? else { return Ok(None) };
        let Some(place) = reads.rotation_place(rotation.id).await? else { return Ok(None) };
        Ok(Some(Due { rotation, place, webhook, delivery }))
    }

    async fn receiver(&self, due: &Due) -> Result<Receiver> {
        let place = OpenPlace::new(self.keyring(), due.place.clone())?;
        let mut reads = self.store().read().await?;
        Receiver::open(&place.seals(self.keyring()), reads.as_mut(), &due.webhook).await
    }

    async fn settle_webhook(
        &self,
        claimed: &DeliveryRecord,
        due: Due,
        outcome: Outcome,
    ) -> StoreResult<()> {
        let mut tx = self.store().begin().await?;
        // Held, so that what others say of the webhook meanwhile is not lost.
        let current = match tx.lock_rotation(due.rotation.id).await {
            Ok(()) => current(tx.as_mut(), &due).await?,
            Err(StoreError::Stale(_)) => None,
            Err(error) => return Err(error),
        };
        let Some((before, mut delivery)) = current else {
            return settle(tx, claimed, None).await;
        };
        let (mut webhook, now) = (before.clone(), self.now());
        let again = apply(&outcome, &mut delivery, &mut webhook, now);
        tell(&outcome, &delivery);
        tx.update_webhook_delivery(&delivery).await?;
        if webhook != before {
            tx.update_webhook(&webhook).await?;
        }
        if before.enabled && !webhook.enabled {
            tracing::warn!(webhook = %webhook.id, "disabled: its receiver was given up");
            let note = disabled(&due, &outcome);
            tx.insert_audit(&[note.into_entry_of_system("webhook.disabled", now)]).await?;
        }
        settle(tx, claimed, again).await
    }
}

/// The webhook and the delivery as they are now; `None` if there is nothing more to say of them.
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

/// Writes down an outcome, and gives when the delivery is tried again.
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
        Outcome::Taken(_) => {
            webhook.failing_since = None;
            delivery.status = DeliveryStatus::Delivered;
            delivery.next_attempt_at = None;
            return None;
        }
        Outcome::Failed { retry_after, .. } => {
            let since = *webhook.failing_since.get_or_insert(now);
            let again = next_attempt(delivery.attempts, retry_after.as_deref(), now);
            again.filter(|_| now - since < PATIENCE && webhook.enabled)
        }
        Outcome::Gone | Outcome::Dropped => None,
    };
    if again.is_none() {
        delivery.status = DeliveryStatus::Failed;
        webhook.enabled &= *outcome == Outcome::Dropped;
    }
    delivery.next_attempt_at = again;
    again
}

fn tell(outcome: &Outcome, delivery: &WebhookDeliveryRecord) {
    let WebhookDeliveryRecord { id, webhook, attempts, .. } = delivery;
    if let Outcome::Failed { status, reason, .. } = outcome {
        tracing::warn!(delivery = %id, %webhook, attempts, status, reason, "not delivered");
    }
}

fn disabled(due: &Due, outcome: &Outcome) -> Note {
    let (project, environment) = (&due.place.project, &due.place.environment);
    let name = due.rotation.name.to_string();
    let mut note = Note {
        team: Some(project.team),
        project: Some((project.id, project.name.to_string())),
        environment: Some((environment.id, environment.name.to_string())),
        resource: Some(("webhook", Some(due.webhook.id.uuid()), Some(name))),
        ..Note::default()
    };
    let reason = match outcome {
        Outcome::Gone => "the receiver answered 410",
        _ => "deliveries failed again and again",
    };
    note.details.insert("reason".to_owned(), reason.into());
    note
}

impl Outcome {
    fn of(answer: std::result::Result<WebhookAnswer, SendError>) -> Self {
        match answer {
            Ok(WebhookAnswer { status: status @ 200..=299, .. }) => Self::Taken(status),
            Ok(WebhookAnswer { status: 410, .. }) => Self::Gone,
            Ok(WebhookAnswer { status, retry_after }) => {
                let reason = match status {
                    300..=399 => "the receiver sends us elsewhere, where we do not go",
                    _ => "the receiver did not take it",
                };
                Self::Failed { status: Some(status), retry_after, reason }
            }
            Err(error) => Self::Failed { status: None, retry_after: None, reason: error.reason() },
        }
    }

    fn status(&self) -> Option<u16> {
        match self {
            Self::Taken(status) => Some(*status),
            Self::Failed { status, .. } => *status,
            Self::Gone => Some(410),
            Self::Dropped => None,
        }
    }
}
