//! Background work of a service, as a list of workers.
//!
//! With the feature `runtime`, [`Supervisor`](crate::runtime::Supervisor) runs them. A program with a
//! runtime of its own can run them too: see [`Worker`].

use std::sync::Arc;

use crate::engine::{Engine, Worker};
use crate::invitations::InvitationMail;
use crate::outbox::DeliveryWorker;
use crate::rotations::RotationWorker;
use crate::rotations::webhooks::{self, WebhookDeliveries};
use crate::store::StoreResult;
use crate::{audit, device_login, outbox, projects, rotations, service, tokens};

/// All workers of a service.
#[must_use]
pub fn all() -> Vec<Arc<dyn Worker>> {
    vec![
        Arc::new(service::HEALTH),
        Arc::new(audit::SEAL),
        Arc::new(audit::PRUNE),
        Arc::new(device_login::CLEAN_UP),
        Arc::new(tokens::TOKEN_USES),
        Arc::new(projects::PURGE),
        Arc::new(webhooks::PRUNE),
        Arc::new(DeliveryWorker(InvitationMail)),
        Arc::new(DeliveryWorker(WebhookDeliveries)),
        Arc::new(RotationWorker),
    ]
}

/// Takes over the work of an earlier process at once, instead of waiting for its claims and leases to
/// run out. Only for a store that no other process has open.
pub async fn take_over(engine: &Engine) -> StoreResult<()> {
    outbox::end_claims(engine).await?;
    rotations::end_rotation_leases(engine).await
}

/// Writes what the workers hold in memory, before the process ends.
pub async fn flush(engine: &Engine) -> StoreResult<()> {
    audit::seal(engine).await?;
    tokens::write_uses(engine).await
}
