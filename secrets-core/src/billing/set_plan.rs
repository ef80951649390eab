//! Changing a team's plan.

use std::sync::Arc;

use serde::Deserialize;

use super::Billing;
use super::get::billing;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Error, PlanName, Result, Subject, TeamId};

/// Plan that the request assigns to the team.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewPlan {
    /// Name of the plan.
    pub plan: PlanName,
}

/// Changes a team's plan. Only operators of the service may do this. Existing resources that exceed
/// the new limits are kept, but no more can be created.
#[derive(Debug)]
pub struct SetPlan {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
    /// Plan to assign to the team.
    pub plan: NewPlan,
}

impl Operation for SetPlan {
    const NAME: &'static str = "billing.set_plan";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("team.updated");
    type Access = Write;
    type Output = Billing;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Billing> {
        let team = cx.locked_team_as_operator(self.team).await?;
        let plan = cx.options().plans.find(self.plan.plan.as_str()).map(Arc::clone);
        let plan =
            plan.ok_or_else(|| Error::invalid("plan", "must name a plan of this service"))?;
        let now = cx.now();
        let set = cx.tx().set_plan(team.id, &plan.name, now).await;
        set.map_err(|error| error.or_not_found(Subject::Team))?;
        cx.set_resource("team", team.id.uuid(), team.name.as_str());
        cx.add_detail("plan", plan.name.as_str());
        cx.add_detail("plan_before", team.plan.as_str());
        billing(cx, team.id, &plan).await
    }
}
