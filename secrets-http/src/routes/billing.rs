//! `/api/v1/teams/{teamId}/usage` and `/api/v1/teams/{teamId}/billing`: plan usage and billing.

use secrets_core::billing::{GetBilling, GetUsage, NewPlan, SetPlan};
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;

const USAGE: &str = "/api/v1/teams/{teamId}/usage";
const BILLING: &str = "/api/v1/teams/{teamId}/billing";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let usage = |request: Request| known(GetUsage { team: request.target.id("teamId") });
    let billing = |request: Request| known(GetBilling { team: request.target.id("teamId") });
    let set_plan = |request: Request| async move {
        Ok(SetPlan { team: request.target.id("teamId"), plan: request.body(LIMIT).json().await? })
    };
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
