//! `/api/v1/projects/{projectId}/environments/{environmentId}/permissions`, and the permission
//! endpoints for a whole project.

use secrets_core::permissions::{
    DeletePermission, DeletePermissionDefault, GetMyPermissions, GetPermissionDefault,
    ListPermissions, NewPermission, NewPermissions, PutPermission, PutPermissionDefault,
    PutPermissions,
};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, body};
use crate::serve::reply::Shape;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const MINE: &str = "/api/v1/projects/{projectId}/my-permissions";
const DEFAULTS: &str = "/api/v1/projects/{projectId}/permissions/defaults";
const ALL: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/permissions";
const ONE: &str = "/api/v1/projects/{projectId}/environments/{environmentId}/permissions/{userId}";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let mine = target().map(|target: Target| known(GetMyPermissions { project: target.project() }));
    let list = target().map(|target: Target| known(ListPermissions { at: target.environment() }));
    let put_all = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(PutPermissions { at: target.environment(), permissions: body.json().await? })
    });
    let put = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        let (at, user) = (target.environment(), target.id("userId"));
        Ok(PutPermission { at, user, permission: body.json().await? })
    });
    let delete = target().map(|target: Target| {
        known(DeletePermission { at: target.environment(), user: target.id("userId") })
    });
    let get_default =
        target().map(|target: Target| known(GetPermissionDefault { project: target.project() }));
    let put_default = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(PutPermissionDefault { project: target.project(), permission: body.json().await? })
    });
    let delete_default =
        target().map(|target: Target| known(DeletePermissionDefault { project: target.project() }));
    vec![
        api.route(Method::GET, MINE, Shape::Bare, mine)
            .summary("Get the caller's permissions in a project"),
        api.route(Method::GET, ALL, Shape::Named("permissions"), list)
            .summary("List the permissions set for an environment"),
        api.route(Method::PUT, ALL, Shape::Named("permissions"), put_all)
            .summary("Set the permissions of several members for an environment")
            .json_body::<NewPermissions>(),
        api.route(Method::PUT, ONE, Shape::Bare, put)
            .summary("Set a member's permission for an environment")
            .json_body::<NewPermission>(),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .summary("Remove a member's permission for an environment"),
        api.route(Method::GET, DEFAULTS, Shape::Bare, get_default)
            .summary("Get the default permission of a project's members"),
        api.route(Method::PUT, DEFAULTS, Shape::Bare, put_default)
            .summary("Set the default permission of a project's members")
            .json_body::<NewPermission>(),
        api.route(Method::DELETE, DEFAULTS, Shape::Empty, delete_default)
            .summary("Reset the default permission of a project's members"),
    ]
}
