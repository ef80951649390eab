//! Plans: limits on the resources of a team.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::model::{Error, PlanLimit, PlanName, Result};

/// Plan of a team, with the limits on its resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Plan name.
    pub name: PlanName,
    /// Time for which audit log entries are kept, in days.
    pub audit_days: u32,
    /// Maximum total size of the previous versions of an environment's secrets, in bytes. If the
    /// size is exceeded, the oldest versions are deleted.
    pub history_bytes: u64,
    /// Maximum number of previous versions of a secret. If the number is exceeded, the oldest
    /// versions are deleted.
    pub versions: u32,
    limits: BTreeMap<Quota, u64>,
}

/// Default time for which audit log entries are kept, in days.
const DEFAULT_AUDIT_DAYS: u32 = 365;

/// Default maximum total size of an environment's secrets, in bytes: 16 MiB.
const DEFAULT_BYTES: u64 = 16 << 20;

/// Default maximum total size of the previous versions of an environment's secrets, in bytes: 64
/// MiB.
const DEFAULT_HISTORY_BYTES: u64 = 64 << 20;

/// Default maximum number of previous versions of a secret.
const DEFAULT_VERSIONS: u32 = 100;

/// Kind of resource that a plan limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quota {
    /// Number of projects of a team.
    Projects,
    /// Number of environments of a project.
    Environments,
    /// Number of members of a team, including pending invitations.
    Members,
    /// Number of secrets that an environment itself defines, including hidden secrets but not
    /// inherited ones.
    Secrets,
    /// Total size in bytes of the secrets that an environment itself defines: encrypted values and
    /// descriptions. Every plan has this limit; the default is 16 MiB.
    Bytes,
    /// Total size in bytes of all secrets of a team and of their previous versions, including those
    /// of deleted projects that can still be restored.
    StoredBytes,
    /// Number of service tokens of a team.
    ServiceTokens,
    /// Number of rotations of a team.
    Rotations,
}

impl Quota {
    /// All quotas.
    pub const ALL: [Self; 8] = [
        Self::Members,
        Self::Projects,
        Self::Environments,
        Self::Secrets,
        Self::Bytes,
        Self::StoredBytes,
        Self::ServiceTokens,
        Self::Rotations,
    ];

    /// Returns the name of the quota in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Environments => "environments",
            Self::Members => "members",
            Self::Secrets => "secrets",
            Self::Bytes => "bytes",
            Self::StoredBytes => "stored_bytes",
            Self::ServiceTokens => "service_tokens",
            Self::Rotations => "rotations",
        }
    }

    /// Returns the lowest limit that a plan may set: 3 environments, because a new project has
    /// three, and 1 member, because a new team has an owner.
    #[must_use]
    pub fn least(self) -> u64 {
        match self {
            Self::Environments => 3,
            Self::Members => 1,
            Self::Projects
            | Self::Secrets
            | Self::Bytes
            | Self::StoredBytes
            | Self::ServiceTokens
            | Self::Rotations => 0,
        }
    }
}

impl Plan {
    /// Creates a plan with the given limits. A quota without a given limit is unlimited, except
    /// [`Quota::Bytes`], which is then 16 MiB. If a limit is below [`Quota::least`], returns its
    /// quota as the error.
    pub fn new(
        name: PlanName,
        limits: impl IntoIterator<Item = (Quota, u64)>,
    ) -> std::result::Result<Self, Quota> {
        let limits: BTreeMap<_, _> = limits.into_iter().collect();
        match limits.iter().find(|(quota, limit)| **limit < quota.least()) {
            Some((quota, _)) => Err(*quota),
            None => Ok(Self::with_defaults(name, DEFAULT_AUDIT_DAYS, limits)),
        }
    }

    fn with_defaults(name: PlanName, audit_days: u32, mut limits: BTreeMap<Quota, u64>) -> Self {
        limits.entry(Quota::Bytes).or_insert(DEFAULT_BYTES);
        let (history_bytes, versions) = (DEFAULT_HISTORY_BYTES, DEFAULT_VERSIONS);
        Self { name, audit_days, history_bytes, versions, limits }
    }

    /// Returns the limit of a quota; `None` if it is unlimited.
    #[must_use]
    pub fn limit(&self, quota: Quota) -> Option<u64> {
        self.limits.get(&quota).copied()
    }

    /// Fails if adding `more` resources to the `current` ones would exceed the limit. Adding none
    /// is always allowed. The caller must hold the lock on the row of the containing team, project
    /// or environment before counting `current`; otherwise two concurrent requests could together
    /// exceed the limit.
    pub fn admit(&self, quota: Quota, current: u64, more: u64) -> Result<()> {
        match self.limit(quota) {
            // More than the limit may exist after a change to a smaller plan.
            Some(limit) if more > 0 && current.saturating_add(more) > limit => {
                let plan = self.name.clone();
                Err(Error::PlanLimit(PlanLimit { quota, plan, limit, current }))
            }
            _ => Ok(()),
        }
    }
}

/// All known plans, and the plan of new teams.
#[derive(Debug, Clone)]
pub struct Plans {
    known: BTreeMap<PlanName, Arc<Plan>>,
    default: Arc<Plan>,
}

/// Error: there is no plan with this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSuchPlan;

impl Plans {
    /// Returns the built-in plans `unlimited`, `free`, `team` and `enterprise`, plus the given
    /// plans, which replace built-in plans of the same name. New teams get `unlimited`.
    #[must_use]
    pub fn with(others: impl IntoIterator<Item = Plan>) -> Self {
        let mut known: BTreeMap<_, _> = built_in().map(named).into_iter().collect();
        known.extend(others.into_iter().map(named));
        let unlimited = PlanName::fixed("unlimited");
        let default = known.get(&unlimited).cloned();
        let default = default.unwrap_or_else(|| Arc::new(unlimited_plan(unlimited)));
        Self { known, default }
    }

    /// Sets the plan of new teams. Fails if there is no plan with this name.
    pub fn by_default(mut self, name: &str) -> std::result::Result<Self, NoSuchPlan> {
        self.default = Arc::clone(self.find(name).ok_or(NoSuchPlan)?);
        Ok(self)
    }

    /// Returns the plan with this name; `None` if there is none.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<Plan>> {
        self.known.values().find(|plan| plan.name.as_str() == name)
    }

    /// Returns the plan of new teams.
    #[must_use]
    pub fn default_plan(&self) -> &Arc<Plan> {
        &self.default
    }

    /// Returns the plan with this name, which was stored with a team. Returns the default plan if
    /// no plan has this name any more.
    #[must_use]
    pub fn of_team(&self, name: &PlanName) -> Arc<Plan> {
        Arc::clone(self.known.get(name).unwrap_or(&self.default))
    }
}

impl Default for Plans {
    fn default() -> Self {
        Self::with([])
    }
}

impl fmt::Display for NoSuchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must name a plan: unlimited, free, team, enterprise or one of [plans]")
    }
}

impl std::error::Error for NoSuchPlan {}

fn unlimited_plan(name: PlanName) -> Plan {
    Plan::with_defaults(name, DEFAULT_AUDIT_DAYS, BTreeMap::new())
}

fn named(plan: Plan) -> (PlanName, Arc<Plan>) {
    (plan.name.clone(), Arc::new(plan))
}

fn built_in() -> [Plan; 4] {
    use Quota::{Environments, Members, Projects, Secrets, ServiceTokens, StoredBytes};
    let plan = |name, audit_days, limits: &[(Quota, u64)]| {
        Plan::with_defaults(PlanName::fixed(name), audit_days, limits.iter().copied().collect())
    };
    [
        plan("unlimited", DEFAULT_AUDIT_DAYS, &[]),
        plan(
            "free",
            7,
            &[
                (Members, 5),
                (Projects, 3),
                (Environments, 5),
                (Secrets, 250),
                (StoredBytes, 256 << 20),
                (ServiceTokens, 5),
            ],
        ),
        plan(
            "team",
            90,
            &[
                (Projects, 50),
                (Environments, 15),
                (Secrets, 2_000),
                (StoredBytes, 4 << 30),
                (ServiceTokens, 50),
            ],
        ),
        plan("enterprise", DEFAULT_AUDIT_DAYS, &[]),
    ]
}
