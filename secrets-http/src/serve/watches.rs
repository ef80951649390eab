//! Registry of the watched environments, and notification of their watchers.
//!
//! One task per watched environment polls its revision every two seconds, for all its watchers.
//! This works across nodes, and needs only the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrets_core::Service;
use secrets_core::crypto::Tag;
use secrets_core::environments::{self, WatchPlace};
use secrets_core::limits::{Permit, Permits};
use secrets_core::model::{Clock, EnvironmentId, Error, TeamId};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

/// Poll interval of a watched environment.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// `Retry-After` for a principal or team with too many watchers, in seconds.
const RETRY_SECONDS: i64 = 60;

/// Registry of watched environments and their watchers.
pub struct WatchRegistry {
    service: Arc<Service>,
    clock: Arc<dyn Clock>,
    environments: Mutex<HashMap<EnvironmentId, Revision>>,
    permits: Permits<WatchPlace>,
}

/// Publisher of the revision of an environment. The revision is `None` before the first poll, and
/// after the environment is deleted.
type Revision = watch::Sender<Option<Tag>>;

impl WatchRegistry {
    /// Creates an empty registry.
    pub fn new(service: Arc<Service>, clock: Arc<dyn Clock>) -> Self {
        Self { service, clock, environments: Mutex::default(), permits: Permits::default() }
    }

    /// Acquires a watch permit for a principal, in a team. Fails at the limit per process, team or
    /// principal.
    pub fn acquire(&self, team: TeamId, principal: Uuid) -> Result<Permit<WatchPlace>, Error> {
        let places =
            vec![WatchPlace::Principal(principal), WatchPlace::Team(team), WatchPlace::Process];
        self.permits.acquire(places).map_err(|full| match full {
            WatchPlace::Process => Error::Unavailable("too many watchers".into()),
            WatchPlace::Principal(_) | WatchPlace::Team(_) => {
                let until = self.clock.now() + chrono::TimeDelta::seconds(RETRY_SECONDS);
                Error::RateLimited(until)
            }
        })
    }

    /// Subscribes to the revision of an environment. Starts a polling task for the first
    /// subscriber.
    pub fn follow(self: &Arc<Self>, environment: EnvironmentId) -> watch::Receiver<Option<Tag>> {
        let mut environments = lock(&self.environments);
        if let Some(revision) = environments.get(&environment) {
            return revision.subscribe();
        }
        let (revision, follower) = watch::channel(None);
        environments.insert(environment, revision.clone());
        tokio::spawn(Arc::clone(self).poll(environment, revision));
        follower
    }

    /// Polls the revision of an environment until it has no subscribers, or until it is deleted.
    async fn poll(self: Arc<Self>, environment: EnvironmentId, revision: Revision) {
        let mut ticks = interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.remove_if(environment, |revision| revision.receiver_count() == 0) {
                return;
            }
            // Retry at the next tick. The background workers log it if the store does not respond.
            let Ok(now) = environments::revision(self.service.engine(), environment).await else {
                continue;
            };
            let is_gone = now.is_none();
            revision.send_if_modified(|known| {
                let is_changed = is_gone || *known != now;
                *known = now;
                is_changed
            });
            if is_gone {
                self.remove_if(environment, |_| true);
                return;
            }
        }
    }

    /// Removes an environment from the registry if `may` returns true. Returns true if the
    /// environment is no longer in the registry. A later subscriber starts a new polling task.
    fn remove_if(&self, environment: EnvironmentId, may: impl Fn(&Revision) -> bool) -> bool {
        let mut environments = lock(&self.environments);
        let is_removed = environments.get(&environment).is_none_or(may);
        if is_removed {
            environments.remove(&environment);
        }
        is_removed
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
