//! `/api/v1/projects`: listing, creating, changing, deleting and restoring projects.

use secrets_core::projects::{
    CreateProject, DeleteProject, GetProject, ListProjects, NewProject, Project, ProjectChange,
    RestoreProject, UpdateProject,
};
use warp::Filter as _;
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::{Body, LIMIT, body};
use crate::serve::reply::Shape;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const ALL: &str = "/api/v1/projects";
const ONE: &str = "/api/v1/projects/{projectId}";
const RESTORE: &str = "/api/v1/projects/{projectId}/restore";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = target().map(|_| known(ListProjects));
    let create =
        body(LIMIT).map(|body: Body| async { Ok(CreateProject { project: body.json().await? }) });
    let get = target().map(|target: Target| known(GetProject { project: target.project() }));
    let update = target().and(body(LIMIT)).map(|target: Target, body: Body| async move {
        Ok(UpdateProject { project: target.project(), change: body.json().await? })
    });
    let delete = target().map(|target: Target| known(DeleteProject { project: target.project() }));
    let restore =
        target().map(|target: Target| known(RestoreProject { project: target.project() }));
    vec![
        api.route(Method::GET, ALL, Shape::Named("projects"), list)
            .list_of::<Project>()
            .id("listProjects")
            .summary("List the projects accessible to the caller"),
        api.route(Method::POST, ALL, Shape::Created, create)
            .may_exceed_plan()
            .id("createProject")
            .summary("Create a project with its three default environments")
            .json_body::<NewProject>(),
        api.route(Method::GET, ONE, Shape::Bare, get)
            .id("getProject")
            .summary("Get a project and its environments"),
        api.route(Method::PATCH, ONE, Shape::Bare, update)
            .id("updateProject")
            .summary("Update a project's name or description")
            .json_body::<ProjectChange>(),
        api.route(Method::DELETE, ONE, Shape::Empty, delete)
            .id("deleteProject")
            .summary("Delete a project (it can be restored for 30 days)"),
        api.route(Method::POST, RESTORE, Shape::Bare, restore)
            .may_exceed_plan()
            .id("restoreProject")
            .summary("Restore a deleted project"),
    ]
}
