use async_trait::async_trait;

use super::{Connected, Row, Session, Transaction};
use crate::model::{DeliveryId, Subject, Time};
use crate::store::{DeliveryRecord, OutboxReads, OutboxWrites, StoreResult};

#[async_trait]
impl<C: Connected> OutboxReads for Session<C> {
    async fn due_deliveries(
        &mut self,
        kind: &str,
        now: Time,
        after: Option<(Time, DeliveryId)>,
        limit: u32,
    ) -> StoreResult<Vec<DeliveryRecord>> {
        macro_rules! due {
            ($after:literal) => {
                concat!(
                    "SELECT id, kind, payload, attempts, next_attempt_at, created_at
                     FROM outbox WHERE kind = $1 AND next_attempt_at <= $2 ",
                    $after,
                    " ORDER BY next_attempt_at, id LIMIT $3"
                )
            };
        }
        let statement = match after {
            None => sqlx::query(due!("")).bind(kind).bind(now).bind(i64::from(limit)),
            Some((time, delivery)) => {
                let text = due!("AND (next_attempt_at, id) > ($4, $5)");
                let statement = sqlx::query(text).bind(kind).bind(now).bind(i64::from(limit));
                statement.bind(time).bind(delivery.uuid())
            }
        };
        self.all("outbox", statement, record).await
    }
}

#[async_trait]
impl OutboxWrites for Session<Transaction> {
    async fn insert_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO outbox (id, kind, payload, attempts, next_attempt_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (id) DO UPDATE
                 SET attempts = outbox.attempts + 1, next_attempt_at = excluded.next_attempt_at,
                     payload = excluded.payload",
        )
        .bind(delivery.id.uuid())
        .bind(&delivery.kind)
        .bind(&delivery.payload)
        .bind(i64::from(delivery.attempts))
        .bind(delivery.next_attempt_at)
        .bind(delivery.created_at);
        self.write(statement).await.map(drop)
    }

    async fn claim_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE outbox SET attempts = $2, next_attempt_at = $3
             WHERE id = $1 AND attempts = $2 - 1",
        )
        .bind(delivery.id.uuid())
        .bind(i64::from(delivery.attempts))
        .bind(delivery.next_attempt_at);
        self.change(Subject::Resource, statement).await
    }

    async fn postpone_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()> {
        let statement =
            sqlx::query("UPDATE outbox SET next_attempt_at = $3 WHERE id = $1 AND attempts = $2")
                .bind(delivery.id.uuid())
                .bind(i64::from(delivery.attempts))
                .bind(delivery.next_attempt_at);
        self.change(Subject::Resource, statement).await
    }

    async fn release_claims(&mut self, now: Time, by: Time) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE outbox SET next_attempt_at = $1
             WHERE next_attempt_at > $1 AND next_attempt_at <= $2",
        );
        self.write(statement.bind(now).bind(by)).await.map(drop)
    }

    async fn delete_delivery(&mut self, delivery: &DeliveryRecord) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM outbox WHERE id = $1 AND attempts = $2")
            .bind(delivery.id.uuid())
            .bind(i64::from(delivery.attempts));
        self.change(Subject::Resource, statement).await
    }

    async fn count_message(&mut self, counter: &str, until: Time) -> StoreResult<u64> {
        let statement = sqlx::query(
            "INSERT INTO mail_counts (counter, until, sent) VALUES ($1, $2, 1)
             ON CONFLICT (until, counter) DO UPDATE SET sent = mail_counts.sent + 1
             RETURNING sent AS count",
        );
        self.count(statement.bind(counter).bind(until)).await
    }

    async fn prune_message_counts(&mut self, before: Time, limit: u32) -> StoreResult<u64> {
        let statement = sqlx::query(
            "DELETE FROM mail_counts WHERE (until, counter) IN
                 (SELECT until, counter FROM mail_counts WHERE until < $1
                  ORDER BY until, counter LIMIT $2)",
        );
        self.write(statement.bind(before).bind(i64::from(limit))).await
    }
}

fn record(row: &Row<'_>) -> StoreResult<DeliveryRecord> {
    Ok(DeliveryRecord {
        id: row.id("id")?,
        kind: row.get("kind")?,
        payload: row.get("payload")?,
        attempts: row.number("attempts")?,
        next_attempt_at: row.get("next_attempt_at")?,
        created_at: row.get("created_at")?,
    })
}
