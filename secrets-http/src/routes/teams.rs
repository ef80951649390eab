//! `/api/v1/teams`: listing and creating teams, and getting a team.

use secrets_core::teams::{CreateTeam, GetTeam, ListTeams, NewTeam, TeamWithMembers};
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = |_: Request| known(ListTeams);
    let create =
        |request: Request| async { Ok(CreateTeam { team: request.body(LIMIT).json().await? }) };
    let get = |request: Request| known(GetTeam { team: request.target.id("teamId") });
    vec![
        api.route(Method::GET, "/api/v1/teams", Shape::Named("teams"), list)
            .list_of::<TeamWithMembers>()
            .id("listTeams")
            .summary("List the caller's teams"),
        api.route(Method::POST, "/api/v1/teams", Shape::Created, create)
            .id("createTeam")
            .summary("Create a team")
            .json_body::<NewTeam>(),
        api.route(Method::GET, "/api/v1/teams/{teamId}", Shape::Bare, get)
            .id("getTeam")
            .summary("Get a team and its members"),
    ]
}
