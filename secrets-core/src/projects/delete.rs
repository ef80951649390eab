//! Deleting a project.

use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Permission, ProjectRef, Result, Subject};

/// Error code and message that are set on the rotations of a deleted project. Users see them if the
/// project is restored.
const DELETED: (&str, &str) =
    ("deleted", "the project was deleted; set the status to active to rotate again");

/// Deletes a project with its environments and secrets. Responses no longer include them, and
/// service tokens lose access to them. A deleted project can be restored for 30 days.
#[derive(Debug)]
pub struct DeleteProject {
    /// Project ID or slug.
    pub project: ProjectRef,
}

impl Operation for DeleteProject {
    const NAME: &'static str = "project.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("project.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let project = cx.locked_project(&self.project, Permission::Manage).await?.project;
        let now = cx.now();
        cx.tx()
            .delete_project(project.id, now)
            .await
            .map_err(|error| error.or_not_found(Subject::Project))?;
        let (code, message) = DELETED;
        cx.tx().disable_rotations(project.id, code, message, now).await?;
        cx.set_resource("project", project.id.uuid(), project.name.as_str());
        Ok(())
    }
}
