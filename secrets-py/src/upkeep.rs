//! What a service does without being asked, while it is open.

use std::sync::{Arc, Weak};
use std::time::Duration;

use secrets_core::service::Service;
use tokio::time::MissedTickBehavior;

/// How often somebody looks whether a rotation is due, and how many looks lie between the rest.
const LOOK: Duration = Duration::from_secs(1);
const REST: u64 = 10;

/// How many looks lie between purges, and before the first.
const PURGE: u64 = 3600;
const FIRST_PURGE: u64 = 60;

/// Looks after a service until it is closed. What fails is tried again with the next look, and
/// whoever asks the service for something is told of the fault by that.
pub(crate) async fn look_after(service: Weak<Service>) {
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for look in 1_u64.. {
        looks.tick().await;
        let Some(service) = service.upgrade() else { return };
        rotate(&service).await;
        if look % REST == 0 {
            tidy(&service).await;
        }
        if look % PURGE == FIRST_PURGE {
            drop(service.prune_audit().await);
            drop(service.prune_webhook_deliveries().await);
            drop(service.purge_projects().await);
        }
    }
}

/// Seals the log, forgets what ended and writes down what was noted. Also the last thing that is
/// done before a service is closed.
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
