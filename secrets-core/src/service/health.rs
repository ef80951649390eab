//! Health checks of the service.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::TimeDelta;
use futures_util::lock::Mutex;

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

/// Pings of the store by this node, of which one runs at a time.
///
/// Concurrent health checks share a ping, because anyone may request the health at any rate. Pings
/// use the few database connections that are reserved for them and for the cache of reads.
#[derive(Default)]
struct Pings {
    /// Number of pings that have ended.
    ended: AtomicU64,
    /// True if the store responded to the last ping. Locked during a ping.
    is_up: Mutex<bool>,
}

/// True if the store responds. If another check pings the store at this time, waits for the result
/// of that ping.
async fn check_store(engine: &Engine) -> bool {
    let pings = engine.shared::<Pings>();
    let before = pings.ended.load(Ordering::Acquire);
    let mut is_up = pings.is_up.lock().await;
    if pings.ended.load(Ordering::Acquire) == before {
        *is_up = ping(engine).await;
        pings.ended.fetch_add(1, Ordering::Release);
    }
    *is_up
}

async fn ping(engine: &Engine) -> bool {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;

    use super::*;
    use crate::Service;
    use crate::engine::yield_now;
    use crate::model::Time;
    use crate::store::{MemoryStore, Reads, Store, StoreError, StoreResult, Tx};

    /// Store that does not respond to pings, and counts them.
    #[derive(Clone, Default)]
    struct Down {
        store: MemoryStore,
        pings: Arc<AtomicU64>,
    }

    #[async_trait]
    impl Store for Down {
        async fn read(&self) -> StoreResult<Box<dyn Reads>> {
            self.store.read().await
        }

        async fn begin(&self) -> StoreResult<Box<dyn Tx>> {
            self.store.begin().await
        }

        async fn ping(&self) -> StoreResult<Option<Time>> {
            self.pings.fetch_add(1, Ordering::Relaxed);
            yield_now().await;
            Err(StoreError::Unavailable("test".into()))
        }
    }

    #[tokio::test]
    async fn checks_at_the_same_time_share_one_ping() {
        let store = Down::default();
        let service = Service::builder(Arc::new(store.clone()), &Key::generate()).build().await;
        let service = service.unwrap();

        let checks = join_all((0..100).map(|_| service.health())).await;

        assert!(checks.iter().all(|health| !health.database));
        assert_eq!(store.pings.load(Ordering::Relaxed), 1);
        service.health().await;
        assert_eq!(store.pings.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_cancelled_check_delays_no_other() {
        let store = Down::default();
        let service = Service::builder(Arc::new(store.clone()), &Key::generate()).build().await;
        let service = service.unwrap();
        let (mut first, mut other) = (Box::pin(service.health()), Box::pin(service.health()));
        assert!((&mut first).now_or_never().is_none());
        assert!((&mut other).now_or_never().is_none());
        assert_eq!(store.pings.load(Ordering::Relaxed), 1);

        drop(first);

        assert!(!other.await.database);
        assert_eq!(store.pings.load(Ordering::Relaxed), 2);
    }
}
