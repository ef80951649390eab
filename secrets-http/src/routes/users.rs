//! `/api/v1/auth/sync`, `/api/v1/users/me`: sign-in and the current user.

use secrets_core::users::{ReadMe, SyncUser};
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let sync = |_: Request| known(SyncUser);
    let me = |_: Request| known(ReadMe);
    vec![
        api.route(Method::POST, "/api/v1/auth/sync", Shape::Bare, sync)
            .id("syncUser")
            .summary("Create or refresh the caller's user account after sign-in"),
        api.route(Method::GET, "/api/v1/users/me", Shape::Bare, me)
            .id("getCurrentUser")
            .summary("Get the caller's user or service token")
            .may_be_not_found(),
    ]
}
