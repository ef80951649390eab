//! Methods of [`Context`] that authorize the caller and return a scope: a team, project or
//! environment that the caller may access. No other module creates scopes.
//!
//! A change may wait for a lock, and the caller may lose a permission during the wait. So a change
//! authorizes the caller, locks the rows, and authorizes the caller again from the data stored at
//! that time. In an exclusive transaction, [`locked_environment`](Context::locked_environment)
//! authorizes the caller only once, because nothing changes meanwhile. An operation whose `Access`
//! is [`Write`] gets only scopes whose rows are locked. The exceptions are `view_of_keys`, whose
//! callers lock the rows that they write, and `EnvironmentScope::of_rotation`, for work of the
//! service itself.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use super::lock::{LockedRow, authorize_each, lock};
use super::memberships::{audited_teams, default_team, managed_teams, personal_team};
use super::operator::{OPERATORS_ONLY, is_operator};
use super::permission::{
    MANAGERS_ONLY, NOT_A_MEMBER, OUT_OF_SCOPE, allow, allow_in, check_chain, restricted_ancestors,
};
use super::restore::deleted_project;
use super::scope::{EnvironmentScope, ProjectScope, TeamScope, View};
use super::size::{add_size, chain_size, check_size};
use super::team_rate;
use crate::engine::{Access, Context, Lock, Read, Who, Write};
use crate::model::{
    EnvironmentId, EnvironmentPath, Error, Permission, ProjectRef, Quota, Result, SecretKey,
    Subject, TeamId,
};
use crate::store::{
    ChainLink, EnvironmentRecord, ProjectRelation, Relation, ResolvedEnvironment, SecretRecord,
    Selection, TeamRecord,
};

impl Context<'_, Read> {
    /// Loads a team by its ID and authorizes the caller. `unknown` is the error for an unknown
    /// team: 404 if the URL path names the team, 403 otherwise.
    pub async fn team(
        &mut self,
        team: TeamId,
        permission: Permission,
        unknown: Error,
    ) -> Result<TeamScope> {
        self.resolve_team(team, permission, unknown).await
    }

    /// Resolves a project and authorizes the caller.
    pub async fn project(
        &mut self,
        path: &ProjectRef,
        permission: Permission,
    ) -> Result<ProjectScope> {
        self.resolve_project(path, permission).await
    }

    /// Resolves an environment and authorizes the caller.
    pub async fn environment(
        &mut self,
        path: &EnvironmentPath,
        permission: Permission,
    ) -> Result<EnvironmentScope> {
        Ok(self.resolve(path, permission, Selection::None).await?.0.scope)
    }

    /// Resolves an environment for reading, with the selected secrets of the environment and its
    /// ancestors.
    pub async fn view(&mut self, path: &EnvironmentPath, selection: Selection<'_>) -> Result<View> {
        let view = self.view_of_any_size(path, selection).await?;
        let bytes = chain_size(&view.chain);
        check_size(self.memory.total, bytes, self.options().max_answer_bytes)?;
        // Reserve the memory before decryption, which takes several times the size.
        self.reserve_memory(bytes).await?;
        Ok(view)
    }

    async fn view_of_any_size(
        &mut self,
        path: &EnvironmentPath,
        selection: Selection<'_>,
    ) -> Result<View> {
        let (view, _) = self.resolve(path, Permission::Read, selection).await?;
        check_chain(&view.chain)?;
        Ok(view)
    }

    /// Resolves an environment like [`view`](Self::view), but without the limit on the size of the
    /// secrets: the calling code must keep the secrets of only one environment in memory at a time,
    /// and reserve the memory for them. Does not change the audit entry. Returns `None` if the
    /// environment is unknown, or if the caller is a user without access to it. Fails for a service
    /// token without access.
    pub(crate) async fn view_if_readable(
        &mut self,
        path: &EnvironmentPath,
        selection: Selection<'_>,
    ) -> Result<Option<View>> {
        let context = mem::take(&mut self.audit);
        let view = self.view_of_any_size(path, selection).await;
        self.audit = context;
        match (view, &self.caller.who) {
            (Ok(view), _) => Ok(Some(view)),
            (Err(Error::NotFound(_)), _) | (Err(Error::Forbidden(_)), Who::Person(_)) => Ok(None),
            (Err(error), _) => Err(error),
        }
    }

    /// Loads the teams in which the caller is an owner or admin.
    pub async fn managed_teams(&mut self) -> Result<Vec<TeamId>> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        Ok(managed_teams(&memberships))
    }

    /// Loads the teams whose audit log is returned if a request names no team: the teams in which
    /// the caller is an owner or admin. If that is only the personal team, and the caller is a
    /// regular member of another team, returns an empty list.
    pub async fn audited_teams(&mut self) -> Result<Vec<TeamId>> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        Ok(audited_teams(&memberships, user))
    }
}

impl Context<'_, Write> {
    /// Loads a team by its ID, locks it and authorizes the caller. `unknown` is the error for an
    /// unknown team: 404 if the URL path names the team, 403 otherwise.
    pub async fn locked_team(
        &mut self,
        team: TeamId,
        permission: Permission,
        unknown: Error,
    ) -> Result<TeamScope> {
        self.resolve_team(team, permission, unknown).await?;
        lock(self, Lock::Team(team), Subject::Team).await?;
        self.resolve_team(team, permission, Error::NotFound(Subject::Team)).await
    }

    /// Resolves and locks any team for an operator of this service, who need not be a member of the
    /// team.
    pub async fn locked_team_as_operator(&mut self, team: Option<TeamId>) -> Result<TeamRecord> {
        if !is_operator(self.caller.as_person()?, self.options(), self.now()) {
            return Err(OPERATORS_ONLY);
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
        permission: Permission,
    ) -> Result<ProjectScope> {
        let project = self.resolve_project(path, permission).await?.project.id;
        lock(self, Lock::Project(project), Subject::Project).await?;
        self.resolve_project(&ProjectRef::Id(project), permission).await
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

    /// Resolves an environment, locks the given rows, and authorizes the caller. The rows must be
    /// listed from the outermost (team) to the innermost (environment).
    pub async fn locked_environment(
        &mut self,
        path: &EnvironmentPath,
        permission: Permission,
        rows: &[LockedRow],
    ) -> Result<EnvironmentScope> {
        Ok(self.locked_view(path, (permission, Selection::None), rows).await?.scope)
    }

    /// Resolves an environment, locks the given rows, and authorizes the caller, like
    /// [`locked_environment`](Self::locked_environment). Also returns the selected secrets. Those
    /// of ancestors must not be used, because the caller is not authorized for them.
    pub(crate) async fn locked_view(
        &mut self,
        path: &EnvironmentPath,
        (permission, selection): (Permission, Selection<'_>),
        rows: &[LockedRow],
    ) -> Result<View> {
        let is_exclusive = self.engine.store().is_exclusive();
        // Otherwise, the secrets are loaded after the locks.
        let first = if is_exclusive { selection } else { Selection::None };
        let (mut view, _) = self.resolve(path, permission, first).await?;
        let scope = &mut view.scope;
        for row in rows {
            let locked = self.lock_all(&row.locks(scope)).await;
            locked.map_err(|error| error.or_not_found(row.subject()))?;
        }
        if is_exclusive {
            // Nothing has changed since the environment was resolved, except for the revision.
            if rows.contains(&LockedRow::Secrets) {
                scope.environment.revision = self.locked_counters.revision;
            }
            return Ok(view);
        }
        // Resolve by ID, because another environment may have taken the name since then.
        let path = EnvironmentPath::new(ProjectRef::Id(scope.project.id), scope.environment.id);
        Ok(self.resolve(&path, permission, selection).await?.0)
    }

    /// Locks environments of a project in the order of their IDs, and authorizes the caller in each
    /// of them.
    pub async fn locked_environments(
        &mut self,
        project: &ProjectRef,
        environments: &BTreeSet<EnvironmentId>,
        permission: Permission,
    ) -> Result<Vec<EnvironmentScope>> {
        let locks: Vec<_> = environments.iter().map(|of| Lock::Environment(*of)).collect();
        let locked = self.lock_all(&locks).await;
        locked.map_err(|error| error.or_not_found(Subject::Environment))?;
        let scopes = authorize_each(self, project, environments, permission).await?;
        match scopes.first() {
            Some(scope) if scope.plan.limit(Quota::StoredBytes).is_some() => {
                self.lock(Lock::TeamSize(scope.project.team)).await?;
                authorize_each(self, project, environments, permission).await
            }
            _ => Ok(scopes),
        }
    }

    /// Resolves the future parent of an environment. Fails unless the caller may read the future
    /// parent and all its ancestors, because everyone who can read the child will also read the
    /// inherited values. The project must be locked before this call.
    pub async fn inheritable_chain(&mut self, path: &EnvironmentPath) -> Result<View> {
        let (view, relation) = self.resolve(path, Permission::Read, Selection::None).await?;
        check_chain(&view.chain)?;
        for ancestor in &view.chain {
            self.allow_in(ancestor, relation, Permission::Read)?;
        }
        Ok(view)
    }
}

impl<A: Access> Context<'_, A> {
    /// Returns the team to use for a request that names no team: the caller's only team or, for a
    /// caller with several teams, the personal team.
    pub async fn default_team(&mut self) -> Result<TeamId> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        let team = default_team(&memberships, user);
        team.ok_or_else(|| Error::invalid("team_id", "must name one of your teams"))
    }

    /// Returns the caller's personal team, which was created at the first sign-in; `None` if the
    /// caller is not a member of this team any more.
    pub(crate) async fn personal_team(&mut self) -> Result<Option<TeamId>> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        Ok(personal_team(&memberships, user))
    }

    /// Resolves an environment and authorizes the caller, without a lock. Returns the environment's
    /// record. An operation that changes data must later lock the rows and authorize the caller
    /// again.
    pub(crate) async fn known_environment(
        &mut self,
        path: &EnvironmentPath,
        permission: Permission,
    ) -> Result<EnvironmentRecord> {
        Ok(self.resolve(path, permission, Selection::None).await?.0.scope.environment)
    }

    /// Resolves an environment for reading, with the secrets of the given keys in the environment
    /// and its ancestors. Locks nothing: a change must lock the rows that it writes before this
    /// call.
    pub(crate) async fn view_of_keys(
        &mut self,
        path: &EnvironmentPath,
        keys: &[SecretKey],
    ) -> Result<View> {
        let (mut view, _) = self.resolve(path, Permission::Read, Selection::None).await?;
        check_chain(&view.chain)?;
        let mut bytes = 0;
        for link in &mut view.chain {
            let secrets = self.reads().secrets(link.environment.id, keys).await?;
            bytes = add_size(bytes, secrets.iter().map(SecretRecord::size).sum())?;
            link.secrets = secrets.into_iter().map(Arc::new).collect();
        }
        Ok(view)
    }

    /// True if the caller may read the secrets of this environment. Does not change the audit
    /// entry.
    pub(crate) async fn may_read(&mut self, path: &EnvironmentPath) -> Result<bool> {
        let context = mem::take(&mut self.audit);
        let resolved = self.resolve(path, Permission::Read, Selection::None).await;
        self.audit = context;
        match resolved {
            Ok(_) => Ok(true),
            Err(Error::Forbidden(_) | Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Resolves a team and authorizes the caller, without a lock.
    async fn resolve_team(
        &mut self,
        team: TeamId,
        permission: Permission,
        unknown: Error,
    ) -> Result<TeamScope> {
        let user = self.caller.person()?.id;
        let membership = self.reads().membership(team, user).await?.ok_or(unknown)?;
        self.audit.team = Some(team);
        self.audit.is_anonymized = membership.role.is_none();
        let role = membership.role.ok_or(NOT_A_MEMBER)?;
        if permission == Permission::Manage && !role.manages() {
            return Err(MANAGERS_ONLY);
        }
        team_rate::count(self, team).await?;
        let plan = self.options().plans.of_team(&membership.team.plan);
        Ok(TeamScope { team: membership.team, role, plan })
    }

    /// Resolves a project and authorizes the caller, without a lock.
    async fn resolve_project(
        &mut self,
        path: &ProjectRef,
        permission: Permission,
    ) -> Result<ProjectScope> {
        let principal = self.caller.principal()?;
        let found = self.reads().project(path, principal).await?;
        self.project_scope(found, permission).await
    }

    /// Authorizes the caller for the project in `found`, which is already loaded. `None` is
    /// reported as an unknown project.
    async fn project_scope(
        &mut self,
        found: Option<ProjectRelation>,
        permission: Permission,
    ) -> Result<ProjectScope> {
        let found = found.ok_or(Error::NotFound(Subject::Project))?;
        self.audit.set_project(&found.project, &self.caller.who, found.relation);
        allow(&self.caller.who, found.relation, permission)?;
        team_rate::count(self, found.project.team).await?;
        let plan = self.options().plans.of_team(&found.plan);
        Ok(ProjectScope { project: found.project, plan, relation: found.relation })
    }

    /// Resolves an environment and authorizes the caller, without a lock. Does not check the
    /// inheritance chain.
    pub(super) async fn resolve(
        &mut self,
        path: &EnvironmentPath,
        permission: Permission,
        selection: Selection<'_>,
    ) -> Result<(View, Relation)> {
        let principal = self.caller.principal()?;
        let resolved = self.reads().resolve_environment(path, principal, selection).await?;
        let ResolvedEnvironment { project, plan, relation, key, chain } =
            resolved.ok_or(Error::NotFound(Subject::Project))?;
        self.audit.set_project(&project, &self.caller.who, relation);
        allow(&self.caller.who, relation, Permission::See)?;
        let first = chain.first().ok_or(Error::NotFound(Subject::Environment))?;
        let environment = first.environment.clone();
        self.audit.environment = Some((environment.id, environment.name.to_string()));
        if !first.in_scope {
            return Err(OUT_OF_SCOPE);
        }
        self.allow_in(first, relation, permission)?;
        let may_read = self.allow_in(first, relation, Permission::Read).is_ok();
        let may_write = self.allow_in(first, relation, Permission::Write).is_ok();
        let may_grant = self.allow_in(first, relation, Permission::Grant).is_ok();
        team_rate::count(self, project.team).await?;

        let key = self.keyring().project_key(&key).map_err(Error::internal)?;
        let plan = self.options().plans.of_team(&plan);
        let scope =
            EnvironmentScope { project, plan, environment, may_read, may_write, may_grant, key };
        let otherwise = self.options().member_access;
        let restricted = restricted_ancestors(&self.caller.who, relation, &chain, otherwise);
        Ok((View { scope, chain, restricted }, relation))
    }

    /// Fails unless the caller has this permission in the environment of `link`, which is one element
    /// of an inheritance chain.
    fn allow_in(&self, link: &ChainLink, relation: Relation, permission: Permission) -> Result<()> {
        let otherwise = self.options().member_access;
        allow_in(&self.caller.who, relation, (link.granted, otherwise), permission)
    }
}
