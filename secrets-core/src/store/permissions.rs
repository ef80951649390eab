//! Permissions: the access levels that members have in environments.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::model::{EnvironmentId, MemberAccess, ProjectId, TeamId, Time, UserId};

/// Access level granted to a member in an environment. The record is deleted with the environment
/// and with the membership, so a user who leaves a team and joins again has no old permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRecord {
    /// Environment ID.
    pub environment: EnvironmentId,
    /// User ID.
    pub user: UserId,
    /// ID of the team that owns the environment. The user is a member of this team.
    pub team: TeamId,
    /// Granted access level.
    pub access: MemberAccess,
    /// ID of the user who last set the permission.
    pub granted_by: Option<Uuid>,
    /// Time at which the permission was first set.
    pub created_at: Time,
    /// Time at which the permission was last set.
    pub updated_at: Time,
}

/// Default access level of team members in all environments of a project. Applies to members
/// without a permission of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionDefault {
    /// Project ID.
    pub project: ProjectId,
    /// Default access level.
    pub access: MemberAccess,
    /// ID of the user who set the default access level.
    pub set_by: Option<Uuid>,
    /// Time at which the default access level was last set.
    pub updated_at: Time,
}

/// Default access level of team members in one environment, which takes precedence over the default
/// of the project. The record is deleted with the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentDefault {
    /// Environment ID.
    pub environment: EnvironmentId,
    /// Default access level.
    pub access: MemberAccess,
    /// ID of the user who set the default access level.
    pub set_by: Option<Uuid>,
    /// Time at which the default access level was set.
    pub created_at: Time,
}

/// Read access to permissions.
#[async_trait]
pub trait PermissionReads: Send {
    /// Lists the permissions set in an environment, oldest first.
    async fn permissions(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<PermissionRecord>>;

    /// Lists the permissions set for a user in the environments of a project, ordered by
    /// environment.
    async fn permissions_of(
        &mut self,
        project: ProjectId,
        user: UserId,
    ) -> StoreResult<Vec<PermissionRecord>>;

    /// Returns the default access level of a project; `None` if none is set.
    async fn permission_default(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Option<PermissionDefault>>;

    /// Lists the default access levels that are set for single environments of a project, ordered
    /// by environment.
    async fn environment_defaults(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Vec<EnvironmentDefault>>;
}

/// Write access to permissions.
#[async_trait]
pub trait PermissionWrites: Send {
    /// Sets a member's permission in an environment, replacing an existing permission. A replaced
    /// permission keeps its creation time. Returns the stored creation time.
    async fn put_permission(&mut self, permission: &PermissionRecord) -> StoreResult<Time>;

    /// Deletes the permission of a member in an environment. Fails with `Stale` if the permission
    /// does not exist.
    async fn delete_permission(
        &mut self,
        environment: EnvironmentId,
        user: UserId,
    ) -> StoreResult<()>;

    /// Sets the default access level of a project, replacing an existing default.
    async fn put_permission_default(&mut self, default: &PermissionDefault) -> StoreResult<()>;

    /// Deletes the default access level of a project. Fails with `Stale` if the project has none.
    async fn delete_permission_default(&mut self, project: ProjectId) -> StoreResult<()>;

    /// Sets the default access level of an environment that has no default yet.
    async fn insert_environment_default(&mut self, default: &EnvironmentDefault)
    -> StoreResult<()>;

    /// Deletes the default access levels of all single environments of a project.
    async fn delete_environment_defaults(&mut self, project: ProjectId) -> StoreResult<()>;
}
