//! `/api/v1/projects`: listing, creating, changing, deleting and restoring projects.

use secrets_core::projects::{
    CreateProject, DeleteProject, GetProject, ListProjects, NewProject, Project, ProjectChange,
    RestoreProject, UpdateProject,
};
use warp::http::Method;

use super::known;
use crate::serve::api::Api;
use crate::serve::body::LIMIT;
use crate::serve::reply::Shape;
use crate::serve::request::Request;
use crate::serve::router::Route;

const ALL: &str = "/api/v1/projects";
const ONE: &str = "/api/v1/projects/{projectId}";
const RESTORE: &str = "/api/v1/projects/{projectId}/restore";

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let list = |_: Request| known(ListProjects);
    let create = |request: Request| async {
        Ok(CreateProject { project: request.body(LIMIT).json().await? })
    };
    let get = |request: Request| known(GetProject { project: request.target.project() });
    let update = |request: Request| async move {
        Ok(UpdateProject {
            project: request.target.project(),
            change: request.body(LIMIT).json().await?,
        })
    };
    let delete = |request: Request| known(DeleteProject { project: request.target.project() });
    let restore = |request: Request| known(RestoreProject { project: request.target.project() });
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
