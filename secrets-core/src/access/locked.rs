//! Scopes for changes: authorize, lock, authorize again.
//!
//! A change may wait for a lock, and the caller may lose a permission during the wait. So the
//! caller is authorized again once the rows are locked, from the data stored at that time. An
//! operation with the access [`Write`] can get a scope only in this way.

use std::collections::BTreeSet;

use crate::access::RESTORE_PERIOD;
use crate::access::scope::{EnvironmentScope, ProjectScope, TeamScope, View, check_chain};
use crate::engine::{Context, Lock, Write};
use crate::model::{
    EnvironmentId, EnvironmentPath, Error, Permission, ProjectRef, Quota, Result, Subject, TeamId,
};
use crate::store::{ProjectRelation, Selection, TeamRecord};

/// Rows that a change in an environment locks. A change must lock every row that it writes, so that
/// it does not wait for another transaction after the caller was authorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockedRow {
    /// Team. Its members do not change until the end of the transaction.
    Team,
    /// Project. The permissions, names and parents of its environments do not change until the end
    /// of the transaction.
    Project,
    /// Environment.
    Environment,
    /// Environment, for changes of its secrets: also raises its revision, and locks the size of the
    /// team's secrets if the plan limits that size.
    Secrets,
}

impl Context<'_, Write> {
    /// Resolves and locks a team, and authorizes the caller. `unknown` is the error for an unknown
    /// team: 404 if the path names the team, 403 otherwise.
    pub async fn locked_team(
        &mut self,
        team: TeamId,
        wanted: Permission,
        unknown: Error,
    ) -> Result<TeamScope> {
        self.resolve_team(team, wanted, unknown).await?;
        lock(self, Lock::Team(team), Subject::Team).await?;
        self.resolve_team(team, wanted, Error::NotFound(Subject::Team)).await
    }

    /// Resolves and locks any team for an operator of this service, who need not be a member. The
    /// caller is an operator if the verified e-mail address in the identity provider's token is on
    /// the list of operators. A session does not suffice, because it lasts longer than such a
    /// token.
    pub async fn locked_team_as_operator(&mut self, team: Option<TeamId>) -> Result<TeamRecord> {
        let caller = self.caller.as_person()?;
        let email = caller.verified_email().filter(|_| caller.session.is_none());
        let is_email = |operator: &String| {
            email.as_ref().is_some_and(|email| operator.eq_ignore_ascii_case(email.as_str()))
        };
        if !self.options().operators.iter().any(is_email) {
            return Err(Error::forbidden("only the operator of this service may do this"));
        }
        let team = team.ok_or(Error::NotFound(Subject::Team))?;
        lock(self, Lock::Team(team), Subject::Team).await?;
        let found = self.reads().team(team).await?.ok_or(Error::NotFound(Subject::Team))?;
        self.audit.team = Some(found.id);
        Ok(found)
    }

    /// Resolves and locks a project, and authorizes the caller.
    pub async fn locked_project(
        &mut self,
        path: &ProjectRef,
        wanted: Permission,
    ) -> Result<ProjectScope> {
        let project = self.resolve_project(path, wanted).await?.project.id;
        lock(self, Lock::Project(project), Subject::Project).await?;
        self.resolve_project(&ProjectRef::Id(project), wanted).await
    }

    /// Resolves a deleted project that can still be restored, locks its team, and authorizes the
    /// caller.
    pub async fn locked_deleted_project(&mut self, path: &ProjectRef) -> Result<ProjectScope> {
        let found = deleted_project(self, path).await?;
        let team = self.project_scope(found, Permission::Manage).await?.project.team;
        lock(self, Lock::Team(team), Subject::Team).await?;
        let found = deleted_project(self, path).await?;
        self.project_scope(found, Permission::Manage).await
    }

    /// Resolves an environment, locks these rows, and authorizes the caller. The rows must be
    /// listed from the outermost (team) to the innermost (environment).
    pub async fn locked_environment(
        &mut self,
        path: &EnvironmentPath,
        wanted: Permission,
        rows: &[LockedRow],
    ) -> Result<EnvironmentScope> {
        let (View { scope, .. }, _) = self.resolve(path, wanted, Selection::None).await?;
        let (project, environment) = (scope.project, scope.environment.id);
        let is_limited = scope.plan.limit(Quota::StoredBytes).is_some();
        for row in rows {
            let (locks, subject): (&[_], _) = match row {
                LockedRow::Team => (&[Lock::Team(project.team)], Subject::Project),
                LockedRow::Project => (&[Lock::Project(project.id)], Subject::Project),
                LockedRow::Environment => (&[Lock::Environment(environment)], Subject::Environment),
                LockedRow::Secrets if is_limited => (
                    &[
                        Lock::Environment(environment),
                        Lock::TeamSize(project.team),
                        Lock::Secrets(environment),
                    ],
                    Subject::Environment,
                ),
                LockedRow::Secrets => (&[Lock::Secrets(environment)], Subject::Environment),
            };
            self.lock_all(locks).await.map_err(|error| error.or_not_found(subject))?;
        }
        // By ID: the name may belong to another environment now.
        let path = EnvironmentPath::new(ProjectRef::Id(project.id), environment);
        Ok(self.resolve(&path, wanted, Selection::None).await?.0.scope)
    }

    /// Locks environments of a project in the order of their IDs, and authorizes the caller in
    /// each.
    pub async fn locked_environments(
        &mut self,
        project: &ProjectRef,
        environments: &BTreeSet<EnvironmentId>,
        wanted: Permission,
    ) -> Result<Vec<EnvironmentScope>> {
        let locks: Vec<_> = environments.iter().map(|of| Lock::Environment(*of)).collect();
        let locked = self.lock_all(&locks).await;
        locked.map_err(|error| error.or_not_found(Subject::Environment))?;
        let scopes = authorize_each(self, project, environments, wanted).await?;
        match scopes.first() {
            Some(scope) if scope.plan.limit(Quota::StoredBytes).is_some() => {
                self.lock(Lock::TeamSize(scope.project.team)).await?;
                authorize_each(self, project, environments, wanted).await
            }
            _ => Ok(scopes),
        }
    }

    /// Resolves an environment that is to become the parent of another environment. The caller must
    /// be able to read it and all its ancestors, because readers of the child can then read their
    /// values. The project must be locked.
    pub async fn inheritable_chain(&mut self, path: &EnvironmentPath) -> Result<View> {
        let (view, relation) = self.resolve(path, Permission::Read, Selection::None).await?;
        check_chain(&view.chain)?;
        for ancestor in &view.chain {
            self.allow_in(ancestor, relation, Permission::Read)?;
        }
        Ok(view)
    }
}

/// Loads a deleted project that can still be restored.
async fn deleted_project(
    cx: &mut Context<'_, Write>,
    path: &ProjectRef,
) -> Result<Option<ProjectRelation>> {
    let Some(id) = path.id() else { return Ok(None) };
    let principal = cx.caller.principal()?;
    let since = cx.now() - RESTORE_PERIOD;
    Ok(cx.reads().deleted_project(id, since, principal).await?)
}

/// Locks a row. Fails with "not found" for this subject if the row does not exist.
async fn lock(cx: &mut Context<'_, Write>, row: Lock, subject: Subject) -> Result<()> {
    cx.lock(row).await.map_err(|error| error.or_not_found(subject))
}

/// Authorizes the caller in each of these environments.
async fn authorize_each(
    cx: &mut Context<'_, Write>,
    project: &ProjectRef,
    environments: &BTreeSet<EnvironmentId>,
    wanted: Permission,
) -> Result<Vec<EnvironmentScope>> {
    let mut scopes = Vec::with_capacity(environments.len());
    for environment in environments {
        let path = EnvironmentPath::new(project.clone(), *environment);
        scopes.push(cx.resolve(&path, wanted, Selection::None).await?.0.scope);
    }
    Ok(scopes)
}
