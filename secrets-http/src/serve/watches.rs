//! Registry of the watched environments and projects, and notification of their watchers.
//!
//! One task per watched resource polls its revision every two seconds, for all its watchers. This
//! works across nodes, and needs only the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrets_core::Service;
use secrets_core::crypto::Tag;
use secrets_core::environments::{WatchPlace, WatchTarget};
use secrets_core::limits::{Permit, Permits};
use secrets_core::model::lock::lock;
use secrets_core::model::{Bound, Clock, Error, TeamId};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

/// Poll interval of a watched resource.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// `Retry-After` for a principal or team with too many watchers, in seconds.
const RETRY_SECONDS: i64 = 60;

/// Default maximum number of watchers of a process.
pub const DEFAULT_WATCH_LIMIT: usize = 100;

/// Registry of watched resources and their watchers.
pub struct WatchRegistry {
    service: Arc<Service>,
    clock: Arc<dyn Clock>,
    limit: usize,
    revisions: Mutex<HashMap<WatchTarget, Revision>>,
    permits: Permits<WatchPlace>,
}

/// Publisher of the revision of a resource. The revision is `None` before the first poll, and after
/// the resource is deleted.
type Revision = watch::Sender<Option<Tag>>;

impl WatchRegistry {
    /// Creates an empty registry for at most `limit` watchers.
    pub fn new(service: Arc<Service>, clock: Arc<dyn Clock>, limit: usize) -> Self {
        let (revisions, permits) = Default::default();
        Self { service, clock, limit, revisions, permits }
    }

    /// Returns the number of watchers, and its maximum.
    pub fn usage(&self) -> (usize, usize) {
        (self.permits.in_use(&WatchPlace::Process(self.limit)), self.limit)
    }

    /// Acquires a permit for a watcher of a principal and a team. Fails if the limit of the
    /// process, team or principal is reached.
    pub fn acquire(&self, team: TeamId, principal: Uuid) -> Result<Permit<WatchPlace>, Error> {
        let places = WatchPlace::of(principal, team, self.limit);
        let permit = self.permits.acquire(places).map_err(|full| match full {
            WatchPlace::Process(_) => Bound::Watchers.reached("too many watchers"),
            WatchPlace::Principal(_) | WatchPlace::Team(..) => {
                let until = self.clock.now() + chrono::TimeDelta::seconds(RETRY_SECONDS);
                Error::RateLimited { bound: Bound::Watchers, until }
            }
        });
        permit.inspect_err(|_| self.service.engine().refusals().count(Bound::Watchers))
    }

    /// Subscribes to the revision of a resource. Starts a polling task for the first
    /// subscriber.
    pub fn follow(self: &Arc<Self>, target: WatchTarget) -> watch::Receiver<Option<Tag>> {
        let mut revisions = lock(&self.revisions);
        if let Some(revision) = revisions.get(&target) {
            return revision.subscribe();
        }
        let (revision, follower) = watch::channel(None);
        revisions.insert(target, revision.clone());
        tokio::spawn(Arc::clone(self).poll(target, revision));
        follower
    }

    /// Polls the revision of a resource until it has no subscribers, or until it is deleted.
    async fn poll(self: Arc<Self>, target: WatchTarget, revision: Revision) {
        let mut ticks = interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.remove_if(target, |revision| revision.receiver_count() == 0) {
                return;
            }
            // Retry at the next tick. The background workers log it if the store does not respond.
            let Ok(now) = target.revision(self.service.engine()).await else {
                continue;
            };
            let is_gone = now.is_none();
            revision.send_if_modified(|known| {
                let is_changed = is_gone || *known != now;
                *known = now;
                is_changed
            });
            if is_gone {
                self.remove_if(target, |_| true);
                return;
            }
        }
    }

    /// Removes a resource from the registry if `may` returns true. Returns true if the resource is
    /// not in the registry afterwards. A later subscriber then starts a new polling task.
    fn remove_if(&self, target: WatchTarget, may: impl Fn(&Revision) -> bool) -> bool {
        let mut revisions = lock(&self.revisions);
        let is_removed = revisions.get(&target).is_none_or(may);
        if is_removed {
            revisions.remove(&target);
        }
        is_removed
    }
}
