//! `/api/v1/eso`

use std::future::ready;

use secrets_core::model::EnvironmentPath;
use secrets_core::eso::{GetEsoSecret, GetEsoSecrets};
use secrets_core::secrets::KeyRef;
use warp::Filter as _;
use warp::http::Method;

use crate::api::Api;
use crate::conditions::{Conditions, WithTag, conditions};
use crate::fault::Fault;
use crate::openapi::Form;
use crate::reply::Shape;
use crate::router::Route;
use crate::target::{Target, target};

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let one = target().map(|target: Target| ready(secret(&target)));
    let all = target()
        .and(conditions())
        .map(|target: Target, conditions: Conditions| ready(secrets(&target, &conditions)));
    vec![
        api.route(Method::GET, "/api/v1/eso/secret", Shape::Bare, one)
            .says("Read one value, for an operator of a container orchestrator")
            .looks_up()
            .needs("project", Form::Project, "A project's id or slug")
            .needs("env", Form::Environment, "An environment's name or id")
            .needs("key", Form::Key, "A secret's key"),
        api.route(Method::GET, "/api/v1/eso/secrets", WithTag(Shape::Bare), all)
            .says("Read all values of an environment")
            .looks_up()
            .needs("project", Form::Project, "A project's id or slug")
            .needs("env", Form::Environment, "An environment's name or id"),
    ]
}

fn secret(target: &Target) -> Result<GetEsoSecret, Fault> {
    let [project, environment, key] = target.required(["project", "env", "key"])?;
    Ok(GetEsoSecret { at: EnvironmentPath::new(project, environment), key: KeyRef::new(key) })
}

fn secrets(target: &Target, conditions: &Conditions) -> Result<GetEsoSecrets, Fault> {
    let [project, environment] = target.required(["project", "env"])?;
    let at = EnvironmentPath::new(project, environment);
    Ok(GetEsoSecrets { at, held: conditions.held() })
}
