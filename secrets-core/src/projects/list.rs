//! Listing projects.

use super::Project;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::Result;

/// Lists the projects that the caller can access through team membership or a token's scope, oldest
/// first.
#[derive(Debug)]
pub struct ListProjects;

impl Operation for ListProjects {
    const NAME: &'static str = "project.list";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<Project>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<Project>> {
        let principal = cx.caller.principal()?;
        let projects = cx.reads().projects(principal).await?;
        Ok(projects.into_iter().map(Into::into).collect())
    }
}
