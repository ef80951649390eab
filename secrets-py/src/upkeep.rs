//! Background work of an open service.

use std::sync::{Arc, Weak};
use std::time::Duration;

use secrets_core::Service;
use tokio::time::MissedTickBehavior;

/// Poll interval for due rotations.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Polls between two runs of [`tidy`].
const TIDY_EVERY: u64 = 10;

/// Polls between two purges.
const PURGE_EVERY: u64 = 3600;
/// Polls before the first purge.
const FIRST_PURGE: u64 = 60;

/// Runs the background work of a service until it is closed. Failed work is tried again at the
/// next poll; errors are not reported here, because the operations that callers run report them.
pub(crate) async fn look_after(service: Weak<Service>) {
    let mut polls = tokio::time::interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for poll in 1_u64.. {
        polls.tick().await;
        let Some(service) = service.upgrade() else { return };
        rotate(&service).await;
        if poll % TIDY_EVERY == 0 {
            tidy(&service).await;
        }
        if poll % PURGE_EVERY == FIRST_PURGE {
            drop(service.prune_audit().await);
            drop(service.prune_webhook_deliveries().await);
            drop(service.purge_projects().await);
        }
    }
}

/// Seals the audit log, deletes ended device logins and writes pending last-used times of tokens.
/// Also runs once more before a service is closed.
pub(crate) async fn tidy(service: &Service) {
    drop(service.seal_audit().await);
    drop(service.forget_ended_logins().await);
    drop(service.write_token_uses().await);
}

async fn rotate(service: &Arc<Service>) {
    for claim in service.claim_rotations().await.unwrap_or_default() {
        let service = Arc::clone(service);
        tokio::spawn(async move { service.work(claim).await });
    }
}
