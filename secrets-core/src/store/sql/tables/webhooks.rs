use async_trait::async_trait;

use super::{Connected, Row, Session, Transaction};
use crate::crypto::Sealed;
use crate::model::rotations::{DeliveryStatus, WebhookEvent};
use crate::model::{RotationId, Subject, Time, WebhookDeliveryId, WebhookId};
use crate::store::{
    StoreResult, WebhookDeliveryRecord, WebhookReads, WebhookRecord, WebhookWrites,
};

/// Builds the SQL subquery for the IDs of surplus deliveries: among the newest $2 deliveries of
/// webhook $1, those whose status matches the condition, except the newest $3.
macro_rules! surplus {
    ($condition:literal) => {
        concat!(
            "(SELECT d.id FROM
                 (SELECT id, status, created_at FROM webhook_deliveries WHERE webhook_id = $1
                  ORDER BY created_at DESC, id DESC
                  LIMIT $2) d
              WHERE d.status ",
            $condition,
            " ORDER BY d.created_at DESC, d.id DESC
              LIMIT $2 OFFSET $3)"
        )
    };
}

/// SQL statement that sets the status of surplus pending ($4) deliveries to failed ($5).
pub(in super::super) const FAIL_SURPLUS: &str = concat!(
    "UPDATE webhook_deliveries SET status = $5, next_attempt_at = NULL WHERE id IN ",
    surplus!("= $4")
);

/// SQL statement that deletes surplus deliveries that are not pending ($4).
pub(in super::super) const DELETE_SURPLUS: &str =
    concat!("DELETE FROM webhook_deliveries WHERE id IN ", surplus!("<> $4"));

#[async_trait]
impl<C: Connected> WebhookReads for Session<C> {
    async fn webhooks(&mut self, rotation: RotationId) -> StoreResult<Vec<WebhookRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(webhooks),
            " FROM webhooks w WHERE w.rotation_id = $1 ORDER BY w.created_at, w.id"
        ));
        self.all("webhooks", statement.bind(rotation.uuid()), record).await
    }

    async fn webhook(&mut self, webhook: WebhookId) -> StoreResult<Option<WebhookRecord>> {
        let statement =
            sqlx::query(concat!("SELECT ", columns!(webhooks), " FROM webhooks w WHERE w.id = $1"));
        self.one("webhooks", statement.bind(webhook.uuid()), record).await
    }

    async fn webhook_delivery(
        &mut self,
        delivery: WebhookDeliveryId,
    ) -> StoreResult<Option<WebhookDeliveryRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(webhook_deliveries),
            " FROM webhook_deliveries d WHERE d.id = $1"
        ));
        self.one("webhook_deliveries", statement.bind(delivery.uuid()), self::delivery).await
    }

    async fn webhook_deliveries(
        &mut self,
        webhook: WebhookId,
        limit: u32,
    ) -> StoreResult<Vec<WebhookDeliveryRecord>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(webhook_deliveries),
            " FROM webhook_deliveries d WHERE d.webhook_id = $1
              ORDER BY d.created_at DESC, d.id DESC
              LIMIT $2"
        ));
        let statement = statement.bind(webhook.uuid()).bind(i64::from(limit));
        self.all("webhook_deliveries", statement, delivery).await
    }
}

#[async_trait]
impl WebhookWrites for Session<Transaction> {
    async fn insert_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO webhooks
                 (id, rotation_id, sealed, events, enabled, failing_since, created_by, created_at)
             SELECT $1, r.id, $3, $4, $5, $6, $7, $8 FROM rotations r WHERE r.id = $2",
        )
        .bind(webhook.id.uuid())
        .bind(webhook.rotation.uuid())
        .bind(webhook.sealed.as_bytes())
        .bind(join_events(&webhook.events))
        .bind(webhook.enabled)
        .bind(webhook.failing_since)
        .bind(webhook.created_by)
        .bind(webhook.created_at);
        self.change(Subject::Rotation, statement).await
    }

    async fn update_webhook(&mut self, webhook: &WebhookRecord) -> StoreResult<()> {
        let statement =
            sqlx::query("UPDATE webhooks SET enabled = $2, failing_since = $3 WHERE id = $1")
                .bind(webhook.id.uuid())
                .bind(webhook.enabled)
                .bind(webhook.failing_since);
        self.change(Subject::Webhook, statement).await
    }

    async fn delete_webhook(&mut self, webhook: WebhookId) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM webhooks WHERE id = $1").bind(webhook.uuid());
        self.change(Subject::Webhook, statement).await
    }

    async fn insert_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO webhook_deliveries
                 (id, webhook_id, event, body, status, attempts, response_status,
                  next_attempt_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(delivery.id.uuid())
        .bind(delivery.webhook.uuid())
        .bind(delivery.event.map(WebhookEvent::as_str))
        .bind(&delivery.body)
        .bind(delivery.status.as_str())
        .bind(i64::from(delivery.attempts))
        .bind(delivery.response_status.map(i64::from))
        .bind(delivery.next_attempt_at)
        .bind(delivery.created_at);
        self.write(statement).await.map(drop)
    }

    async fn update_webhook_delivery(
        &mut self,
        delivery: &WebhookDeliveryRecord,
    ) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE webhook_deliveries
             SET status = $2, attempts = $3, response_status = $4, next_attempt_at = $5
             WHERE id = $1",
        )
        .bind(delivery.id.uuid())
        .bind(delivery.status.as_str())
        .bind(i64::from(delivery.attempts))
        .bind(delivery.response_status.map(i64::from))
        .bind(delivery.next_attempt_at);
        self.change(Subject::WebhookDelivery, statement).await
    }

    async fn trim_webhook_deliveries(
        &mut self,
        webhook: WebhookId,
        kept: u32,
        examined: u32,
    ) -> StoreResult<u64> {
        let pending = DeliveryStatus::Pending.as_str();
        let failure = sqlx::query(FAIL_SURPLUS)
            .bind(webhook.uuid())
            .bind(i64::from(examined))
            .bind(i64::from(kept))
            .bind(pending)
            .bind(DeliveryStatus::Failed.as_str());
        let failed = self.write(failure).await?;
        let deletion = sqlx::query(DELETE_SURPLUS)
            .bind(webhook.uuid())
            .bind(i64::from(examined))
            .bind(i64::from(kept))
            .bind(pending);
        self.write(deletion).await?;
        Ok(failed)
    }

    async fn prune_webhook_deliveries(&mut self, before: Time, limit: u32) -> StoreResult<u64> {
        let statement = sqlx::query(
            "DELETE FROM webhook_deliveries WHERE id IN
                 (SELECT id FROM webhook_deliveries WHERE created_at < $1 AND status <> $2
                  ORDER BY created_at, id
                  LIMIT $3)",
        )
        .bind(before)
        .bind(DeliveryStatus::Pending.as_str())
        .bind(i64::from(limit));
        self.write(statement).await
    }
}

/// Returns the event names as one string, separated by commas, as stored.
fn join_events(events: &[WebhookEvent]) -> String {
    let names: Vec<_> = events.iter().map(|event| event.as_str()).collect();
    names.join(",")
}

fn events(row: &Row<'_>) -> StoreResult<Vec<WebhookEvent>> {
    let names: &str = row.get("events")?;
    let names = names.split(',').filter(|name| !name.is_empty());
    names
        .map(|name| WebhookEvent::from_name(name).ok_or_else(|| row.unreadable("events")))
        .collect()
}

fn record(row: &Row<'_>) -> StoreResult<WebhookRecord> {
    Ok(WebhookRecord {
        id: row.id("id")?,
        rotation: row.id("rotation_id")?,
        sealed: row.get("sealed").map(Sealed::from_bytes)?,
        events: events(row)?,
        enabled: row.get("enabled")?,
        failing_since: row.get("failing_since")?,
        created_by: row.get("created_by")?,
        created_at: row.get("created_at")?,
    })
}

fn delivery(row: &Row<'_>) -> StoreResult<WebhookDeliveryRecord> {
    Ok(WebhookDeliveryRecord {
        id: row.id("id")?,
        webhook: row.id("webhook_id")?,
        event: row.one_of_if_any("event", WebhookEvent::from_name)?,
        body: row.get("body")?,
        status: row.one_of("status", DeliveryStatus::from_name)?,
        attempts: row.number("attempts")?,
        response_status: row.number_if_any("response_status")?,
        next_attempt_at: row.get("next_attempt_at")?,
        created_at: row.get("created_at")?,
    })
}
