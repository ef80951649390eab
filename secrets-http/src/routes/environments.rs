//! `/api/v1/projects/{projectId}/environments`: environments of a project.

use secrets_core::environments::{
    CreateEnvironment, DeleteEnvironment, Environment, EnvironmentChange, GetEnvironment,
    ListEnvironments, NewEnvironment, UpdateEnvironment,
};
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;

const ALL: &str = "/api/v1/projects/{projectId}/environments";
const ONE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = |request: Request| known(ListEnvironments { project: request.target.project() });
    let create = |request: Request| async move {
        Ok(CreateEnvironment {
            project: request.target.project(),
            environment: request.body(LIMIT).json().await?,
        })
    };
    let get = |request: Request| known(GetEnvironment { at: request.target.environment() });
    let update = |request: Request| async move {
        Ok(UpdateEnvironment {
            at: request.target.environment(),
            change: request.body(LIMIT).json().await?,
        })
    };
    let delete = |request: Request| known(DeleteEnvironment { at: request.target.environment() });
    vec![
        api.route(Method::GET, ALL, Shape::Named("environments"), list)
            .list_of::<Environment>()
            .id("listEnvironments")
            .summary("List the environments of a project"),
        api.route(Method::POST, ALL, Shape::Created, create)
            .may_exceed_plan()
            .id("createEnvironment")
            .summary("Create an environment")
            .json_body::<NewEnvironment>(),
        api.route(Method::GET, ONE, Shape::Bare, get)
            .id("getEnvironment")
            .summary("Get an environment"),
        api.route(Method::PATCH, ONE, Shape::Bare, update)
            .id("updateEnvironment")
            .summary("Update an environment's name, parent or description")
            .json_body::<EnvironmentChange>(),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .id("deleteEnvironment")
            .summary("Delete an environment and its secrets"),
    ]
}
