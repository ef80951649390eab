//! Creating an environment.

use serde::Deserialize;

use super::Environment;
use crate::access::{CHAIN_TOO_LONG, MAX_CHAIN_LENGTH, ProjectScope};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{
    Code, EnvironmentId, EnvironmentName, EnvironmentPath, EnvironmentRef, Error, Permission,
    ProjectRef, Quota, Result, Subject, Summary,
};
use crate::store::EnvironmentRecord;

/// Fields of a new environment.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewEnvironment {
    /// Name of the environment, unique within the project.
    pub name: EnvironmentName,
    /// Environment of the same project to inherit secrets from, by ID or name.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "staging"))]
    pub inherits_from: Option<EnvironmentRef>,
    /// Description of the environment.
    pub description: Option<Summary>,
}

/// Creates an environment in a project.
#[derive(Debug)]
pub struct CreateEnvironment {
    /// ID or slug of the project in which the environment is created.
    pub project: ProjectRef,
    /// Fields of the new environment.
    pub environment: NewEnvironment,
}

/// Maximum number of environments of a project, whatever the plan. Every change of the tree of
/// environments, and every watch of the project, loads all of them.
const MAX_ENVIRONMENTS: usize = 500;

impl Operation for CreateEnvironment {
    const NAME: &'static str = "environment.create";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("environment.created");
    type Access = Write;
    type Output = Environment;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Environment> {
        // The lock keeps the checked inheritance chain and the count valid until the commit.
        let ProjectScope { project, plan, .. } =
            cx.locked_project(&self.project, Permission::Contribute).await?;
        let NewEnvironment { name, inherits_from, description } = self.environment;
        let parent = match inherits_from {
            Some(parent) => parent_of(cx, &self.project, parent).await?.into_iter().next(),
            None => None,
        };
        let principal = cx.caller.principal()?;
        let siblings = cx.reads().environments(project.id, principal).await?;
        if siblings.len() >= MAX_ENVIRONMENTS {
            let reason = "a project can have at most 500 environments".into();
            return Err(Error::Refused { code: Code::InvalidRequest, reason });
        }
        let environment = EnvironmentRecord {
            id: EnvironmentId::draw(cx.now()),
            project: project.id,
            inherits_from: parent.as_ref().map(|parent| parent.id),
            description: description.map(Into::into),
            is_default: false,
            position: siblings.iter().map(|sibling| sibling.position + 1).max().unwrap_or_default(),
            revision: 0,
            created_by: cx.caller.actor(),
            created_at: cx.now(),
            updated_at: cx.now(),
            name,
        };
        let taken = || Error::taken("name", "is taken already in this project");
        cx.tx().insert_environment(&environment).await.map_err(|error| error.taken(taken()))?;
        plan.admit(Quota::Environments, siblings.len() as u64, 1)?;

        cx.audit.environment = Some((environment.id, environment.name.to_string()));
        cx.set_resource("environment", environment.id.uuid(), environment.name.as_str());
        if let Some(parent) = parent {
            cx.add_detail("inherits_from", parent.name.as_str());
        }
        Ok(environment.into())
    }
}

/// Loads the future parent of an environment and the parent's ancestors, nearest first. Fails
/// unless the caller may read all of them, because everyone with access to the child can then read
/// their values. Also fails if the parent's inheritance chain has the maximum length already.
pub(super) async fn parent_of(
    cx: &mut Context<'_, Write>,
    project: &ProjectRef,
    parent: EnvironmentRef,
) -> Result<Vec<EnvironmentRecord>> {
    let path = EnvironmentPath { project: project.clone(), environment: parent };
    let view = cx.inheritable_chain(&path).await.map_err(|error| match error {
        Error::NotFound(Subject::Environment) => {
            Error::invalid("inherits_from", "must be an environment of this project")
        }
        other => other,
    })?;
    if view.chain.len() >= MAX_CHAIN_LENGTH {
        return Err(CHAIN_TOO_LONG);
    }
    Ok(view.chain.into_iter().map(|link| link.environment).collect())
}
