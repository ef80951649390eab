//! Projects: creating, reading, changing, deleting, restoring and purging them.

mod create;
mod delete;
mod get;
mod list;
mod purge;
mod restore;
mod update;

use serde::Serialize;
use uuid::Uuid;

pub use create::{CreateProject, NewProject};
pub use delete::DeleteProject;
pub use get::{GetProject, ProjectWithEnvironments};
pub use list::ListProjects;
pub use purge::{PURGE, purge};
pub use restore::RestoreProject;
pub use update::{ProjectChange, UpdateProject};

use crate::model::{DisplayName, ProjectId, Slug, TeamId, Time};
use crate::store::ProjectRecord;

/// A project, which belongs to a team and contains environments with secrets.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Project {
    /// Project ID.
    pub id: ProjectId,
    /// ID of the team that owns the project.
    pub team_id: TeamId,
    /// Display name of the project.
    pub name: DisplayName,
    /// Short name of the project in URLs. Does not change when the project is renamed.
    pub slug: Slug,
    /// Description of the project; absent if none is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// ID of the user who created the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Uuid>,
    /// Creation time of the project.
    pub created_at: Time,
    /// Time of the last change of the project.
    pub updated_at: Time,
}

impl From<ProjectRecord> for Project {
    fn from(project: ProjectRecord) -> Self {
        Self {
            id: project.id,
            team_id: project.team,
            name: project.name,
            slug: project.slug,
            description: project.description,
            created_by: project.created_by,
            created_at: project.created_at,
            updated_at: project.updated_at,
        }
    }
}
