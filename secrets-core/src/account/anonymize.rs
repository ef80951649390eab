//! Removal of the names of deleted users from the audit log, in the background.

use std::time::Duration;

use crate::engine::{Engine, Periodic, Schedule, yield_now};
use crate::model::UserId;
use crate::store::StoreResult;

/// Maximum number of audit entries that are changed in one transaction, so that other writers do
/// not wait long.
pub(super) const MAX_ENTRIES: u32 = 1_000;

/// Maximum number of users in one round.
const MAX_USERS: u32 = 16;

/// Maximum number of transactions in one round, so that it ends well within its timeout.
const MAX_TRANSACTIONS: u32 = 500;

/// Time between two runs of the worker.
const INTERVAL: Duration = Duration::from_secs(10);

/// Worker that removes the names and e-mail addresses of deleted users from the audit log. The
/// deletion of an account changes at most `MAX_ENTRIES` audit entries; this worker changes the
/// rest.
pub const ANONYMIZATION: Periodic = Periodic {
    name: "anonymization",
    schedule: Schedule::every(INTERVAL),
    job: |engine| Box::pin(async move { Ok(anonymize(&engine).await?) }),
};

/// Continues the anonymization of deleted users, in short transactions, until it is complete or the
/// limits of a call are reached. A user whose entries cannot be changed does not delay the others;
/// the first error is returned at the end.
pub async fn anonymize(engine: &Engine) -> StoreResult<()> {
    let users = engine.store().read().await?.unfinished_anonymizations(MAX_USERS).await?;
    let (mut result, mut transactions) = (Ok(()), 0);
    for user in users {
        while transactions < MAX_TRANSACTIONS {
            transactions += 1;
            match anonymize_batch(engine, user).await {
                Ok(false) => yield_now().await,
                Ok(true) => break,
                Err(error) => {
                    result = result.and(Err(error));
                    break;
                }
            }
        }
    }
    result
}

async fn anonymize_batch(engine: &Engine, user: UserId) -> StoreResult<bool> {
    let mut tx = engine.store().begin().await?;
    let is_complete = tx.resume_anonymization(user, MAX_ENTRIES).await?;
    tx.commit().await?;
    Ok(is_complete)
}
