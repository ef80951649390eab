//! `/api/v1/teams/{teamId}/usage` and `/api/v1/teams/{teamId}/billing`: plan usage and billing.

use secrets_core::billing::{GetBilling, GetUsage, NewPlan, SetPlan};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, body};
use crate::serve::reply::Shape;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const USAGE: &str = "/api/v1/teams/{teamId}/usage";
const BILLING: &str = "/api/v1/teams/{teamId}/billing";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let usage = target().map(|target: Target| known(GetUsage { team: target.id("teamId") }));
    let billing = target().map(|target: Target| known(GetBilling { team: target.id("teamId") }));
    let set_plan = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(SetPlan { team: target.id("teamId"), plan: body.json().await? })
    });
    vec![
        api.route(Method::GET, USAGE, Shape::Bare, usage)
            .id("getTeamUsage")
            .summary("Get a team's usage, compared with the limits of its plan"),
        api.route(Method::GET, BILLING, Shape::Bare, billing)
            .id("getTeamBilling")
            .summary("Get a team's plan and billing status"),
        api.route(Method::PUT, BILLING, Shape::Bare, set_plan)
            .id("setTeamPlan")
            .summary("Change a team's plan (operators only)")
            .json_body::<NewPlan>(),
    ]
}
