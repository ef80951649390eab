//! The endpoints, a file for each resource.

mod billing;
mod environments;
mod eso;
mod permissions;
mod projects;
mod public;
mod secrets;
mod teams;
mod tokens;
mod users;

use std::future::{Ready, ready};

use crate::api::Api;
use crate::fault::Fault;
use crate::jobs::Scheduler;
use crate::router::Route;

/// Every endpoint.
pub fn table(api: &Api, scheduler: &Scheduler) -> Vec<Route> {
    [
        public::routes(api, scheduler),
        users::routes(api),
        teams::routes(api),
        billing::routes(api),
        projects::routes(api),
        environments::routes(api),
        permissions::routes(api),
        secrets::routes(api),
        eso::routes(api),
        tokens::routes(api),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An operation that is known without waiting for a body.
fn known<O>(operation: O) -> Ready<Result<O, Fault>> {
    ready(Ok(operation))
}
