//! `/api/v1/projects/{projectId}/environments/{environmentId}/rotations`

use std::future::ready;

use secrets_core::access::EnvironmentPath;
use secrets_core::caller::{Caller, Callers};
use secrets_core::error;
use secrets_core::rotations::{
    BeginRotation, Candidate, CreateRotation, DeleteRotation, GetRotation, HistoryEntry,
    ListRotations, NewRotation, PrepareConnectionTest, PrepareRotationTest, ReadRotationHistory,
    RotationChange, TestResult, UpdateRotation,
};
use secrets_core::{Operation, Service};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::api::{Api, Task};
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
        known(Rotate { at, name })
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

fn delete(target: &Target) -> Result<Delete, Fault> {
    let (at, name) = named(target);
    Ok(Delete { at, name, revokes: target.flag("revoke")?.unwrap_or_default() })
}

/// Rotates, and waits for the end.
struct Rotate {
    at: EnvironmentPath,
    name: String,
}

/// Tries a connection.
struct TestConnection {
    at: EnvironmentPath,
    candidate: Candidate,
}

/// Tries the connection of a rotation.
struct TestRotation {
    at: EnvironmentPath,
    name: String,
}

/// Deletes a rotation, and perhaps what it made.
struct Delete {
    at: EnvironmentPath,
    name: String,
    revokes: bool,
}

impl Task for Rotate {
    const NAME: &'static str = <BeginRotation as Operation>::NAME;
    const CALLERS: Callers = <BeginRotation as Operation>::CALLERS;
    type Output = HistoryEntry;

    async fn run(self, service: &Service, caller: &Caller) -> error::Result<HistoryEntry> {
        service.rotate(caller, self.at, self.name).await
    }
}

impl Task for TestConnection {
    const NAME: &'static str = <PrepareConnectionTest as Operation>::NAME;
    const CALLERS: Callers = <PrepareConnectionTest as Operation>::CALLERS;
    type Output = TestResult;

    async fn run(self, service: &Service, caller: &Caller) -> error::Result<TestResult> {
        service.test_connection(caller, self.at, self.candidate).await
    }
}

impl Task for TestRotation {
    const NAME: &'static str = <PrepareRotationTest as Operation>::NAME;
    const CALLERS: Callers = <PrepareRotationTest as Operation>::CALLERS;
    type Output = TestResult;

    async fn run(self, service: &Service, caller: &Caller) -> error::Result<TestResult> {
        service.test_rotation(caller, self.at, self.name).await
    }
}

impl Task for Delete {
    const NAME: &'static str = <DeleteRotation as Operation>::NAME;
    const CALLERS: Callers = <DeleteRotation as Operation>::CALLERS;
    type Output = ();

    async fn run(self, service: &Service, caller: &Caller) -> error::Result<()> {
        let Self { at, name, revokes } = self;
        if revokes {
            return service.revoke_rotation(caller, at, name).await;
        }
        service.perform(caller, DeleteRotation { at, name }).await
    }
}
