//! Ports (interfaces to external systems) and options of the service.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use crate::crypto::{InstanceRecord, RootKeys};
use crate::egress::EgressPolicy;
use crate::limits::SharedCounters;
use crate::model::rotations::{DatabaseKind, Integration};
use crate::model::{BaseUrl, Clock, Error, MemberAccess, Plans, Result, SystemClock};
use crate::ports::epochs::EpochStore;
use crate::ports::identity::IdentityVerifier;
use crate::ports::mail::Mail;
use crate::ports::memory::WorkMemory;
use crate::ports::offload::{Inline, Offload};
use crate::ports::payments::{NoProvider, PaymentProvider};
use crate::ports::rotators::{Rotators, Timings};
use crate::ports::timer::Timer;
use crate::ports::webhooks::WebhookSender;
use crate::scanner::Rules;
use crate::store::{ResolvedEnvironment, Store};

/// Implementations of the [`ports`](crate::ports): the store, the root key and the external systems
/// that the service uses.
#[derive(Clone)]
pub struct Ports {
    /// Store: the database that holds all records.
    pub store: Arc<dyn Store>,
    /// Clock: the source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Root key, which wraps (encrypts) the instance key.
    pub root: Arc<dyn RootKeys>,
    /// Previous root key, accepted until [`rotate_root`](crate::keys::rotate_root) has re-wrapped
    /// the stored instance key with the current root key.
    pub previous_root: Option<Arc<dyn RootKeys>>,
    /// Verifier of the identity provider's tokens. Without it, users sign in only with identities
    /// that the host application has verified itself.
    pub identity: Option<Arc<dyn IdentityVerifier>>,
    /// Mailer. Without it, the inviter gets the link of the invitation, and must send the link to
    /// the invited person.
    pub mail: Option<Mail>,
    /// Drivers that rotate credentials. Without them, no rotations are performed.
    pub rotators: Option<Rotators>,
    /// HTTP client that sends webhook events. Without it, events wait in the outbox.
    pub webhooks: Option<Arc<dyn WebhookSender>>,
    /// Runner of CPU-bound work, for example a thread pool.
    pub offload: Arc<dyn Offload>,
    /// Memory budget of CPU-bound work and of the secrets that operations hold. Without it, only
    /// the number of concurrent CPU-bound jobs is limited.
    pub memory: Option<Arc<dyn WorkMemory>>,
    /// Timer for the time limit of operations. Without it, they have no limit.
    pub timer: Option<Arc<dyn Timer>>,
    /// Rate-limit counters that the nodes share. Without them, each node counts by itself.
    pub counters: Option<Arc<dyn SharedCounters>>,
    /// Copy of the epoch outside the database. Without it, a replacement of the database by an
    /// earlier state of it is not detected.
    pub epochs: Option<Arc<dyn EpochStore>>,
}

impl Ports {
    /// Creates ports with the given store and root key and the system clock. All optional ports are
    /// absent, and CPU-bound work runs on the calling thread.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, root: Arc<dyn RootKeys>) -> Self {
        Self {
            store,
            clock: Arc::new(SystemClock),
            root,
            previous_root: None,
            identity: None,
            mail: None,
            rotators: None,
            webhooks: None,
            offload: Arc::new(Inline),
            memory: None,
            timer: None,
            counters: None,
            epochs: None,
        }
    }

    /// Returns the root key that wrapped the instance key: the previous root key if the record
    /// names it, otherwise the current root key.
    pub(crate) fn root_of(&self, instance: &InstanceRecord) -> &dyn RootKeys {
        let previous = self.previous_root.as_deref();
        previous.filter(|root| root.id() == instance.root_key).unwrap_or(self.root.as_ref())
    }

    /// Returns the kinds of database that rotations can use: those with a driver, and the built-in
    /// ones, which a proxy function can rotate without a driver.
    pub(crate) fn database_kinds(&self) -> Vec<DatabaseKind> {
        let mut kinds: Vec<_> = self.rotators.iter().flat_map(Rotators::direct_kinds).collect();
        for built_in in DatabaseKind::BUILT_IN {
            if kinds.iter().all(|kind| kind.name != built_in.name) {
                kinds.push(built_in);
            }
        }
        kinds
    }

    /// Returns the kind of database with this name. Fails if rotations cannot use it here.
    pub(crate) fn database_kind(&self, name: &Integration) -> Result<DatabaseKind> {
        let mut kinds = self.database_kinds().into_iter();
        kinds.find(|kind| kind.name == name.as_str()).ok_or_else(|| {
            Error::Unavailable("no driver for this kind of database on this host".into())
        })
    }

    /// Returns the timeouts and intervals of rotations; the defaults if there are no drivers.
    pub(crate) fn timings(&self) -> Timings {
        self.rotators.as_ref().map_or_else(Timings::default, |rotators| rotators.timings)
    }
}

/// Options of the service, such as plans, limits and lifetimes.
#[derive(Debug, Clone)]
pub struct Options {
    /// Plans that teams can have.
    pub plans: Plans,
    /// Payment provider that manages the subscriptions of teams.
    pub payments: Arc<dyn PaymentProvider>,
    /// E-mail addresses of the operators, who may change the plan of any team.
    pub operators: Vec<String>,
    /// Access level of team members in environments for which neither a permission nor a default of
    /// the environment or its project is set.
    pub member_access: MemberAccess,
    /// True if reads of values are recorded in the audit log. Exports are always recorded.
    pub audit_reads: bool,
    /// Maximum number of requests per minute for a team, summed over all its members and service
    /// tokens; 0 means no limit.
    pub rate_limit_per_team: u32,
    /// Time limit of a request: authentication, operation and commit, including the waits for a
    /// database connection and for other operations of the account. Eight times as long for
    /// [long](super::Operation::IS_LONG) operations. Needs [`Ports::timer`].
    pub time_limit: Duration,
    /// Maximum size in bytes of the encrypted secrets of an environment and its ancestors that are
    /// returned at once. The default and the highest value is 64 MiB
    /// ([`ResolvedEnvironment::MAX_BYTES`]). A request for more fails with the error code
    /// [`Code::AnswerTooLarge`](crate::model::Code::AnswerTooLarge).
    pub max_answer_bytes: usize,
    /// Lifetimes of browser sessions.
    pub sessions: SessionLimits,
    /// Detection rules of scans. `None` stands for the built-in rules.
    pub scan_rules: Option<Arc<Rules>>,
    /// Destinations that webhooks and rotations may connect to.
    pub egress: EgressPolicy,
    /// Base URL of the links, such as the link of an invitation, that operations return if they are
    /// called by name through the [`registry`](crate::registry).
    pub links: BaseUrl,
}

/// Lifetimes of browser sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Time from the sign-in to the expiry of the session.
    pub absolute: TimeDelta,
    /// Time without a request after which a session ends. The time of the last use is recorded only
    /// once a minute, so the session may end as much as a minute too early.
    pub idle: TimeDelta,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { absolute: TimeDelta::hours(12), idle: TimeDelta::minutes(60) }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            plans: Plans::default(),
            payments: Arc::new(NoProvider),
            operators: Vec::new(),
            member_access: MemberAccess::Write,
            audit_reads: true,
            rate_limit_per_team: 0,
            time_limit: Duration::from_secs(4),
            max_answer_bytes: ResolvedEnvironment::MAX_BYTES,
            sessions: SessionLimits::default(),
            scan_rules: None,
            egress: EgressPolicy::default(),
            links: BaseUrl::default(),
        }
    }
}
