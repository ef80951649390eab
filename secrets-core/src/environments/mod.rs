//! Environments of projects: creating, reading, changing, deleting and watching them.

mod create;
mod delete;
mod get;
mod list;
mod update;
mod watch;

use serde::Serialize;

use create::parent_of;
pub use create::{CreateEnvironment, NewEnvironment};
pub use delete::DeleteEnvironment;
pub use get::GetEnvironment;
pub use list::ListEnvironments;
pub use update::{EnvironmentChange, Parent, UpdateEnvironment};
pub use watch::{WatchEnvironment, WatchPlace, WatchProject, WatchTarget, Watched, WatchedProject};

use crate::model::{EnvironmentId, EnvironmentName, ProjectId, Time};
use crate::store::EnvironmentRecord;

/// An environment.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Environment {
    /// Environment ID.
    pub id: EnvironmentId,
    /// ID of the project that contains the environment.
    pub project_id: ProjectId,
    /// Name of the environment, unique within the project.
    pub name: EnvironmentName,
    /// Description of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// ID of the environment this one inherits secrets from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherits_from: Option<EnvironmentId>,
    /// Position of the environment in lists of the project's environments.
    pub order: u32,
    /// Creation time of the environment.
    pub created_at: Time,
    /// Time of the last change of the environment.
    pub updated_at: Time,
}

impl From<EnvironmentRecord> for Environment {
    fn from(environment: EnvironmentRecord) -> Self {
        Self {
            id: environment.id,
            project_id: environment.project,
            name: environment.name,
            description: environment.description,
            inherits_from: environment.inherits_from,
            order: environment.position,
            created_at: environment.created_at,
            updated_at: environment.updated_at,
        }
    }
}
