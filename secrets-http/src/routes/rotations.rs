//! `/api/v1/projects/{projectId}/environments/{environmentId}/rotations`

use std::future::ready;

use secrets_core::model::EnvironmentPath;
use secrets_core::rotations::{Candidate, CreateRotation, GetRotation, ListRotations, NewRotation, ReadRotationHistory, RemoveRotation, RotateNow, RotationChange, TestConnection, TestRotation, UpdateRotation};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::api::Api;
use crate::body::{Body, LIMIT, body};
use crate::fault::Fault;
use crate::openapi::Form;
use crate::reply::Shape;
use crate::router::Route;
use crate::target::{Target, target};

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
    of_environment(api).into_iter().chain(of_one(api)).chain(of_database(api)).collect()
}

fn of_environment(api: &Api) -> [Route; 2] {
    let list = target().map(|target: Target| known(ListRotations { at: target.environment() }));
    let create = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(CreateRotation { at: target.environment(), rotation: body.json().await? })
    });
    [
        api.route(Method::GET, ALL, Shape::Named("rotations"), list)
            .says("List the rotations of an environment, by name"),
        api.route(Method::POST, ALL, Shape::Created, create)
            .says("Create a rotation; its database is not dialled")
            .takes::<NewRotation>(),
    ]
}

fn of_one(api: &Api) -> [Route; 4] {
    let get = target().map(|target: Target| {
        let (at, name) = named(&target);
        known(GetRotation { at, name })
    });
    let update = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        let (at, name) = named(&target);
        let change: RotationChange = body.json().await?;
        Ok(UpdateRotation { at, name, change })
    });
    let delete = target().map(|target: Target| ready(delete(&target)));
    let history = target().map(|target: Target| {
        let (at, name) = named(&target);
        known(ReadRotationHistory { at, name })
    });
    [
        api.route(Method::GET, ONE, Shape::Bare, get).says("See a rotation"),
        api.route(Method::PUT, ONE, Shape::Bare, update)
            .says("Give a rotation another interval, pause it or let it go on")
            .takes::<RotationChange>(),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .says("Delete a rotation; its users and secrets stay, unless they are revoked")
            .query("revoke", Form::Flag, "true to delete its secrets and shut its users out"),
        api.route(Method::GET, HISTORY, Shape::Bare, history)
            .says("List how the last 200 attempts ended, newest first"),
    ]
}

/// What waits for a database: the answer may take most of a minute.
fn of_database(api: &Api) -> [Route; 3] {
    let test = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(TestConnection { at: target.environment(), candidate: body.json().await? })
    });
    let test_one = target().map(|target: Target| {
        let (at, name) = named(&target);
        known(TestRotation { at, name })
    });
    let rotate = target().map(|target: Target| {
        let (at, name) = named(&target);
        known(RotateNow { at, name })
    });
    [
        api.route(Method::POST, TEST, Shape::Bare, test)
            .says("Try a connection without keeping it")
            .takes::<Candidate>(),
        api.route(Method::POST, TEST_ONE, Shape::Bare, test_one)
            .says("Try the connection of a rotation"),
        api.route(Method::POST, ROTATE, Shape::Bare, rotate)
            .says("Rotate now, and learn how it ended within 45 seconds"),
    ]
}

fn named(target: &Target) -> (EnvironmentPath, String) {
    (target.environment(), target.parameter("rotationName").to_owned())
}

fn delete(target: &Target) -> Result<RemoveRotation, Fault> {
    let (at, name) = named(target);
    Ok(RemoveRotation { at, name, revoke: target.flag("revoke")?.unwrap_or_default() })
}
