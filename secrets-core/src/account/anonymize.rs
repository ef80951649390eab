//! Removal of the names of deleted users from the audit log, in the background.

use std::time::Duration;

use crate::engine::{Engine, Periodic, Schedule};
use crate::store::StoreResult;

/// Maximum number of audit entries that are changed in one transaction, so that other writers do
/// not wait long.
pub(super) const MAX_ENTRIES: u32 = 1_000;

/// Maximum number of users that are loaded at a time.
const MAX_USERS: u32 = 16;

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

/// Completes the anonymization of the audit entries of all deleted users, in short transactions.
/// Continues where an earlier call has stopped.
pub async fn anonymize(engine: &Engine) -> StoreResult<()> {
    loop {
        let users = engine.store().read().await?.unfinished_anonymizations(MAX_USERS).await?;
        if users.is_empty() {
            return Ok(());
        }
        for user in users {
            let mut tx = engine.store().begin().await?;
            tx.anonymize_actor(user, MAX_ENTRIES).await?;
            tx.commit().await?;
        }
    }
}
