//! Removal of the names of deleted users from the audit log, in the background.

use std::time::Duration;

use crate::engine::{Engine, Periodic, Schedule, yield_now};
use crate::model::UserId;
use crate::store::StoreResult;

/// Maximum number of audit entries that are changed in one transaction, so that other writers do
/// not wait long.
pub(super) const MAX_ENTRIES: u32 = 1_000;

/// Maximum number of deleted users that one run of the worker processes. A user is processed in
/// every run until no entries were found for ten minutes
/// ([`ANONYMIZATION_MARGIN`](crate::store::ANONYMIZATION_MARGIN)).
const MAX_USERS: u32 = MAX_TRANSACTIONS;

/// Maximum number of transactions in one run of the worker, so that the run ends well within its
/// timeout.
const MAX_TRANSACTIONS: u32 = 500;

/// Time between two runs of the worker.
const INTERVAL: Duration = Duration::from_secs(10);

/// Worker that removes the names and e-mail addresses of deleted users from the audit log. The
/// deletion of an account changes at most 1,000 audit entries (`MAX_ENTRIES`); this worker changes
/// the rest, and the entries of requests that were in progress at the deletion.
pub const ANONYMIZATION: Periodic = Periodic {
    name: "anonymization",
    schedule: Schedule::every(INTERVAL),
    job: |engine| Box::pin(async move { Ok(anonymize(&engine).await?) }),
};

/// Removes the names and e-mail addresses of deleted users from the audit log, in short
/// transactions, at most 500 per call. If the entries of one user cannot be changed, the other
/// users are still processed, and the first error is returned at the end.
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
    let is_complete = tx.resume_anonymization(user, MAX_ENTRIES, engine.now()).await?;
    tx.commit().await?;
    Ok(is_complete)
}
