//! Worker that enqueues a notice for each service token that expires within a week.

use chrono::TimeDelta;

use super::{Notice, Topic, enqueue};
use crate::engine::{Engine, Periodic, Schedule};
use crate::model::Time;
use crate::store::{StoreError, StoreResult};

/// Time before the expiry of a token at which the notice about it is sent.
const NOTICE_PERIOD: TimeDelta = TimeDelta::days(7);

/// Maximum number of service tokens handled in one transaction, to keep the transaction short.
const BATCH: u32 = 200;

/// Worker that enqueues a notice for each service token that expires within a week.
pub const EXPIRING_TOKENS: Periodic = Periodic {
    name: "expiring tokens",
    schedule: Schedule::hourly(),
    job: |engine| Box::pin(async move { Ok(announce_expiring_tokens(&engine).await?) }),
};

/// Enqueues a notice for each service token that expires within a week; each token gets only one
/// notice. Does nothing if e-mail is not configured. Several nodes may call this function
/// concurrently.
pub async fn announce_expiring_tokens(engine: &Engine) -> StoreResult<()> {
    if engine.ports().mail.is_none() {
        return Ok(());
    }
    loop {
        let now = engine.now();
        let mut tx = engine.store().begin().await?;
        let mut tokens = tx.expiring_tokens(now, now + NOTICE_PERIOD, BATCH).await?;
        // Sorted by ID, as when the last uses of tokens are written, so that two transactions do
        // not deadlock.
        tokens.sort_unstable_by_key(|token| token.id);
        for token in &tokens {
            match tx.mark_expiry_announced(token.id).await {
                Ok(()) => {}
                // Another node announced the token, or it was deleted.
                Err(StoreError::Stale(_)) => continue,
                Err(error) => return Err(error),
            }
            let notice = Notice { topic: Topic::ExpiringToken(token.id), to: None };
            enqueue(tx.as_mut(), &notice, now, now).await?;
        }
        tx.commit().await?;
        if tokens.len() < BATCH as usize {
            return Ok(());
        }
    }
}

/// True if a new token lives for at most a week. A notice is then unnecessary, because the token's
/// creator knows that it expires soon.
pub(crate) fn needs_no_announcement(now: Time, expires_at: Option<Time>) -> bool {
    expires_at.is_some_and(|at| at - now <= NOTICE_PERIOD)
}
