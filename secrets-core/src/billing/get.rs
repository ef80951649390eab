//! Reading a team's billing details.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::{Access, Audit, Callers, Context, Operation, Read};
use crate::model::{Error, Permission, Plan, PlanName, Quota, Result, Subject, TeamId, Time};
use crate::ports::payments::PaymentStatus;

/// A team's plan and payments.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Billing {
    /// Team ID.
    pub team_id: TeamId,
    /// Name of the team's plan.
    pub plan: PlanName,
    /// Payment status of the team.
    pub status: PaymentStatus,
    /// Name of the payment provider.
    pub provider: &'static str,
    /// E-mail address for invoices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub billing_email: Option<String>,
    /// Number of members in the team.
    pub seats: u64,
    /// Start of the current billing period.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_period_start: Option<Time>,
    /// End of the current billing period.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_period_end: Option<Time>,
    /// True if the subscription ends with the current billing period.
    pub cancel_at_period_end: bool,
    /// Limits of the team's plan, by quota name; `null` means unlimited.
    pub limits: BTreeMap<&'static str, Option<u64>>,
    /// Placeholder for invoices, which are not implemented. Always an empty list.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub invoices: [(); 0],
}

/// Reads the plan and payments of a team.
#[derive(Debug)]
pub struct GetBilling {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
}

impl Operation for GetBilling {
    const NAME: &'static str = "billing.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Billing;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Billing> {
        let unknown = || Error::NotFound(Subject::Team);
        let team = self.team.ok_or_else(unknown)?;
        let plan = cx.team(team, Permission::Manage, unknown()).await?.plan;
        billing(cx, team, &plan).await
    }
}

pub(super) async fn billing<A: Access>(
    cx: &mut Context<'_, A>,
    team: TeamId,
    plan: &Plan,
) -> Result<Billing> {
    let seats = cx.reads().team_usage(team).await?.members;
    let payments = &cx.options().payments;
    let subscription = payments.subscription(team).await?;
    let (start, end) = subscription.period.unzip();
    Ok(Billing {
        team_id: team,
        plan: plan.name.clone(),
        status: subscription.status,
        provider: payments.name(),
        billing_email: subscription.billing_email,
        seats,
        current_period_start: start,
        current_period_end: end,
        cancel_at_period_end: subscription.cancel_at_period_end,
        limits: Quota::ALL.map(|quota| (quota.as_str(), plan.limit(quota))).into(),
        invoices: [],
    })
}
