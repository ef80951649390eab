//! Health checks of the service.

use std::time::Duration;

use chrono::TimeDelta;

use crate::crypto::{Key, Plaintext, ProjectKey, Purpose, RecordContext, Sealed};
use crate::engine::{Engine, FailingItem, Periodic, Schedule};
use crate::model::ProjectId;

/// Result of a health check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// True if the database responds. A difference of more than 30 seconds between the clocks of
    /// database and service is only logged.
    pub database: bool,
    /// True if a test string can be encrypted and decrypted again.
    pub encryption: bool,
    /// True if the last attempt to store audit entries succeeded.
    pub audit: bool,
    /// Items of background work whose last try on this node failed. Failing items do not make the
    /// service unhealthy, because other work continues.
    pub failing: Vec<FailingItem>,
}

/// Worker that checks the health of the service regularly, so that a failure is logged before a
/// request fails.
pub const HEALTH: Periodic = Periodic {
    name: "health",
    schedule: Schedule::every(Duration::from_secs(10)),
    job: |engine| {
        Box::pin(async move {
            check(&engine).await;
            Ok(())
        })
    },
};

/// Checks the database, the encryption and the audit log.
pub(super) async fn check(engine: &Engine) -> Health {
    let database = check_store(engine).await;
    engine.counters().set_store_up(database);
    Health {
        database,
        encryption: check_encryption(engine),
        audit: engine.is_audit_log_written(),
        failing: engine.failing(),
    }
}

async fn check_store(engine: &Engine) -> bool {
    match engine.store().ping().await {
        Ok(None) => true,
        Ok(Some(there)) => {
            let apart = (there - engine.now()).abs();
            if apart > TimeDelta::seconds(30) {
                tracing::warn!(
                    seconds = apart.num_seconds(),
                    "the clocks of the database and of this server differ too much"
                );
            }
            true
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "the store does not respond");
            false
        }
    }
}

fn check_encryption(engine: &Engine) -> bool {
    let key = ProjectKey::new(&Key::generate(), 1);
    let context = RecordContext {
        purpose: Purpose::Value,
        hidden: false,
        instance: engine.keyring().instance(),
        project: ProjectId::NIL,
        environment: None,
        object: ProjectId::NIL.uuid(),
        key: "",
        version: 0,
    };
    let sealed = Sealed::seal(&key, &context, &Plaintext::nothing());
    sealed.open(&key, &context).is_ok_and(|opened| opened == Plaintext::nothing())
}
