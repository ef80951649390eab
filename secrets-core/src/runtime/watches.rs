//! Registry of the watched environments and projects, and notification of their watchers (clients
//! with an open event stream).
//!
//! For each watched resource, one task polls the revision for all watchers, by default every two
//! seconds. This detects changes made on any node, and needs only the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::crypto::Tag;
use crate::engine::Engine;
use crate::environments::{WatchPlace, WatchTarget};
use crate::limits::{Permit, Permits};
use crate::model::lock::lock;
use crate::model::{Bound, Error, Result, TeamId, UserId};

/// Value of the `Retry-After` header in seconds, if a user, token, account or team has too many
/// watchers.
const RETRY_SECONDS: i64 = 60;

/// Limit and intervals of a [`WatchRegistry`].
#[derive(Debug, Clone, Copy)]
pub struct WatchOptions {
    /// Maximum number of watchers (clients with an open event stream) in one process. The default
    /// is 100.
    pub limit: usize,
    /// Interval between two polls of the revision of a watched resource, not zero. The default is 2
    /// seconds.
    pub poll_interval: Duration,
    /// Interval at which the host application checks the credential of a watcher, and its
    /// permission to read, again. Not zero; the default is 10 seconds.
    pub recheck_interval: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            limit: 100,
            poll_interval: Duration::from_secs(2),
            recheck_interval: Duration::from_secs(10),
        }
    }
}

/// Registry of the watched resources and the watchers (clients with an open event stream) of one
/// process. For each watcher, the host application acquires a permit, subscribes to the revision of
/// the resource, and sends the changes with its own protocol.
pub struct WatchRegistry {
    engine: Arc<Engine>,
    options: WatchOptions,
    revisions: Mutex<HashMap<WatchTarget, Revision>>,
    permits: Permits<WatchPlace>,
}

/// Sender of the revision of a watched resource to its subscribers. The revision is `None` before
/// the first poll, and after the resource is deleted.
type Revision = watch::Sender<Option<Tag>>;

impl WatchRegistry {
    /// Creates an empty registry.
    #[must_use]
    pub fn new(engine: Arc<Engine>, options: WatchOptions) -> Self {
        let (revisions, permits) = Default::default();
        Self { engine, options, revisions, permits }
    }

    /// Returns the limit and intervals of the registry.
    #[must_use]
    pub const fn options(&self) -> &WatchOptions {
        &self.options
    }

    /// Returns the current number of watchers (clients with an open event stream), and their
    /// maximum number.
    #[must_use]
    pub fn usage(&self) -> (usize, usize) {
        let limit = self.options.limit;
        (self.permits.in_use(&WatchPlace::Process(limit)), limit)
    }

    /// Acquires a permit for a watcher: a user or token (`principal`) of an account that watches a
    /// resource of `team`. Fails if the process, the team, the account or the principal already has
    /// its maximum number of watchers.
    pub fn acquire(
        &self,
        team: TeamId,
        account: UserId,
        principal: Uuid,
    ) -> Result<Permit<WatchPlace>> {
        let places = WatchPlace::of(principal, account, team, self.options.limit);
        let permit = self.permits.acquire(places).map_err(|full| match full {
            WatchPlace::Process(_) => Bound::Watchers.reached("too many watchers"),
            WatchPlace::Principal(_) | WatchPlace::Account(..) | WatchPlace::Team(..) => {
                let until = self.engine.now() + chrono::TimeDelta::seconds(RETRY_SECONDS);
                Error::RateLimited { bound: Bound::Watchers, until }
            }
        });
        permit.inspect_err(|_| self.engine.refusals().count(Bound::Watchers))
    }

    /// Subscribes to the revision of a resource. Starts a polling task for the first subscriber, on
    /// the tokio runtime of the caller.
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

    /// Polls the revision of a resource until there are no more subscribers, or until the resource
    /// is deleted.
    async fn poll(self: Arc<Self>, target: WatchTarget, revision: Revision) {
        let mut ticks = interval(self.options.poll_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.remove_if(target, |revision| revision.receiver_count() == 0) {
                return;
            }
            // Retry at the next tick. The background workers log it if the store does not respond.
            let Ok(now) = target.revision(&self.engine).await else {
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

    /// Removes a resource from the registry if `may` returns true for it. Returns true if the
    /// resource is no longer in the registry. A later subscriber then starts a new polling task.
    fn remove_if(&self, target: WatchTarget, may: impl Fn(&Revision) -> bool) -> bool {
        let mut revisions = lock(&self.revisions);
        let is_removed = revisions.get(&target).is_none_or(may);
        if is_removed {
            revisions.remove(&target);
        }
        is_removed
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::crypto::Key;
    use crate::environments::{CreateEnvironment, NewEnvironment};
    use crate::model::{Identity, Origin, ProjectId};
    use crate::projects::{CreateProject, DeleteProject, NewProject};
    use crate::store::MemoryStore;
    use crate::{Caller, Service};

    async fn service() -> Service {
        let store = Arc::new(MemoryStore::new());
        Service::builder(store, &Key::generate()).build().await.unwrap()
    }

    fn registry(service: &Service, limit: usize) -> Arc<WatchRegistry> {
        let options = WatchOptions { limit, ..WatchOptions::default() };
        Arc::new(WatchRegistry::new(Arc::clone(service.engine()), options))
    }

    fn team() -> TeamId {
        Uuid::from_u128(1).into()
    }

    fn account() -> UserId {
        Uuid::from_u128(2).into()
    }

    async fn project(service: &Service) -> (Caller, ProjectId) {
        let ada = Identity::new("test", "ada", "ada@example.com");
        let ada = service.sign_in(ada, Origin::default()).await.unwrap();
        let project = NewProject::named("Web".parse().unwrap());
        let project = service.perform(&ada, CreateProject { project }).await.unwrap();
        (ada, project.id)
    }

    async fn next(follower: &mut watch::Receiver<Option<Tag>>) -> Option<Tag> {
        timeout(Duration::from_mins(1), follower.changed()).await.unwrap().unwrap();
        follower.borrow_and_update().clone()
    }

    #[tokio::test]
    async fn a_principal_has_at_most_five_watchers() {
        let service = service().await;
        let registry = registry(&service, 40);
        let acquire = || registry.acquire(team(), account(), Uuid::from_u128(3));
        let mut permits: Vec<_> = (0..5).map(|_| acquire().unwrap()).collect();

        let refused = acquire().unwrap_err();

        let Error::RateLimited { bound: Bound::Watchers, until } = refused else {
            panic!("{refused:?}")
        };
        assert!(until > service.engine().now());
        assert_eq!(registry.usage(), (5, 40));
        permits.pop();
        assert!(acquire().is_ok());
    }

    #[tokio::test]
    async fn a_team_has_a_quarter_of_the_watchers_and_a_process_has_all() {
        let service = service().await;
        let registry = registry(&service, 4);
        let acquire = |team: u128| {
            let id = Uuid::from_u128(team);
            registry.acquire(id.into(), id.into(), id)
        };
        let _permits: Vec<_> = (0..3).map(|team| acquire(team).unwrap()).collect();
        assert!(matches!(acquire(0), Err(Error::RateLimited { .. })));
        let _last = acquire(3).unwrap();

        let refused = acquire(4).unwrap_err();

        assert!(matches!(refused, Error::Unavailable { .. }), "{refused:?}");
        assert_eq!(registry.usage(), (4, 4));
    }

    #[tokio::test]
    async fn an_account_has_half_of_the_watchers_of_all_its_teams_and_tokens() {
        let service = service().await;
        let registry = registry(&service, 8);
        let acquire = |number: u128, account: UserId| {
            let id = Uuid::from_u128(number);
            registry.acquire(id.into(), account, id)
        };
        let _permits: Vec<_> = (0..4).map(|number| acquire(number, account()).unwrap()).collect();

        let refused = acquire(4, account()).unwrap_err();

        assert!(matches!(refused, Error::RateLimited { .. }), "{refused:?}");
        assert!(acquire(4, Uuid::from_u128(9).into()).is_ok());
    }

    #[tokio::test]
    async fn followers_of_a_resource_share_its_polling_task() {
        let service = service().await;
        let registry = registry(&service, 4);
        let (ada, project) = project(&service).await;
        let target = WatchTarget::Project(project);

        let mut followers = [registry.follow(target), registry.follow(target)];

        assert_eq!(lock(&registry.revisions).len(), 1);
        for follower in &mut followers {
            assert!(next(follower).await.is_some());
        }
        service.perform(&ada, DeleteProject { project: project.into() }).await.unwrap();
        for follower in &mut followers {
            assert!(next(follower).await.is_none());
        }
        assert!(lock(&registry.revisions).is_empty());
    }

    #[tokio::test]
    async fn a_change_of_a_resource_reaches_its_followers() {
        let service = service().await;
        let options =
            WatchOptions { poll_interval: Duration::from_millis(10), ..WatchOptions::default() };
        let registry = Arc::new(WatchRegistry::new(Arc::clone(service.engine()), options));
        let (ada, project) = project(&service).await;
        let mut follower = registry.follow(WatchTarget::Project(project));
        let first = next(&mut follower).await;

        let name = "preview".parse().unwrap();
        let environment = NewEnvironment { name, inherits_from: None, description: None };
        let create = CreateEnvironment { project: project.into(), environment };
        service.perform(&ada, create).await.unwrap();

        let second = next(&mut follower).await;
        assert!(second.is_some());
        assert_ne!(second, first);
    }

    #[tokio::test]
    async fn a_resource_without_followers_is_not_polled() {
        let service = service().await;
        let registry = registry(&service, 4);
        let (_, project) = project(&service).await;
        let mut follower = registry.follow(WatchTarget::Project(project));
        assert!(next(&mut follower).await.is_some());

        drop(follower);

        let ended = async {
            while !lock(&registry.revisions).is_empty() {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(Duration::from_mins(1), ended).await.unwrap();
    }
}
