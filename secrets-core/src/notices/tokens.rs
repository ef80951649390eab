//! Worker that enqueues a notice for each service token that expires within a week.

use chrono::TimeDelta;

use super::{Notice, Topic, enqueue, is_admitted};
use crate::engine::{Engine, Periodic, Schedule};
use crate::model::Time;
use crate::store::{StoreError, StoreResult, TokenRecord, Tx};

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
/// notice. A team gets at most 100 notices a day; further tokens get no notice, not even later.
/// Does nothing if e-mail is not configured. Several nodes may call this function concurrently.
pub async fn announce_expiring_tokens(engine: &Engine) -> StoreResult<()> {
    if engine.ports().mail.is_none() {
        return Ok(());
    }
    loop {
        let now = engine.now();
        let mut tx = engine.store().begin().await?;
        let tokens = tx.expiring_tokens(now, now + NOTICE_PERIOD, BATCH).await?;
        let count = tokens.len();
        let marked = mark_announced(tx.as_mut(), tokens).await?;
        for token in marked {
            if is_admitted(tx.as_mut(), "expiring-tokens", token.team, now).await? {
                let topic = Topic::ExpiringToken(token.id);
                let notice = Notice { topic, rotation: None, to: None };
                enqueue(tx.as_mut(), &notice, now, now).await?;
            }
        }
        tx.commit().await?;
        if count < BATCH as usize {
            return Ok(());
        }
    }
}

/// Marks service tokens as announced. Returns the tokens that were not marked before, ordered by
/// team and expiry time.
async fn mark_announced(
    tx: &mut dyn Tx,
    mut tokens: Vec<TokenRecord>,
) -> StoreResult<Vec<TokenRecord>> {
    // Sorted by ID, as when the last uses of tokens are written, so that two transactions do not
    // deadlock.
    tokens.sort_unstable_by_key(|token| token.id);
    let mut marked = Vec::new();
    for token in tokens {
        match tx.mark_expiry_announced(token.id).await {
            Ok(()) => marked.push(token),
            // Another node announced the token, or it was deleted.
            Err(StoreError::Stale(_)) => {}
            Err(error) => return Err(error),
        }
    }
    // Sorted by team for the same reason: the counters of the teams are written in this order.
    marked.sort_by_key(|token| (token.team, token.expires_at));
    Ok(marked)
}

/// True if a new token lives for at most a week. A notice is then unnecessary, because the token's
/// creator knows that it expires soon.
pub(crate) fn needs_no_announcement(now: Time, expires_at: Option<Time>) -> bool {
    expires_at.is_some_and(|at| at - now <= NOTICE_PERIOD)
}
