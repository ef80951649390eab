//! Projects.

mod create;
mod delete;
mod get;
mod list;
mod restore;
mod update;

use chrono::TimeDelta;
use serde::Serialize;
use uuid::Uuid;

pub use create::{CreateProject, NewProject};
pub use delete::DeleteProject;
pub use get::{GetProject, ProjectWithEnvironments};
pub use list::ListProjects;
pub use restore::RestoreProject;
pub use update::{ProjectChange, UpdateProject};

use crate::model::{DisplayName, ProjectId, Slug, TeamId, Time};
use crate::store::ProjectRecord;

/// A project.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Project {
    /// Which project.
    pub id: ProjectId,
    /// Whose project.
    pub team_id: TeamId,
    /// What people call it.
    pub name: DisplayName,
    /// Its name in addresses; kept when it is renamed.
    pub slug: Slug,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Uuid>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
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
