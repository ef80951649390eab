//! `/api/v1/eso`: secret values for External Secrets Operator.

use std::future::ready;

use secrets_core::eso::{GetEsoSecret, GetEsoSecrets};
use secrets_core::model::EnvironmentPath;
use secrets_core::secrets::KeyRef;
use warp::http::Method;

use crate::openapi::Form;
use crate::serve::api::Api;
use crate::serve::conditions::WithTag;
use crate::serve::fault::Fault;
use crate::serve::reply::Shape;
use crate::serve::request::{Head, Request};
use crate::serve::router::Route;
use crate::serve::target::Target;

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let one = |request: Request| ready(secret(&request.target));
    let all = |request: Request| ready(secrets(&request));
    vec![
        api.route(Method::GET, "/api/v1/eso/secret", Shape::Unwrapped, one)
            .id("getEsoSecret")
            .summary("Get one secret value for External Secrets Operator")
            .may_be_not_found()
            .required_query("project", Form::Project, "Project ID or slug")
            .required_query("env", Form::Environment, "Environment name or ID")
            .required_query("key", Form::Key, "Secret key"),
        api.route(Method::GET, "/api/v1/eso/secrets", WithTag(Shape::Unwrapped), all)
            .id("getEsoSecrets")
            .summary("Get all secret values of an environment for External Secrets Operator")
            .may_be_not_found()
            .required_query("project", Form::Project, "Project ID or slug")
            .required_query("env", Form::Environment, "Environment name or ID"),
    ]
}

fn secret(target: &Target) -> Result<GetEsoSecret, Fault> {
    let [project, environment, key] = target.required(["project", "env", "key"])?;
    Ok(GetEsoSecret { at: EnvironmentPath::new(project, environment), key: KeyRef::new(key) })
}

fn secrets(request: &Head) -> Result<GetEsoSecrets, Fault> {
    let [project, environment] = request.target.required(["project", "env"])?;
    let at = EnvironmentPath::new(project, environment);
    Ok(GetEsoSecrets { at, precondition: request.precondition() })
}
