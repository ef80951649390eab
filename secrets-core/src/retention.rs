//! Retention: deletes records that are older than the service keeps them.
//!
//! The audit log has a retention of its own, set by the team's plan.

use std::time::Duration;

use chrono::TimeDelta;

use crate::engine::{Engine, Periodic, Schedule};
use crate::model::Time;
use crate::store::{StoreResult, Tx};

/// Retention of finished deliveries to webhooks.
const DELIVERIES: TimeDelta = TimeDelta::days(30);

/// Retention of scans with their findings, and of concluded rotation attempts. The last attempt of a
/// rotation is kept.
const HISTORY: TimeDelta = TimeDelta::days(365);

/// Maximum number of records deleted in one transaction, so that it is short.
const BATCH: u32 = 200;

/// Maximum number of scans deleted in one transaction. A scan can have 1,000 findings.
const SCAN_BATCH: u32 = 5;

/// Worker that deletes old records.
pub const RETENTION: Periodic = Periodic {
    name: "retention",
    schedule: Schedule { timeout: Duration::from_mins(30), ..Schedule::hourly() },
    job: |engine| Box::pin(async move { Ok(delete_old(&engine).await?) }),
};

/// Kind of record with a retention.
#[derive(Clone, Copy)]
enum Kind {
    Deliveries,
    Scans,
    Attempts,
}

/// Deletes all records that are older than their retention, in short transactions.
pub async fn delete_old(engine: &Engine) -> StoreResult<()> {
    for kind in [Kind::Deliveries, Kind::Scans, Kind::Attempts] {
        loop {
            let mut tx = engine.store().begin().await?;
            let (deleted, batch) = kind.delete(tx.as_mut(), engine.now()).await?;
            tx.commit().await?;
            if deleted < u64::from(batch) {
                break;
            }
        }
    }
    Ok(())
}

impl Kind {
    /// Deletes one batch of old records. Returns their number and that of a full batch.
    async fn delete(self, tx: &mut dyn Tx, now: Time) -> StoreResult<(u64, u32)> {
        Ok(match self {
            Self::Deliveries => {
                (tx.prune_webhook_deliveries(now - DELIVERIES, BATCH).await?, BATCH)
            }
            Self::Scans => (tx.prune_scans(now - HISTORY, SCAN_BATCH).await?, SCAN_BATCH),
            Self::Attempts => (tx.prune_attempts(now - HISTORY, BATCH).await?, BATCH),
        })
    }
}
