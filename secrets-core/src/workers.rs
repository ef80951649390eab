//! Background work of a service: the list of all workers, and the steps at startup and shutdown.
//!
//! With the feature `runtime`, `runtime::Supervisor` runs the workers on tokio. With another
//! runtime, call [`Worker::jobs`] at the times that [`Worker::schedule`] returns, and run the jobs.

use std::sync::Arc;

use crate::engine::{Engine, Worker, refusals};
use crate::invitations::InvitationMail;
use crate::notices::{self, NoticeMail};
use crate::outbox::DeliveryWorker;
use crate::rotations::RotationWorker;
use crate::rotations::webhooks::WebhookDeliveries;
use crate::store::StoreResult;
use crate::{account, audit, keys, outbox, projects, retention, rotations, service, tokens};

/// Returns all workers of a service.
#[must_use]
pub fn all() -> Vec<Arc<dyn Worker>> {
    vec![
        Arc::new(service::HEALTH),
        Arc::new(service::MANIFESTS),
        Arc::new(audit::SEAL_BATCHES),
        Arc::new(audit::SEAL),
        Arc::new(audit::PRUNE),
        Arc::new(retention::ENDED_LOGINS),
        Arc::new(tokens::CREDENTIAL_USES),
        Arc::new(keys::PROJECT_KEYS),
        Arc::new(keys::EPOCH),
        Arc::new(projects::PURGE),
        Arc::new(account::ANONYMIZATION),
        Arc::new(retention::RETENTION),
        Arc::new(notices::EXPIRING_TOKENS),
        Arc::new(DeliveryWorker(InvitationMail)),
        Arc::new(DeliveryWorker(NoticeMail)),
        Arc::new(DeliveryWorker(WebhookDeliveries)),
        Arc::new(RotationWorker),
    ]
}

/// Releases the deliveries (e-mails and webhooks) and rotations that an earlier process had
/// reserved for itself and did not finish, so that the workers continue with them immediately. Call
/// this function at startup, and only if no other process uses the store.
pub async fn take_over(engine: &Engine) -> StoreResult<()> {
    outbox::end_claims(engine).await?;
    rotations::end_rotation_leases(engine).await
}

/// Writes the data that is still in memory to the store: audit entries of refused requests, and
/// times of the last use of service tokens and sessions. Then appends the remaining audit entries
/// to the audit chains. Call this function before the process ends.
pub async fn flush(engine: &Engine) -> StoreResult<()> {
    let written = tokens::write_uses(engine).await;
    let recorded = refusals::write_pending(engine, true).await;
    let sealed = audit::seal(engine).await.map(drop);
    written.and(recorded).and(sealed)
}
