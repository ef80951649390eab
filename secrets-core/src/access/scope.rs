//! Scopes: teams, projects and environments that the caller is authorized for.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::permission::NO_ACCESS;
use crate::crypto::ProjectKey;
use crate::engine::{Access, Context, Who};
use crate::model::{EnvironmentId, Error, Plan, Result, Role};
use crate::store::{
    ChainLink, EnvironmentRecord, ProjectRecord, Relation, RotationLocation, TeamRecord,
};

/// A team that the caller is authorized for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TeamScope {
    /// Team that the caller is authorized for.
    pub team: TeamRecord,
    /// Caller's role in the team.
    pub role: Role,
    /// Team's plan.
    pub plan: Arc<Plan>,
}

/// A project that the caller is authorized for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProjectScope {
    /// Project that the caller is authorized for.
    pub project: ProjectRecord,
    /// Plan of the project's team.
    pub plan: Arc<Plan>,
    /// Caller's relation to the project: a member with a role, or a token with the project in its
    /// scope.
    pub relation: Relation,
}

/// An environment that the caller is authorized for.
pub struct EnvironmentScope {
    /// Project of the environment.
    pub project: ProjectRecord,
    /// Plan of the project's team.
    pub plan: Arc<Plan>,
    /// Environment that the caller is authorized for.
    pub environment: EnvironmentRecord,
    /// True if the caller may read secrets of the environment.
    pub may_read: bool,
    /// True if the caller may change secrets of the environment.
    pub may_write: bool,
    /// True if the caller may manage permissions in the environment; always false for service
    /// tokens.
    pub may_grant: bool,
    pub(super) key: ProjectKey,
}

impl EnvironmentScope {
    /// Returns the environment of a rotation as an authorized scope, for work that the service
    /// itself performs. Fails if the caller is not the service.
    pub(crate) fn of_rotation<A: Access>(
        cx: &Context<'_, A>,
        place: RotationLocation,
    ) -> Result<Self> {
        let Who::System = cx.caller.who else { return Err(NO_ACCESS) };
        let key = cx.keyring().project_key(&place.key).map_err(Error::internal)?;
        let plan = cx.options().plans.of_team(&place.plan);
        let RotationLocation { project, environment, .. } = place;
        let (may_read, may_write, may_grant) = (true, true, false);
        Ok(Self { project, plan, environment, may_read, may_write, may_grant, key })
    }

    /// Returns the newest key of the project, which encrypts new records.
    pub(crate) fn key(&self) -> &ProjectKey {
        &self.key
    }
}

/// An environment and its ancestors, with the secrets that were selected for reading.
pub struct View {
    /// Environment itself, without its ancestors.
    pub scope: EnvironmentScope,
    /// Inheritance chain: the environment, then its ancestors from parent to root, each with the
    /// selected secrets.
    pub chain: Vec<ChainLink>,
    /// Ancestors that the caller may not read. Secrets inherited from them are listed without their
    /// values.
    pub restricted: BTreeSet<EnvironmentId>,
}
