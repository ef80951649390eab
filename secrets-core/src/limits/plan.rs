//! Plans: how much a team may have.

use std::str::FromStr;

use serde::Serialize;

use crate::error::{Error, PlanLimit, Result};

/// What a team may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// As much as there is room for.
    #[default]
    Unlimited,
    /// To try it.
    Free,
    /// For a company.
    Team,
    /// For a large one.
    Enterprise,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
}

impl Quota {
    /// The name under which it is told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Environments => "environments",
            Self::Members => "members",
            Self::Secrets => "secrets",
            Self::ServiceTokens => "service_tokens",
        }
    }
}

impl Plan {
    const ALL: [Self; 4] = [Self::Unlimited, Self::Free, Self::Team, Self::Enterprise];

    /// The name under which it is kept and told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unlimited => "unlimited",
            Self::Free => "free",
            Self::Team => "team",
            Self::Enterprise => "enterprise",
        }
    }

    /// How many the plan allows; `None` where it does not count.
    #[must_use]
    pub fn limit(self, quota: Quota) -> Option<u64> {
        match (self, quota) {
            (Self::Unlimited | Self::Enterprise, _) | (Self::Team, Quota::Members) => None,
            (Self::Free, Quota::Projects) => Some(3),
            (Self::Free, Quota::Environments | Quota::Members | Quota::ServiceTokens) => Some(5),
            (Self::Free, Quota::Secrets) => Some(250),
            (Self::Team, Quota::Projects | Quota::ServiceTokens) => Some(50),
            (Self::Team, Quota::Environments) => Some(15),
            (Self::Team, Quota::Secrets) => Some(2_000),
        }
    }

    /// How many days the audit log keeps entries.
    #[must_use]
    pub fn audit_days(self) -> u32 {
        match self {
            Self::Unlimited | Self::Enterprise => 365,
            Self::Free => 7,
            Self::Team => 90,
        }
    }

    /// Refuses `more` of something when there are `current` and the plan allows fewer than both.
    /// Count while the containing row is held, or two requests pass where one has room.
    pub fn admit(self, quota: Quota, current: u64, more: u64) -> Result<()> {
        match self.limit(quota) {
            Some(limit) if current.saturating_add(more) > limit => {
                Err(Error::PlanLimit(PlanLimit { quota, plan: self.as_str(), limit, current }))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for Plan {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|plan| plan.as_str() == text)
            .ok_or("must be unlimited, free, team or enterprise")
    }
}
