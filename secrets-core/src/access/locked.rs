//! Scopes for changes: authorize, lock, authorize again.
//!
//! A change may wait for a lock, and the caller may lose a right during that wait. So the caller is
//! authorized again under the locks, from what is stored then. In an operation with the access
//! [`Write`] there is no other way to a scope.

use crate::access::RESTORE_PERIOD;
use crate::access::scope::{EnvironmentScope, ProjectScope, TeamScope, View, check_chain};
use crate::engine::{Context, Lock, Write};
use crate::model::{EnvironmentPath, Error, Permission, ProjectRef, Result, Subject, TeamId};
use crate::store::{ProjectRelation, Selection, TeamRecord};

/// Row that a change of an environment locks. Every row that the change writes must be locked, so
/// that the change waits for nothing after the caller was authorized again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockedRow {
    /// Team: its members do not change until the end of the transaction.
    Team,
    /// Project: the permissions, names and parents of its environments do not change.
    Project,
    /// Environment.
    Environment,
    /// Environment, with a new revision: for changes to its secrets.
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
        self.lock_known(Lock::Team(team), Subject::Team).await?;
        self.resolve_team(team, wanted, Error::NotFound(Subject::Team)).await
    }

    /// Resolves and locks any team for an operator of this service, independent of membership. An
    /// operator is known by the verified address of a token of the identity provider; a CLI session,
    /// which lasts longer than such a token, does not suffice.
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
        self.lock_known(Lock::Team(team), Subject::Team).await?;
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
        self.lock_known(Lock::Project(project), Subject::Project).await?;
        self.resolve_project(&ProjectRef::Id(project), wanted).await
    }

    /// Resolves a deleted project by ID, if it can still be restored, locks its team, and authorizes
    /// the caller.
    pub async fn locked_deleted_project(&mut self, path: &ProjectRef) -> Result<ProjectScope> {
        let found = self.deleted_project(path).await?;
        let team = self.project_scope(found, Permission::Manage).await?.project.team;
        self.lock_known(Lock::Team(team), Subject::Team).await?;
        let found = self.deleted_project(path).await?;
        self.project_scope(found, Permission::Manage).await
    }

    /// Resolves an environment, locks the rows, which are listed from the outermost inwards, and
    /// authorizes the caller.
    pub async fn locked_environment(
        &mut self,
        path: &EnvironmentPath,
        wanted: Permission,
        rows: &[LockedRow],
    ) -> Result<EnvironmentScope> {
        let (View { scope, .. }, _) = self.resolve(path, wanted, Selection::None).await?;
        let (project, environment) = (scope.project, scope.environment.id);
        for row in rows {
            let (lock, subject) = match row {
                LockedRow::Team => (Lock::Team(project.team), Subject::Project),
                LockedRow::Project => (Lock::Project(project.id), Subject::Project),
                LockedRow::Environment => (Lock::Environment(environment), Subject::Environment),
                LockedRow::Secrets => (Lock::Secrets(environment), Subject::Environment),
            };
            self.lock_known(lock, subject).await?;
        }
        // By ID: the name may belong to another environment now.
        let path = EnvironmentPath::new(ProjectRef::Id(project.id), environment);
        Ok(self.resolve(&path, wanted, Selection::None).await?.0.scope)
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

    async fn lock_known(&mut self, row: Lock, subject: Subject) -> Result<()> {
        self.lock(row).await.map_err(|error| error.or_not_found(subject))
    }

    async fn deleted_project(&mut self, path: &ProjectRef) -> Result<Option<ProjectRelation>> {
        let Some(id) = path.id() else { return Ok(None) };
        let principal = self.caller.principal()?;
        let since = self.now() - RESTORE_PERIOD;
        Ok(self.reads().deleted_project(id, since, principal).await?)
    }
}
