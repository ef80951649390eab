//! Reading a team's resource usage.

use chrono::{Datelike, Months, NaiveTime};
use serde::Serialize;

use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Error, Permission, Plan, PlanName, Quota, Result, Subject, TeamId, Time};
use crate::store::TeamUsage;

/// A team's resource usage, compared to the limits of its plan.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamUse {
    /// Team ID.
    pub team_id: TeamId,
    /// Name of the team's plan.
    pub plan: PlanName,
    /// Start of the current month, in UTC.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub period_start: Time,
    /// Start of the next month, in UTC.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub period_end: Time,
    /// Usage of each resource that a plan can limit, and of API requests.
    pub usage: Uses,
}

/// Usage of each resource that a plan can limit, and of API requests.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Uses {
    /// Number of members.
    pub members: Use,
    /// Number of projects.
    pub projects: Use,
    /// Number of environments. The limit applies to each project, so `used` is the number in the
    /// project that has the most.
    pub environments: Use,
    /// Number of secrets. The limit applies to each environment, so `used` is the number in the
    /// environment that has the most.
    pub secrets: Use,
    /// Size of secrets, in bytes. The limit applies to the encrypted secrets of each environment,
    /// so `used` is the size of the largest environment. `total` includes previous versions.
    pub bytes: Use,
    /// Size of all secrets of the team and of their previous versions, in bytes, including those of
    /// deleted projects until they can no longer be restored.
    pub stored_bytes: Use,
    /// Number of service tokens.
    pub service_tokens: Use,
    /// Number of credential rotations.
    pub rotations: Use,
    /// Number of API requests. They are not counted, so `used` is absent: counting would need a
    /// database write for each request.
    pub api_requests: Use,
}

/// Usage of one resource, and its limit.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Use {
    /// Amount that is compared with the limit; absent if the usage of the resource is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// Total amount in the whole team; absent if the limit already applies to the whole team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Limit of the plan; `null` means unlimited.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub limit: Option<u64>,
}

/// Reads a team's resource usage.
#[derive(Debug)]
pub struct GetUsage {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
}

impl Operation for GetUsage {
    const NAME: &'static str = "usage.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = TeamUse;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<TeamUse> {
        let unknown = || Error::NotFound(Subject::Team);
        let team = self.team.ok_or_else(unknown)?;
        let plan = cx.team(team, Permission::See, unknown()).await?.plan;
        let usage = cx.reads().team_usage(team).await?;
        let (period_start, period_end) = month(cx.now());
        let usage = Uses::new(&plan, usage);
        Ok(TeamUse { team_id: team, plan: plan.name.clone(), period_start, period_end, usage })
    }
}

impl Uses {
    /// Returns each limited resource with its quota.
    pub(crate) fn limited(&self) -> [(Quota, &Use); 8] {
        [
            (Quota::Members, &self.members),
            (Quota::Projects, &self.projects),
            (Quota::Environments, &self.environments),
            (Quota::Secrets, &self.secrets),
            (Quota::Bytes, &self.bytes),
            (Quota::StoredBytes, &self.stored_bytes),
            (Quota::ServiceTokens, &self.service_tokens),
            (Quota::Rotations, &self.rotations),
        ]
    }

    pub(crate) fn new(plan: &Plan, usage: TeamUsage) -> Self {
        let of = |quota, used, total| Use { used: Some(used), total, limit: plan.limit(quota) };
        Self {
            members: of(Quota::Members, usage.members, None),
            projects: of(Quota::Projects, usage.projects, None),
            environments: of(
                Quota::Environments,
                usage.most_environments,
                Some(usage.environments),
            ),
            secrets: of(Quota::Secrets, usage.most_secrets, Some(usage.secrets)),
            bytes: of(Quota::Bytes, usage.most_bytes, Some(usage.bytes)),
            stored_bytes: of(Quota::StoredBytes, usage.stored_bytes, None),
            service_tokens: of(Quota::ServiceTokens, usage.service_tokens, None),
            rotations: of(Quota::Rotations, usage.rotations, None),
            api_requests: Use { used: None, total: None, limit: None },
        }
    }
}

/// Returns the start of the month of `now` and the start of the next month, in UTC.
fn month(now: Time) -> (Time, Time) {
    let first = now.date_naive().with_day(1).unwrap_or_default().and_time(NaiveTime::MIN).and_utc();
    (first, first.checked_add_months(Months::new(1)).unwrap_or(first))
}
