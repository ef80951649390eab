//! Permissions: the access that members have to environments.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::model::{EnvironmentId, MemberAccess, ProjectId, TeamId, Time, UserId};

/// The access granted to a member in an environment. Deleted with the environment and with the
/// membership: a user who leaves a team and joins again has no old permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRecord {
    /// Environment ID.
    pub environment: EnvironmentId,
    /// User ID.
    pub user: UserId,
    /// Team of the environment, which the user is a member of.
    pub team: TeamId,
    /// Granted access.
    pub access: MemberAccess,
    /// ID of the user who last set the permission.
    pub granted_by: Option<Uuid>,
    /// Time at which the permission was first set.
    pub created_at: Time,
    /// Time at which the permission was last set.
    pub updated_at: Time,
}

/// The default access of team members in a project's environments. It applies to members without a
/// permission of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionDefault {
    /// Project ID.
    pub project: ProjectId,
    /// Default access.
    pub access: MemberAccess,
    /// ID of the user who set the default.
    pub set_by: Option<Uuid>,
    /// Time at which the default was last set.
    pub updated_at: Time,
}

/// The default access of team members in one environment, which takes precedence over the default
/// of its project. Deleted with the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentDefault {
    /// Environment ID.
    pub environment: EnvironmentId,
    /// Default access.
    pub access: MemberAccess,
    /// ID of the user who set the default.
    pub set_by: Option<Uuid>,
    /// Time at which the default was set.
    pub created_at: Time,
}

/// Read access to permissions.
#[async_trait]
pub trait PermissionReads: Send {
    /// Lists the permissions in an environment, oldest first.
    async fn permissions(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<PermissionRecord>>;

    /// Lists the permissions of a user in a project, ordered by environment.
    async fn permissions_of(
        &mut self,
        project: ProjectId,
        user: UserId,
    ) -> StoreResult<Vec<PermissionRecord>>;

    /// Returns the default access of a project.
    async fn permission_default(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Option<PermissionDefault>>;

    /// Lists the default access of a project's environments, ordered by environment.
    async fn environment_defaults(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Vec<EnvironmentDefault>>;
}

/// Write access to permissions.
#[async_trait]
pub trait PermissionWrites: Send {
    /// Sets a member's permission in an environment, replacing an existing permission. Keeps the
    /// creation time of the replaced permission, and returns the stored creation time.
    async fn put_permission(&mut self, permission: &PermissionRecord) -> StoreResult<Time>;

    /// Deletes a permission. Fails with `Stale` if it does not exist.
    async fn delete_permission(
        &mut self,
        environment: EnvironmentId,
        user: UserId,
    ) -> StoreResult<()>;

    /// Sets the default access of a project, replacing an existing default.
    async fn put_permission_default(&mut self, default: &PermissionDefault) -> StoreResult<()>;

    /// Deletes the default access of a project. Fails with `Stale` if the project has none.
    async fn delete_permission_default(&mut self, project: ProjectId) -> StoreResult<()>;

    /// Sets the default access of an environment that has none.
    async fn insert_environment_default(&mut self, default: &EnvironmentDefault)
    -> StoreResult<()>;

    /// Deletes the default access of all environments of a project.
    async fn delete_environment_defaults(&mut self, project: ProjectId) -> StoreResult<()>;
}
