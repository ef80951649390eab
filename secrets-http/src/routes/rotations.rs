//! `/api/v1/projects/{projectId}/environments/{environmentId}/rotations`: rotations of an
//! environment.

use std::future::ready;

use secrets_core::model::EnvironmentPath;
use secrets_core::rotations::{
    Candidate, ConcludedAttempt, CreateRotation, DeleteRotation, GetRotation, ListRotations,
    NewRotation, ReadRotationHistory, RotateNow, Rotation, RotationChange, TestConnection,
    TestRotation, UpdateRotation,
};
use warp::http::Method;

use super::known;
use crate::openapi::Form;
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::fault::Fault;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;
use crate::serve::target::Target;

const ALL: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations";
const TEST: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/test";
const ONE: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}";
const ROTATE: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/rotate";
const TEST_ONE: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/test";
const HISTORY: &str =
    "/api/v1/projects/{projectId}/environments/{environmentId}/rotations/{rotationName}/history";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    environment_routes(api)
        .into_iter()
        .chain(rotation_routes(api))
        .chain(database_routes(api))
        .collect()
}

fn environment_routes(api: &Api) -> [Route; 2] {
    let list = |request: Request| known(ListRotations { at: request.target.environment() });
    let create = |request: Request| async move {
        Ok(CreateRotation {
            at: request.target.environment(),
            rotation: request.body(LIMIT).json().await?,
        })
    };
    [
        api.route(Method::GET, ALL, Shape::Named("rotations"), list)
            .list_of::<Rotation>()
            .id("listRotations")
            .summary("List the rotations of an environment, sorted by name"),
        api.route(Method::POST, ALL, Shape::Created, create)
            .may_exceed_plan()
            .id("createRotation")
            .summary("Create a rotation without connecting to its database")
            .json_body::<NewRotation>(),
    ]
}

fn rotation_routes(api: &Api) -> [Route; 4] {
    let get = |request: Request| {
        let (at, name) = path_and_name(&request.target);
        known(GetRotation { at, name })
    };
    let update = |request: Request| async move {
        let (at, name) = path_and_name(&request.target);
        let change: RotationChange = request.body(LIMIT).json().await?;
        Ok(UpdateRotation { at, name, change })
    };
    let delete = |request: Request| ready(delete(&request.target));
    let history = |request: Request| {
        let (at, name) = path_and_name(&request.target);
        known(ReadRotationHistory { at, name })
    };
    [
        api.route(Method::GET, ONE, Shape::Bare, get).id("getRotation").summary("Get a rotation"),
        api.route(Method::PUT, ONE, Shape::Bare, update)
            .id("updateRotation")
            .summary("Change a rotation's interval, or pause or resume it")
            .json_body::<RotationChange>(),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .id("deleteRotation")
            .summary("Delete a rotation and optionally revoke its database users and secrets")
            .query(
                "revoke",
                Form::Flag,
                "If true, also deletes the injected secrets and disables the database users",
            ),
        api.route(Method::GET, HISTORY, Shape::Bare, history)
            .list_of::<ConcludedAttempt>()
            .id("listRotationHistory")
            .summary("List the last 200 attempts of a rotation, newest first"),
    ]
}

/// Returns the routes that wait for a response of the target database. Their responses may take up
/// to a minute.
fn database_routes(api: &Api) -> [Route; 3] {
    let test = |request: Request| async move {
        Ok(TestConnection {
            at: request.target.environment(),
            candidate: request.body(LIMIT).json().await?,
        })
    };
    let test_one = |request: Request| {
        let (at, name) = path_and_name(&request.target);
        known(TestRotation { at, name })
    };
    let rotate = |request: Request| {
        let (at, name) = path_and_name(&request.target);
        known(RotateNow { at, name })
    };
    [
        api.route(Method::POST, TEST, Shape::Bare, test)
            .id("testConnection")
            .summary("Test a database connection without saving it")
            .json_body::<Candidate>(),
        api.route(Method::POST, TEST_ONE, Shape::Bare, test_one)
            .id("testRotation")
            .summary("Test the database connection of a rotation"),
        api.route(Method::POST, ROTATE, Shape::Bare, rotate)
            .id("rotateNow")
            .summary("Rotate credentials now and wait up to 45 seconds for the result"),
    ]
}

/// Returns the environment and the name of the rotation that the path names.
pub(super) fn path_and_name(target: &Target) -> (EnvironmentPath, String) {
    (target.environment(), target.parameter("rotationName").to_owned())
}

fn delete(target: &Target) -> Result<DeleteRotation, Fault> {
    let (at, name) = path_and_name(target);
    Ok(DeleteRotation { at, name, revoke: target.flag("revoke")?.unwrap_or_default() })
}
