//! `/api/v1/projects/{projectId}/environments`: environments of a project.

use secrets_core::environments::{
    CreateEnvironment, DeleteEnvironment, Environment, EnvironmentChange, GetEnvironment,
    ListEnvironments, NewEnvironment, UpdateEnvironment,
};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, body};
use crate::serve::reply::Shape;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const ALL: &str = "/api/v1/projects/{projectId}/environments";
const ONE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = target().map(|target: Target| known(ListEnvironments { project: target.project() }));
    let create = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(CreateEnvironment { project: target.project(), environment: body.json().await? })
    });
    let get = target().map(|target: Target| known(GetEnvironment { at: target.environment() }));
    let update = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(UpdateEnvironment { at: target.environment(), change: body.json().await? })
    });
    let delete =
        target().map(|target: Target| known(DeleteEnvironment { at: target.environment() }));
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
