//! Environments.

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
pub use watch::{WatchEnvironment, Watched};

use crate::model::{EnvironmentId, EnvironmentName, ProjectId, Time};
use crate::store::EnvironmentRecord;

/// An environment.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Environment {
    /// Which environment.
    pub id: EnvironmentId,
    /// Whose environment.
    pub project_id: ProjectId,
    /// Its name.
    pub name: EnvironmentName,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The environment it inherits from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherits_from: Option<EnvironmentId>,
    /// Where it stands in lists.
    pub order: u32,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
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
