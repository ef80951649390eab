//! Locks of the rows that a change writes.

use std::collections::BTreeSet;

use super::scope::EnvironmentScope;
use crate::engine::{Context, Lock, Write};
use crate::model::{
    EnvironmentId, EnvironmentPath, Permission, ProjectRef, Quota, Result, Subject,
};
use crate::store::Selection;

/// Rows that a change of an environment can lock. A change must lock every row that it writes, so
/// that it does not wait for another transaction after the caller was authorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockedRow {
    /// Row of the team. While the row is locked, the members of the team do not change.
    Team,
    /// Row of the project. While the row is locked, the permissions, names and parents of the
    /// project's environments do not change.
    Project,
    /// Row of the environment.
    Environment,
    /// Row of the environment, for a change of the environment's secrets. Also increments the
    /// revision of the environment and, if the plan limits the total size of the team's secrets,
    /// locks the stored value of this total size.
    Secrets,
}

impl LockedRow {
    /// Returns the locks for this row, in the order in which they are acquired. `scope` is the
    /// environment to be changed.
    pub(super) fn locks(self, scope: &EnvironmentScope) -> Vec<Lock> {
        let (project, environment) = (&scope.project, scope.environment.id);
        let is_limited = scope.plan.limit(Quota::StoredBytes).is_some();
        match self {
            Self::Team => vec![Lock::Team(project.team)],
            Self::Project => vec![Lock::Project(project.id)],
            Self::Environment => vec![Lock::Environment(environment)],
            Self::Secrets if is_limited => vec![
                Lock::Environment(environment),
                Lock::TeamSize(project.team),
                Lock::Secrets(environment),
            ],
            Self::Secrets => vec![Lock::Secrets(environment)],
        }
    }

    /// Returns the kind of resource that is reported as not found if the row does not exist.
    pub(super) fn subject(self) -> Subject {
        match self {
            Self::Team | Self::Project => Subject::Project,
            Self::Environment | Self::Secrets => Subject::Environment,
        }
    }
}

/// Locks a row. If the row does not exist, fails with the "not found" error of the given kind of
/// resource.
pub(super) async fn lock(cx: &mut Context<'_, Write>, row: Lock, subject: Subject) -> Result<()> {
    cx.lock(row).await.map_err(|error| error.or_not_found(subject))
}

/// Authorizes the caller in each of the given environments and returns their scopes.
pub(super) async fn authorize_each(
    cx: &mut Context<'_, Write>,
    project: &ProjectRef,
    environments: &BTreeSet<EnvironmentId>,
    permission: Permission,
) -> Result<Vec<EnvironmentScope>> {
    let mut scopes = Vec::with_capacity(environments.len());
    for environment in environments {
        let path = EnvironmentPath::new(project.clone(), *environment);
        scopes.push(cx.resolve(&path, permission, Selection::None).await?.0.scope);
    }
    Ok(scopes)
}
