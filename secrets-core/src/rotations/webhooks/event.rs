//! Webhook events: building their content, and enqueueing their deliveries.

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::deliveries::MAX_DELIVERIES;
use crate::model::rotations::{DeliveryStatus, Integration, Outcome, TriggerType, WebhookEvent};
use crate::model::{
    AttemptId, EnvironmentId, EnvironmentName, ProjectId, RotationId, RotationName, SecretKey,
    Slug, TeamId, Time, WebhookDeliveryId, WebhookId,
};
use crate::outbox;
use crate::store::{
    AttemptRecord, RotationLocation, RotationRecord, StoreResult, Tx, WebhookDeliveryRecord,
};

/// Value of `kind` in the outbox rows of webhook deliveries.
pub(crate) const DELIVERY: &str = "webhook";

/// Name of the test event.
pub(super) const TEST: &str = "webhook.test";

/// Number of latest deliveries of a webhook that are examined when a delivery is inserted, to bound
/// the number of deliveries. Larger than the number that is kept, so that a webhook with too many
/// deliveries from an earlier version of the service loses them gradually, at most 200 in one
/// transaction.
const DELIVERIES_EXAMINED: u32 = 3 * MAX_DELIVERIES;

/// Rotation, environment and project that an event is about.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EventPlace {
    pub(crate) rotation_id: RotationId,
    pub(crate) rotation_name: RotationName,
    pub(crate) integration_type: Integration,
    pub(crate) team_id: TeamId,
    pub(crate) project_id: ProjectId,
    pub(crate) project_slug: Slug,
    pub(crate) environment_id: EnvironmentId,
    pub(crate) environment_name: EnvironmentName,
}

/// Data of an event about a rotation attempt: IDs, names and times, but no secret value.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EventData {
    #[serde(flatten)]
    pub(crate) place: EventPlace,
    pub(crate) history_id: AttemptId,
    /// Number of the attempt. Receivers can sort by this number, because events may arrive in any
    /// order.
    pub(crate) version: u64,
    pub(crate) trigger_type: TriggerType,
    pub(crate) triggered_by: Option<Uuid>,
    /// Result of the rotation attempt; `None` while the attempt is in progress.
    pub(crate) status: Option<Outcome>,
    pub(crate) started_at: Time,
    pub(crate) completed_at: Option<Time>,
    pub(crate) injected_secrets: Vec<SecretKey>,
    pub(crate) error_message: Option<String>,
}

impl EventPlace {
    pub(crate) fn new(place: &RotationLocation, rotation: &RotationRecord) -> Self {
        Self {
            rotation_id: rotation.id,
            rotation_name: rotation.settings.name.clone(),
            integration_type: rotation.settings.integration.clone(),
            team_id: place.project.team,
            project_id: place.project.id,
            project_slug: place.project.slug.clone(),
            environment_id: place.environment.id,
            environment_name: place.environment.name.clone(),
        }
    }
}

impl EventData {
    /// Builds the data of an event about an attempt. `injected` are the secret keys that the
    /// rotation writes.
    pub(crate) fn new(
        place: EventPlace,
        attempt: &AttemptRecord,
        injected: Vec<SecretKey>,
    ) -> Self {
        Self {
            place,
            history_id: attempt.id,
            version: attempt.sequence,
            trigger_type: attempt.trigger,
            triggered_by: attempt.triggered_by,
            status: attempt.outcome,
            started_at: attempt.started_at,
            completed_at: attempt.completed_at,
            injected_secrets: injected,
            error_message: attempt.error_message.clone(),
        }
    }
}

/// Enqueues an event for each webhook of the rotation that is enabled and subscribed to it. `tx`
/// must be the transaction of the change that the event reports.
pub(crate) async fn enqueue_event(
    tx: &mut dyn Tx,
    event: WebhookEvent,
    event_data: &EventData,
    now: Time,
) -> StoreResult<()> {
    for webhook in tx.webhooks(event_data.place.rotation_id).await? {
        if webhook.enabled && webhook.events.contains(&event) {
            let body = |id| body(id, event.as_str(), event_data, now);
            let owner = (event_data.place.team_id, webhook.id);
            insert_and_enqueue(tx, owner, Some(event), body, now).await?;
        }
    }
    Ok(())
}

/// Enqueues a test event for one webhook.
pub(super) async fn enqueue_test_event(
    tx: &mut dyn Tx,
    webhook: WebhookId,
    place: &EventPlace,
    now: Time,
) -> StoreResult<WebhookDeliveryRecord> {
    let body = |id| body(id, TEST, place, now);
    insert_and_enqueue(tx, (place.team_id, webhook), None, body, now).await
}

/// Adds a stored webhook delivery of a team to the outbox, with the ID of the delivery. If the
/// outbox already contains the delivery, because it failed when newer events replaced it, makes it
/// due now.
pub(super) async fn enqueue(
    tx: &mut dyn Tx,
    team: TeamId,
    delivery: WebhookDeliveryId,
    now: Time,
) -> StoreResult<()> {
    let payload = json!({ "delivery": delivery, "team": team });
    outbox::enqueue_as(tx, delivery.uuid().into(), (DELIVERY, payload), now, now).await
}

/// Inserts a delivery and adds it to the outbox. If the webhook has too many pending deliveries,
/// the oldest pending delivery fails; old deliveries that have ended are deleted.
async fn insert_and_enqueue(
    tx: &mut dyn Tx,
    (team, webhook): (TeamId, WebhookId),
    event: Option<WebhookEvent>,
    body: impl FnOnce(WebhookDeliveryId) -> String,
    now: Time,
) -> StoreResult<WebhookDeliveryRecord> {
    let id = WebhookDeliveryId::draw(now);
    let delivery = WebhookDeliveryRecord {
        id,
        webhook,
        event,
        body: body(id),
        status: DeliveryStatus::Pending,
        attempts: 0,
        response_status: None,
        next_attempt_at: Some(now),
        created_at: now,
    };
    tx.insert_webhook_delivery(&delivery).await?;
    // The outbox row of a delivery that failed here is deleted when it is due.
    let replaced = tx.trim_webhook_deliveries(webhook, MAX_DELIVERIES, DELIVERIES_EXAMINED).await?;
    if replaced > 0 {
        let reason = "replaced by newer events: the receiver is too slow";
        tracing::warn!(%webhook, replaced, reason, "webhook deliveries given up");
    }
    enqueue(tx, team, id, now).await?;
    Ok(delivery)
}

/// Builds the body of a webhook message. The body is stored with the delivery, so that every
/// attempt sends the same bytes.
fn body(id: WebhookDeliveryId, event: &str, data: &(impl Serialize + ?Sized), now: Time) -> String {
    json!({ "type": event, "timestamp": now, "id": message_id(id), "data": data }).to_string()
}

/// Returns the message ID of a delivery. All attempts use the same message ID, so that receivers
/// can detect duplicates.
pub(super) fn message_id(delivery: WebhookDeliveryId) -> String {
    format!("msg_{delivery}")
}
