//! Listing environments.

use super::Environment;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Permission, ProjectRef, Result};

/// Lists a project's environments in display order. For a service token, lists only those in the
/// token's scope.
#[derive(Debug)]
pub struct ListEnvironments {
    /// ID or slug of the project whose environments are listed.
    pub project: ProjectRef,
}

impl Operation for ListEnvironments {
    const NAME: &'static str = "environment.list";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<Environment>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<Environment>> {
        let scope = cx.project(&self.project, Permission::See).await?;
        let principal = cx.caller.principal()?;
        let environments = cx.reads().environments(scope.project.id, principal).await?;
        Ok(environments.into_iter().map(Into::into).collect())
    }
}
