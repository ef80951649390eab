//! What a team uses.

use chrono::{Datelike, Months, NaiveTime};
use serde::Serialize;

use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Error, Permission, Plan, PlanName, Quota, Result, Subject, TeamId, Time};
use crate::store::TeamUsage;

/// What a team uses of its plan.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamUse {
    /// Which team.
    pub team_id: TeamId,
    /// Its plan.
    pub plan: PlanName,
    /// When the month began, in UTC.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub period_start: Time,
    /// When the next begins.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub period_end: Time,
    /// What it uses.
    pub usage: Uses,
}

/// What a team uses, of each thing that is counted.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Uses {
    /// Members.
    pub members: Use,
    /// Projects.
    pub projects: Use,
    /// Environments; plans limit them in each project, so `used` is that of the fullest one.
    pub environments: Use,
    /// Secrets; plans limit them in each environment, so `used` is that of the fullest one.
    pub secrets: Use,
    /// Service tokens.
    pub service_tokens: Use,
    /// Rotations of credentials.
    pub rotations: Use,
    /// Requests. They are not counted by team: that would be a write for each.
    pub api_requests: Use,
}

/// How much is used of one thing.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Use {
    /// How much, in the place to which the limit applies; absent where it is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// How much in all places, where the limit is one of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// How much the plan allows; `null` for as much as there is room for.
    pub limit: Option<u64>,
}

/// Tells what a team uses of its plan.
#[derive(Debug)]
pub struct GetUsage {
    /// Which team; `None` if what was given is no id and names nothing.
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
    fn new(plan: &Plan, usage: TeamUsage) -> Self {
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
            service_tokens: of(Quota::ServiceTokens, usage.service_tokens, None),
            rotations: of(Quota::Rotations, usage.rotations, None),
            api_requests: Use { used: None, total: None, limit: None },
        }
    }
}

/// The month of a moment, in UTC: when it begins and when the next does.
fn month(now: Time) -> (Time, Time) {
    let first = now.date_naive().with_day(1).unwrap_or_default().and_time(NaiveTime::MIN).and_utc();
    (first, first.checked_add_months(Months::new(1)).unwrap_or(first))
}
