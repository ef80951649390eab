//! Client that logs in again and again to a database whose users are rotated, with the credential
//! in the secrets.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrets_tests::Person;
use secrets_tests::targets::Target;
use tokio::task::JoinHandle;

use super::world::Rotated;

/// Database credential that the secrets contain, so that readers get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) username: String,
    pub(crate) password: String,
}

/// Running task that logs in to the database in a loop, even while the service is down. It uses the
/// credential that was last read from the secrets.
pub(crate) struct Sampler {
    served: Arc<Mutex<Served>>,
    logins: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    running: JoinHandle<()>,
}

impl Sampler {
    /// Starts a sampler with the credential that the secrets contain now.
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

    /// Reads the current credential from the secrets. All later logins use this credential.
    pub(crate) async fn refresh(&self, rotated: &Rotated, owner: &Person) {
        if let Some(now) = rotated.served(owner).await {
            *self.served.lock().unwrap() = now;
        }
    }

    /// Returns the credential with which the sampler logs in.
    pub(crate) fn served(&self) -> Served {
        self.served.lock().unwrap().clone()
    }

    /// Stops the sampler. Asserts that at least one login succeeded and that the database refused
    /// none.
    pub(crate) async fn end(self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.running.await.unwrap();
        assert!(self.logins.load(Ordering::Relaxed) > 0, "no login happened");
        let refused = self.refused.load(Ordering::Relaxed);
        assert_eq!(refused, 0, "a credential that was served did not log in");
    }
}

/// Time between two logins. The state in which a test leaves a database lasts longer, so more logins
/// would only need more CPU time.
const INTERVAL: Duration = Duration::from_millis(100);

async fn sample(
    target: Target,
    served: Arc<Mutex<Served>>,
    (logins, refused): (Arc<AtomicUsize>, Arc<AtomicUsize>),
    stopped: Arc<AtomicBool>,
) {
    loop {
        // The last login is after the last rotation.
        let is_last = stopped.load(Ordering::Relaxed);
        let Served { username, password } = served.lock().unwrap().clone();
        let counter = if target.logs_in(&username, &password).await { &logins } else { &refused };
        counter.fetch_add(1, Ordering::Relaxed);
        if is_last {
            return;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
