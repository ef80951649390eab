//! HTTP endpoints, with one file for each kind of resource.

mod account;
mod audit;
mod billing;
mod dashboard;
mod device_login;
mod device_page;
mod docs;
mod environments;
mod eso;
mod import;
mod invitation_page;
mod invitations;
mod members;
mod page;
mod page_session;
mod permissions;
mod project_secrets;
mod projects;
mod public;
mod rotations;
mod scans;
mod secrets;
mod sessions;
mod sign_in;
mod teams;
mod tokens;
mod users;
mod watch;
mod webhooks;

pub(crate) use dashboard::ASSET;

use std::future::{Ready, ready};

use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::router::Route;
use secrets_core::runtime::Supervisor;

/// Returns the routes of all endpoints.
pub fn table(api: &Api, supervisor: &Supervisor) -> Vec<Route> {
    [
        public::routes(api, supervisor),
        users::routes(api),
        account::routes(api),
        teams::routes(api),
        members::routes(api),
        invitations::routes(api),
        invitation_page::routes(api),
        billing::routes(api),
        projects::routes(api),
        environments::routes(api),
        permissions::routes(api),
        secrets::routes(api),
        project_secrets::routes(api),
        rotations::routes(api),
        watch::routes(api, supervisor),
        eso::routes(api),
        tokens::routes(api),
        audit::routes(api),
        device_login::routes(api),
        sessions::routes(api),
        device_page::routes(api),
        sign_in::routes(api),
        docs::routes(api, supervisor),
        page::routes(api),
        dashboard::routes(api),
        scans::routes(api),
        webhooks::routes(api),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Wraps an operation in a completed future. Used for requests without a body, whose operation is
/// known at once.
fn known<O>(operation: O) -> Ready<Result<O, Fault>> {
    ready(Ok(operation))
}
