//! Retention: deletes records that are older than their retention period, the time for which the
//! service keeps them.
//!
//! Audit log entries have their own retention period, which the team's plan sets.

use std::time::Duration;

use chrono::TimeDelta;

use crate::engine::{Engine, Periodic, Schedule};
use crate::store::{StoreResult, Tx};

/// Retention period of finished deliveries to webhooks.
const DELIVERIES: TimeDelta = TimeDelta::days(30);

/// Retention period of scans with their findings, and of finished rotation attempts. The last
/// attempt of each rotation is always kept.
const HISTORY: TimeDelta = TimeDelta::days(365);

/// Maximum number of records deleted in one transaction, so that the transaction is short.
const BATCH: u32 = 200;

/// Maximum number of scans deleted in one transaction. Smaller than for other records, because a
/// scan can have 1,000 findings.
const SCAN_BATCH: u32 = 5;

/// Worker that deletes records whose retention period has ended.
pub const RETENTION: Periodic = Periodic {
    name: "retention",
    schedule: Schedule::hourly(),
    job: |engine| Box::pin(async move { Ok(delete_old(&engine).await?) }),
};

/// Retention period of device logins and sessions after they have ended. A client that polls late
/// gets the error "expired" instead of "unknown".
const ENDED_LOGINS_KEPT: TimeDelta = TimeDelta::hours(1);

/// Worker that deletes ended device logins and sessions. It runs often, because anyone can start a
/// device login.
pub const ENDED_LOGINS: Periodic = Periodic {
    name: "device logins",
    schedule: Schedule::every(Duration::from_secs(10)),
    job: |engine| Box::pin(async move { Ok(delete_ended_logins(&engine).await?) }),
};

/// Kind of record with a retention period.
#[derive(Clone, Copy)]
enum RecordKind {
    Deliveries,
    Scans,
    Attempts,
    MessageCounts,
    DeviceLogins,
}

/// Deletes all records that are older than their retention period, in short transactions. If
/// deleting one kind of record fails, continues with the next kind, and returns the first error at
/// the end.
pub async fn delete_old(engine: &Engine) -> StoreResult<()> {
    use RecordKind::{Attempts, Deliveries, MessageCounts, Scans};
    delete_kinds(engine, &[Deliveries, Scans, Attempts, MessageCounts]).await
}

/// Deletes device logins and sessions that ended more than an hour ago, in short transactions. If
/// deleting one of the two kinds fails, still deletes the other, and returns the error at the end.
pub async fn delete_ended_logins(engine: &Engine) -> StoreResult<()> {
    let logins = RecordKind::DeviceLogins.delete_all(engine).await;
    logins.and(delete_ended_sessions(engine).await)
}

/// Deletes sessions that ended more than an hour ago, in short transactions. Searches for the
/// sessions before a transaction begins, because the search reads the whole table.
async fn delete_ended_sessions(engine: &Engine) -> StoreResult<()> {
    let ended = engine.now() - ENDED_LOGINS_KEPT;
    let idle = ended - engine.options().sessions.idle;
    loop {
        let sessions = engine.store().read().await?.ended_sessions(ended, idle, BATCH).await?;
        if !sessions.is_empty() {
            let mut tx = engine.store().begin().await?;
            tx.delete_ended_sessions(&sessions, ended, idle).await?;
            tx.commit().await?;
        }
        if sessions.len() < BATCH as usize {
            return Ok(());
        }
    }
}

async fn delete_kinds(engine: &Engine, kinds: &[RecordKind]) -> StoreResult<()> {
    let mut result = Ok(());
    for kind in kinds {
        result = result.and(kind.delete_all(engine).await);
    }
    result
}

impl RecordKind {
    async fn delete_all(self, engine: &Engine) -> StoreResult<()> {
        loop {
            let mut tx = engine.store().begin().await?;
            let (deleted, batch) = self.delete(tx.as_mut(), engine).await?;
            tx.commit().await?;
            if deleted < u64::from(batch) {
                return Ok(());
            }
        }
    }

    /// Deletes one batch of old records of this kind. Returns the number of deleted records, and
    /// the maximum number in a batch.
    async fn delete(self, tx: &mut dyn Tx, engine: &Engine) -> StoreResult<(u64, u32)> {
        let now = engine.now();
        Ok(match self {
            Self::Deliveries => {
                (tx.prune_webhook_deliveries(now - DELIVERIES, BATCH).await?, BATCH)
            }
            Self::Scans => (tx.prune_scans(now - HISTORY, SCAN_BATCH).await?, SCAN_BATCH),
            Self::Attempts => (tx.prune_attempts(now - HISTORY, BATCH).await?, BATCH),
            Self::MessageCounts => (tx.prune_message_counts(now, BATCH).await?, BATCH),
            Self::DeviceLogins => {
                (tx.delete_ended_logins(now - ENDED_LOGINS_KEPT, BATCH).await?, BATCH)
            }
        })
    }
}
