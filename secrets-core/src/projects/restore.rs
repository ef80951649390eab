//! Restoring a deleted project.

use super::Project;
use crate::access::ProjectScope;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{ProjectRef, Quota, Result, Subject};

/// Restores a project that was deleted less than 30 days ago, with its environments and secrets.
/// The project and its rotations count towards the limits of the plan again.
/// Service tokens that were limited to this project do not regain access; tokens for all projects
/// of the team do.
#[derive(Debug)]
pub struct RestoreProject {
    /// ID of the deleted project. A slug does not match a deleted project.
    pub project: ProjectRef,
}

impl Operation for RestoreProject {
    const NAME: &'static str = "project.restore";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("project.restored");
    type Access = Write;
    type Output = Project;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Project> {
        let scope = cx.locked_deleted_project(&self.project).await?;
        admit(cx, &scope).await?;
        let mut project = scope.project;
        project.updated_at = cx.now();
        let since = project.updated_at - crate::access::RESTORE_PERIOD;
        cx.tx()
            .restore_project(project.id, project.updated_at, since)
            .await
            .map_err(|error| error.or_not_found(Subject::Project))?;
        cx.set_resource("project", project.id.uuid(), project.name.as_str());
        Ok(project.into())
    }
}

/// Fails if the project or its rotations would exceed a limit of the plan. Limits of secrets and
/// environments need no check, because they apply per environment and per project. The stored bytes
/// of a team already include those of deleted projects.
async fn admit(cx: &mut Context<'_, Write>, scope: &ProjectScope) -> Result<()> {
    let (plan, project) = (&scope.plan, &scope.project);
    if plan.limit(Quota::Projects).is_some() {
        let current = cx.tx().count_projects(project.team).await?;
        plan.admit(Quota::Projects, current, 1)?;
    }
    if plan.limit(Quota::Rotations).is_some() {
        let restored = cx.tx().count_project_rotations(project.id).await?;
        let current = cx.tx().count_rotations(project.team).await?;
        plan.admit(Quota::Rotations, current, restored)?;
    }
    Ok(())
}
