//! `/api/v1/projects/{projectId}/compare` and `/api/v1/projects/{projectId}/changes`: secrets in
//! several environments of a project.

use std::future::ready;

use secrets_core::secrets::{ChangeSecrets, CompareSecrets, SubmittedChangeSet};
use warp::Filter as _;
use warp::http::Method;

use crate::openapi::Form;
use crate::serve::api::Api;
use crate::serve::body::{BULK_LIMIT, Body, body};
use crate::serve::conditions::{Conditions, WithTag, conditions};
use crate::serve::fault::Fault;
use crate::serve::reply::Shape;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const COMPARE: &str = "/api/v1/projects/{projectId}/compare";
const CHANGES: &str = "/api/v1/projects/{projectId}/changes";

/// Regular expression for a list of environment names and IDs, separated by commas.
const ENVIRONMENTS_PATTERN: &str =
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(,[A-Za-z0-9][A-Za-z0-9_-]{0,63})*$";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let compare = target()
        .and(conditions())
        .map(|target: Target, conditions: Conditions| ready(compare(&target, &conditions)));
    let change = target().and(body(BULK_LIMIT)).map(|target: Target, body: Body| async move {
        let change_set = body.json::<SubmittedChangeSet>().await?.try_into()?;
        Ok(ChangeSecrets { project: target.project(), change_set })
    });
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

fn compare(target: &Target, conditions: &Conditions) -> Result<CompareSecrets, Fault> {
    let environments = target.query("environments")?.map(CompareSecrets::environments);
    Ok(CompareSecrets {
        project: target.project(),
        environments: environments.transpose()?,
        equal: target.flag("equal")?.unwrap_or_default(),
        precondition: conditions.precondition(),
    })
}
