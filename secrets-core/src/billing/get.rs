//! What a team pays.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Error, Permission, Plan, PlanName, Quota, Result, Subject, TeamId, Time};
use crate::ports::payments::PaymentStatus;

/// What a team pays, and for what.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Billing {
    /// Which team.
    pub team_id: TeamId,
    /// Its plan.
    pub plan: PlanName,
    /// Whether it pays.
    pub status: PaymentStatus,
    /// Whom it pays.
    pub provider: &'static str,
    /// Where invoices are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub billing_email: Option<String>,
    /// How many members it has.
    pub seats: u64,
    /// When what was paid for began.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_period_start: Option<Time>,
    /// When it ends.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_period_end: Option<Time>,
    /// Whether the plan ends with it.
    pub cancel_at_period_end: bool,
    /// What the plan allows, by name; `null` for as much as there is room for.
    pub limits: BTreeMap<&'static str, Option<u64>>,
    /// What was asked for; nobody asks yet.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub invoices: [(); 0],
}

/// Tells what a team pays.
#[derive(Debug)]
pub struct GetBilling {
    /// Which team; `None` if what was given is no id and names nothing.
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
        cx.billing(team, &plan).await
    }
}

impl<A: crate::engine::Access> Context<'_, A> {
    pub(super) async fn billing(&mut self, team: TeamId, plan: &Plan) -> Result<Billing> {
        let seats = self.reads().team_usage(team).await?.members;
        let payments = &self.options().payments;
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
}
