use std::sync::Arc;

use async_trait::async_trait;

use super::state::{State, owned, refers};
use super::{Pending, Session, Snapshot};
use crate::model::{EnvironmentId, MemberAccess, Principal, ProjectId, Subject, Time, UserId};
use crate::store::{
    EnvironmentDefault, EnvironmentRecord, PermissionDefault, PermissionReads, PermissionRecord,
    PermissionWrites, StoreError, StoreResult,
};

#[async_trait]
impl<S: Snapshot> PermissionReads for Session<S> {
    async fn permissions(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<PermissionRecord>> {
        let state = self.state();
        let stored = state.permissions.values().filter(|stored| stored.environment == environment);
        let mut permissions: Vec<_> = stored.map(owned).collect();
        permissions.sort_by_key(|permission| (permission.created_at, permission.user));
        Ok(permissions)
    }

    async fn permissions_of(
        &mut self,
        project: ProjectId,
        user: UserId,
    ) -> StoreResult<Vec<PermissionRecord>> {
        let state = self.state();
        let is_in_project = |stored: &PermissionRecord| {
            let environment = state.environments.get(&stored.environment);
            environment.is_some_and(|environment| environment.project == project)
        };
        let stored = state.permissions.values().filter(|stored| stored.user == user);
        Ok(stored.filter(|stored| is_in_project(stored)).map(owned).collect())
    }

    async fn permission_default(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Option<PermissionDefault>> {
        Ok(self.state().permission_defaults.get(&project).map(owned))
    }

    async fn environment_defaults(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Vec<EnvironmentDefault>> {
        let state = self.state();
        let stored = state.environment_defaults.values();
        Ok(stored.filter(|stored| state.is_of(stored, project)).map(owned).collect())
    }
}

#[async_trait]
impl PermissionWrites for Session<Pending> {
    async fn put_permission(&mut self, permission: &PermissionRecord) -> StoreResult<Time> {
        let state = self.state_mut();
        refers(state.environments.contains_key(&permission.environment), "environment")?;
        refers(state.members.contains_key(&(permission.team, permission.user)), "member")?;
        let key = (permission.environment, permission.user);
        let first = state.permissions.get(&key).map(|stored| stored.created_at);
        let created_at = first.unwrap_or(permission.created_at);
        let stored = PermissionRecord { created_at, ..permission.clone() };
        state.permissions.insert(key, stored.into());
        Ok(created_at)
    }

    async fn delete_permission(
        &mut self,
        environment: EnvironmentId,
        user: UserId,
    ) -> StoreResult<()> {
        let stored = self.state_mut().permissions.remove(&(environment, user));
        stored.map(drop).ok_or(NOT_FOUND)
    }

    async fn put_permission_default(&mut self, default: &PermissionDefault) -> StoreResult<()> {
        let state = self.state_mut();
        refers(state.project_keys.contains_key(&default.project), "project")?;
        state.permission_defaults.insert(default.project, default.clone().into());
        Ok(())
    }

    async fn delete_permission_default(&mut self, project: ProjectId) -> StoreResult<()> {
        self.state_mut().permission_defaults.remove(&project).map(drop).ok_or(NOT_FOUND)
    }

    async fn insert_environment_default(
        &mut self,
        default: &EnvironmentDefault,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        refers(state.environments.contains_key(&default.environment), "environment")?;
        if state.environment_defaults.contains_key(&default.environment) {
            return Err(StoreError::Duplicate(Subject::Permission));
        }
        state.environment_defaults.insert(default.environment, default.clone().into());
        Ok(())
    }

    async fn delete_environment_defaults(&mut self, project: ProjectId) -> StoreResult<()> {
        let state = self.state_mut();
        let stored = state.environment_defaults.values();
        let of_project = stored.filter(|stored| state.is_of(stored, project));
        let environments: Vec<_> = of_project.map(|stored| stored.environment).collect();
        for environment in environments {
            state.environment_defaults.remove(&environment);
        }
        Ok(())
    }
}

const NOT_FOUND: StoreError = StoreError::Stale(Subject::Permission);

impl State {
    /// True if the default permission applies to an environment of this project.
    fn is_of(&self, default: &EnvironmentDefault, project: ProjectId) -> bool {
        let environment = self.environments.get(&default.environment);
        environment.is_some_and(|environment| environment.project == project)
    }

    /// Returns the access level granted to a user in an environment, or else the default access
    /// level of the environment or of its project. `None` for service tokens, and if no level is
    /// set.
    pub(super) fn granted(
        &self,
        environment: &EnvironmentRecord,
        principal: Principal,
    ) -> Option<MemberAccess> {
        let Principal::User(user) = principal else { return None };
        let own = self.permissions.get(&(environment.id, user)).map(|stored| stored.access);
        let of_environment =
            || self.environment_defaults.get(&environment.id).map(|stored| stored.access);
        let of_all =
            || self.permission_defaults.get(&environment.project).map(|stored| stored.access);
        own.or_else(of_environment).or_else(of_all)
    }

    /// Deletes all permissions for which `is_this` returns true.
    pub(super) fn forget_permissions(&mut self, is_this: impl Fn(&PermissionRecord) -> bool) {
        let others = self.permissions.iter().filter(|(_, permission)| !is_this(permission));
        self.permissions = others.map(|(key, permission)| (*key, Arc::clone(permission))).collect();
    }
}
