//! `/api/v1/projects/{projectId}/environments/{environmentId}/permissions`, and the permission
//! endpoints for a whole project.

use secrets_core::permissions::{
    DefaultPermission, DeletePermission, DeletePermissionDefaults, EnvironmentPermission,
    GetMyPermissions, GetPermissionDefaults, ListPermissions, NewDefaults, NewPermission,
    NewPermissions, PutPermission, PutPermissionDefaults, PutPermissions,
};
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;

const MINE: &str = "/api/v1/projects/{projectId}/my-permissions";
const DEFAULTS: &str = "/api/v1/projects/{projectId}/permissions/defaults";
const ALL: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/permissions";
const ONE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/permissions/{userId}";

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn routes(api: &Api) -> Vec<Route> {
    let mine = |request: Request| known(GetMyPermissions { project: request.target.project() });
    let list = |request: Request| known(ListPermissions { at: request.target.environment() });
    let put_all = |request: Request| async move {
        Ok(PutPermissions {
            at: request.target.environment(),
            permissions: request.body(LIMIT).json().await?,
        })
    };
    let put = |request: Request| async move {
        let (at, user) = (request.target.environment(), request.target.id("userId"));
        Ok(PutPermission { at, user, permission: request.body(LIMIT).json().await? })
    };
    let delete = |request: Request| {
        known(DeletePermission {
            at: request.target.environment(),
            user: request.target.id("userId"),
        })
    };
    let get_defaults =
        |request: Request| known(GetPermissionDefaults { project: request.target.project() });
    let put_defaults = |request: Request| async move {
        Ok(PutPermissionDefaults {
            project: request.target.project(),
            defaults: request.body(LIMIT).json().await?,
        })
    };
    let delete_defaults =
        |request: Request| known(DeletePermissionDefaults { project: request.target.project() });
    vec![
        api.route(Method::GET, MINE, Shape::Unwrapped, mine)
            .id("getMyPermissions")
            .summary("Get the caller's permissions in a project"),
        api.route(Method::GET, ALL, Shape::Named("permissions"), list)
            .list_of::<EnvironmentPermission>()
            .id("listPermissions")
            .summary("List the permissions set for an environment"),
        api.route(Method::PUT, ALL, Shape::Named("permissions"), put_all)
            .list_of::<EnvironmentPermission>()
            .id("setPermissions")
            .summary("Set the permissions of several members for an environment")
            .json_body::<NewPermissions>(),
        api.route(Method::PUT, ONE, Shape::Bare, put)
            .id("setPermission")
            .summary("Set a member's permission for an environment")
            .json_body::<NewPermission>(),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .id("deletePermission")
            .summary("Remove a member's permission for an environment"),
        api.route(Method::GET, DEFAULTS, Shape::Named("defaults"), get_defaults)
            .list_of::<DefaultPermission>()
            .id("getPermissionDefaults")
            .summary("List the default permissions of a project's members, by environment"),
        api.route(Method::PUT, DEFAULTS, Shape::Named("defaults"), put_defaults)
            .list_of::<DefaultPermission>()
            .id("setPermissionDefaults")
            .summary("Replace the default permissions of a project's members")
            .json_body::<NewDefaults>(),
        api.route(Method::DELETE, DEFAULTS, Shape::Empty, delete_defaults)
            .id("deletePermissionDefaults")
            .summary("Remove the default permissions of a project's members"),
    ]
}
