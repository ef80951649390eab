//! Client that repeatedly logs in with the served credential.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrets_tests::Person;
use secrets_tests::targets::Target;
use tokio::task::JoinHandle;

use super::world::Rotated;

/// Credential that readers get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) username: String,
    pub(crate) password: String,
}

/// Logs in with the last served credential in a loop, even while the service is down.
pub(crate) struct Sampler {
    served: Arc<Mutex<Served>>,
    logins: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    running: JoinHandle<()>,
}

impl Sampler {
    /// Starts with the credential that is served now.
    pub(crate) async fn start(rotated: &Rotated, owner: &Person) -> Self {
        let first = rotated.served(owner).await.unwrap();
        let served = Arc::new(Mutex::new(first));
        let (logins, refused) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let stopped = Arc::<AtomicBool>::default();
        let target = rotated.database.target.clone();
        let running = tokio::spawn(sample(
            target,
            Arc::clone(&served),
            (Arc::clone(&logins), Arc::clone(&refused)),
            Arc::clone(&stopped),
        ));
        Self { served, logins, refused, stopped, running }
    }

    /// Loads the credential that is served now.
    pub(crate) async fn refresh(&self, rotated: &Rotated, owner: &Person) {
        if let Some(now) = rotated.served(owner).await {
            *self.served.lock().unwrap() = now;
        }
    }

    /// Returns the credential that is used.
    pub(crate) fn served(&self) -> Served {
        self.served.lock().unwrap().clone()
    }

    /// Stops the sampler. At least one login must have happened, and none may have been refused.
    pub(crate) async fn end(self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.running.await.unwrap();
        assert!(self.logins.load(Ordering::Relaxed) > 0, "no login happened");
        let refused = self.refused.load(Ordering::Relaxed);
        assert_eq!(refused, 0, "a credential that was served did not log in");
    }
}

async fn sample(
    target: Target,
    served: Arc<Mutex<Served>>,
    (logins, refused): (Arc<AtomicUsize>, Arc<AtomicUsize>),
    stopped: Arc<AtomicBool>,
) {
    while !stopped.load(Ordering::Relaxed) {
        let Served { username, password } = served.lock().unwrap().clone();
        let counter = if target.logs_in(&username, &password).await { &logins } else { &refused };
        counter.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
