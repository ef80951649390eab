//! Changing a project's name or description.

use serde::Deserialize;

use super::Project;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{DisplayName, Error, Permission, ProjectRef, Result, Subject, Summary};

/// Fields of the project to change. At least one is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectChange {
    /// New display name of the project. The slug does not change, so that URLs stay valid.
    pub name: Option<DisplayName>,
    /// New description of the project.
    pub description: Option<Summary>,
}

/// Changes a project's name or description.
#[derive(Debug)]
pub struct UpdateProject {
    /// Project ID or slug.
    pub project: ProjectRef,
    /// Fields of the project to change.
    pub change: ProjectChange,
}

impl Operation for UpdateProject {
    const NAME: &'static str = "project.update";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("project.updated");
    type Access = Write;
    type Output = Project;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Project> {
        let mut project = cx.locked_project(&self.project, Permission::Manage).await?.project;
        let ProjectChange { name, description } = self.change;
        if name.is_none() && description.is_none() {
            return Err(Error::invalid("name", "or description must be given"));
        }
        project.name = name.unwrap_or(project.name);
        project.description = description.map(Into::into).or(project.description);
        project.updated_at = cx.now();
        cx.tx()
            .update_project(&project)
            .await
            .map_err(|error| error.or_not_found(Subject::Project))?;

        cx.set_resource("project", project.id.uuid(), project.name.as_str());
        Ok(project.into())
    }
}
