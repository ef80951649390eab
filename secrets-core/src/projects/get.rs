//! Reading a project.

use serde::Serialize;

use super::Project;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::environments::Environment;
use crate::model::{Permission, ProjectRef, Result};

/// Reads a project and its environments.
#[derive(Debug)]
pub struct GetProject {
    /// Project ID or slug.
    pub project: ProjectRef,
}

/// A project and its environments.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectWithEnvironments {
    /// Project without its environments.
    #[serde(flatten)]
    pub project: Project,
    /// Environments of the project, in display order. For a service token, only those in the
    /// token's scope.
    pub environments: Vec<Environment>,
}

impl Operation for GetProject {
    const NAME: &'static str = "project.get";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = ProjectWithEnvironments;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<ProjectWithEnvironments> {
        let scope = cx.project(&self.project, Permission::See).await?;
        let principal = cx.caller.principal()?;
        let environments = cx.reads().environments(scope.project.id, principal).await?;
        let environments = environments.into_iter().map(Into::into).collect();
        Ok(ProjectWithEnvironments { project: scope.project.into(), environments })
    }
}
