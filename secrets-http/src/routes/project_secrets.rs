//! `/api/v1/projects/{projectId}/compare` and `/api/v1/projects/{projectId}/changes`: secrets in
//! several environments of a project.

use std::future::ready;

use secrets_core::secrets::{ChangeSecrets, CompareSecrets, SubmittedChangeSet};
use warp::http::Method;

use crate::openapi::Form;
use crate::serve::api::Api;
use crate::serve::body::BULK_LIMIT;
use crate::serve::conditions::WithTag;
use crate::serve::fault::Fault;
use crate::serve::reply::Shape;
use crate::serve::request::{Head, Request};
use crate::serve::router::Route;

const COMPARE: &str = "/api/v1/projects/{projectId}/compare";
const CHANGES: &str = "/api/v1/projects/{projectId}/changes";

/// Regular expression for a list of environment names and IDs, separated by commas.
const ENVIRONMENTS_PATTERN: &str =
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(,[A-Za-z0-9][A-Za-z0-9_-]{0,63})*$";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let compare = |request: Request| ready(compare(&request));
    let change = |request: Request| async move {
        let project = request.target.project();
        let change_set = request.body(BULK_LIMIT).json::<SubmittedChangeSet>().await?.try_into()?;
        Ok(ChangeSecrets { project, change_set })
    };
    vec![
        api.route(Method::GET, COMPARE, WithTag(Shape::Unwrapped), compare)
            .compressed()
            .id("compareSecrets")
            .summary("Compare the secrets of a project's environments, without values")
            .query(
                "environments",
                Form::Pattern(ENVIRONMENTS_PATTERN),
                "Environments, by name or ID, separated by commas (default: all)",
            )
            .query(
                "equal",
                Form::Flag,
                "If true, equal values have the same group number (default: false)",
            ),
        api.route(Method::POST, CHANGES, Shape::Unwrapped, change)
            .may_exceed_plan()
            .id("changeSecrets")
            .summary("Change up to 1,000 secrets of a project atomically")
            .json_body::<SubmittedChangeSet>()
            .may_conflict(),
    ]
}

fn compare(request: &Head) -> Result<CompareSecrets, Fault> {
    let target = &request.target;
    let environments = target.query("environments")?.map(CompareSecrets::environments);
    Ok(CompareSecrets {
        project: target.project(),
        environments: environments.transpose()?,
        equal: target.flag("equal")?.unwrap_or_default(),
        precondition: request.precondition(),
    })
}
