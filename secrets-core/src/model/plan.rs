//! Plans: how much a team may have.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::model::{Error, PlanLimit, PlanName, Result};

/// What a team may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What it is called.
    pub name: PlanName,
    /// How many days the audit log keeps entries.
    pub audit_days: u32,
    limits: BTreeMap<Quota, u64>,
}

/// How many days the audit log keeps entries where a plan says nothing.
const AUDIT_DAYS: u32 = 365;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quota {
    /// Projects of a team.
    Projects,
    /// Environments of a project.
    Environments,
    /// Members of a team, and those who are invited to it.
    Members,
    /// Secrets of an environment: its own, hidden ones included.
    Secrets,
    /// Service tokens of a team.
    ServiceTokens,
    /// Rotations of a team.
    Rotations,
}

impl Quota {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Members,
        Self::Projects,
        Self::Environments,
        Self::Secrets,
        Self::ServiceTokens,
        Self::Rotations,
    ];

    /// The name under which it is told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Environments => "environments",
            Self::Members => "members",
            Self::Secrets => "secrets",
            Self::ServiceTokens => "service_tokens",
            Self::Rotations => "rotations",
        }
    }

    /// The least a plan can allow: a project comes with its three default environments, and a team
    /// with its first member.
    #[must_use]
    pub fn least(self) -> u64 {
        match self {
            Self::Environments => 3,
            Self::Members => 1,
            Self::Projects | Self::Secrets | Self::ServiceTokens | Self::Rotations => 0,
        }
    }
}

impl Plan {
    /// A plan that allows so much of what is counted, and of everything else as much as there is
    /// room for. Gives the quota of which it allows less than [`Quota::least`].
    pub fn new(
        name: PlanName,
        limits: impl IntoIterator<Item = (Quota, u64)>,
    ) -> std::result::Result<Self, Quota> {
        let limits: BTreeMap<_, _> = limits.into_iter().collect();
        match limits.iter().find(|(quota, limit)| **limit < quota.least()) {
            Some((quota, _)) => Err(*quota),
            None => Ok(Self { name, audit_days: AUDIT_DAYS, limits }),
        }
    }

    /// How many the plan allows; `None` where it does not count.
    #[must_use]
    pub fn limit(&self, quota: Quota) -> Option<u64> {
        self.limits.get(&quota).copied()
    }

    /// Refuses `more` of something when there are `current` and the plan allows fewer than both.
    /// Count while the containing row is held, or two requests pass where one has room.
    pub fn admit(&self, quota: Quota, current: u64, more: u64) -> Result<()> {
        match self.limit(quota) {
            Some(limit) if current.saturating_add(more) > limit => {
                let plan = self.name.clone();
                Err(Error::PlanLimit(PlanLimit { quota, plan, limit, current }))
            }
            _ => Ok(()),
        }
    }
}

/// The plans there are, and the one of new teams.
#[derive(Debug, Clone)]
pub struct Plans {
    known: BTreeMap<PlanName, Arc<Plan>>,
    default: Arc<Plan>,
}

/// There is no plan of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSuchPlan;

impl Plans {
    /// `unlimited`, `free`, `team` and `enterprise`, and these, each in place of one of its name.
    /// New teams are on `unlimited`.
    #[must_use]
    pub fn with(others: impl IntoIterator<Item = Plan>) -> Self {
        let mut known: BTreeMap<_, _> = built_in().map(named).into_iter().collect();
        known.extend(others.into_iter().map(named));
        let unlimited = PlanName::fixed("unlimited");
        let default = known.get(&unlimited).cloned();
        let default = default.unwrap_or_else(|| Arc::new(unlimited_plan(unlimited)));
        Self { known, default }
    }

    /// The same plans, and new teams on the one of this name.
    pub fn by_default(mut self, name: &str) -> std::result::Result<Self, NoSuchPlan> {
        self.default = Arc::clone(self.find(name).ok_or(NoSuchPlan)?);
        Ok(self)
    }

    /// The plan of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<Plan>> {
        self.known.values().find(|plan| plan.name.as_str() == name)
    }

    /// The plan of new teams.
    #[must_use]
    pub fn default_plan(&self) -> &Arc<Plan> {
        &self.default
    }

    /// The plan of a team that is on the one of this name: the default one, if there is none of
    /// that name any more.
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
    Plan { name, audit_days: AUDIT_DAYS, limits: BTreeMap::new() }
}

fn named(plan: Plan) -> (PlanName, Arc<Plan>) {
    (plan.name.clone(), Arc::new(plan))
}

fn built_in() -> [Plan; 4] {
    use Quota::{Environments, Members, Projects, Secrets, ServiceTokens};
    let plan = |name, audit_days, limits: &[(Quota, u64)]| Plan {
        name: PlanName::fixed(name),
        audit_days,
        limits: limits.iter().copied().collect(),
    };
    [
        plan("unlimited", AUDIT_DAYS, &[]),
        plan(
            "free",
            7,
            &[(Members, 5), (Projects, 3), (Environments, 5), (Secrets, 250), (ServiceTokens, 5)],
        ),
        plan(
            "team",
            90,
            &[(Projects, 50), (Environments, 15), (Secrets, 2_000), (ServiceTokens, 50)],
        ),
        plan("enterprise", AUDIT_DAYS, &[]),
    ]
}
