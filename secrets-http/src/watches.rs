//! Those who watch environments, and what tells them of changes.
//!
//! One task for each environment that is watched looks every two seconds how what it shows stands,
//! however many watch it; that works across nodes, and needs nothing but the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrets_core::service::Service;
use secrets_core::model::{Clock, EnvironmentId, Error};
use secrets_core::crypto::Tag;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

/// How often the store is asked.
const POLL: Duration = Duration::from_secs(2);

/// The most who watch at a time, in one process.
const WATCHERS: usize = 100;

/// The most of them who are the same principal.
const WATCHERS_PER_PRINCIPAL: usize = 5;

/// How long somebody who watches too much is told to wait, in seconds.
const PAUSE: i64 = 60;

/// Those who watch.
pub struct Watches {
    service: Arc<Service>,
    clock: Arc<dyn Clock>,
    environments: Mutex<HashMap<EnvironmentId, Revision>>,
    /// How many each principal has.
    seats: Mutex<HashMap<Uuid, usize>>,
}

/// How an environment stands; `None` once it is gone.
type Revision = watch::Sender<Option<Tag>>;

/// The right to watch, until it is dropped.
pub struct Seat {
    watches: Arc<Watches>,
    principal: Uuid,
}

impl Watches {
    /// Nobody.
    pub fn new(service: Arc<Service>, clock: Arc<dyn Clock>) -> Self {
        Self { service, clock, environments: Mutex::default(), seats: Mutex::default() }
    }

    /// Takes a seat for a principal, if there is one.
    pub fn sit(self: &Arc<Self>, principal: Uuid) -> Result<Seat, Error> {
        let mut seats = locked(&self.seats);
        if seats.values().sum::<usize>() >= WATCHERS {
            return Err(Error::Unavailable("too many watch environments".into()));
        }
        let taken = seats.entry(principal).or_default();
        if *taken >= WATCHERS_PER_PRINCIPAL {
            let until = self.clock.now() + chrono::TimeDelta::seconds(PAUSE);
            return Err(Error::RateLimited(until));
        }
        *taken += 1;
        Ok(Seat { watches: Arc::clone(self), principal })
    }

    /// What tells of the changes of an environment from now on.
    pub fn follow(self: &Arc<Self>, environment: EnvironmentId) -> watch::Receiver<Option<Tag>> {
        let mut environments = locked(&self.environments);
        if let Some(revision) = environments.get(&environment) {
            return revision.subscribe();
        }
        let (revision, follower) = watch::channel(None);
        environments.insert(environment, revision.clone());
        tokio::spawn(Arc::clone(self).poll(environment, revision));
        follower
    }

    /// Looks how an environment stands until nobody wants to know, or it is gone.
    async fn poll(self: Arc<Self>, environment: EnvironmentId, revision: Revision) {
        let mut ticks = interval(POLL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.forget(environment, |revision| revision.receiver_count() == 0) {
                return;
            }
            // What fails is looked at again; the scheduler tells of a store that does not answer.
            let Ok(now) = self.service.revision(environment).await else { continue };
            let is_gone = now.is_none();
            revision.send_if_modified(|known| {
                let is_other = is_gone || *known != now;
                *known = now;
                is_other
            });
            if is_gone {
                self.forget(environment, |_| true);
                return;
            }
        }
    }

    /// Forgets an environment if nobody follows it; whoever comes later begins anew.
    fn forget(&self, environment: EnvironmentId, may: impl Fn(&Revision) -> bool) -> bool {
        let mut environments = locked(&self.environments);
        let is_free = environments.get(&environment).is_none_or(may);
        if is_free {
            environments.remove(&environment);
        }
        is_free
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = locked(&self.watches.seats);
        if let Some(taken) = seats.get_mut(&self.principal) {
            *taken -= 1;
            if *taken == 0 {
                seats.remove(&self.principal);
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
