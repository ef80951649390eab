//! What people may do in environments, where somebody said it.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::model::{EnvironmentId, MemberAccess, ProjectId, TeamId, Time, UserId};

/// What a member may do in an environment. It ends with the environment and with the membership: who
/// leaves a team and comes back has no old rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRecord {
    /// In which environment.
    pub environment: EnvironmentId,
    /// Who.
    pub user: UserId,
    /// The environment's team, of which they are a member.
    pub team: TeamId,
    /// What they may do.
    pub access: MemberAccess,
    /// Who said so.
    pub granted_by: Option<Uuid>,
    /// When something was first said.
    pub created_at: Time,
    /// When it was last said.
    pub updated_at: Time,
}

/// What the members of a project's team may do in its environments, where nothing is said of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionDefault {
    /// In which project.
    pub project: ProjectId,
    /// What they may do.
    pub access: MemberAccess,
    /// Who said so.
    pub set_by: Option<Uuid>,
    /// When it was last said.
    pub updated_at: Time,
}

/// Reading permissions.
#[async_trait]
pub trait PermissionReads: Send {
    /// What is said of an environment, oldest first.
    async fn permissions(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<PermissionRecord>>;

    /// What is said of a person in the environments of a project, by environment.
    async fn permissions_of(
        &mut self,
        project: ProjectId,
        user: UserId,
    ) -> StoreResult<Vec<PermissionRecord>>;

    /// What is said of a project.
    async fn permission_default(
        &mut self,
        project: ProjectId,
    ) -> StoreResult<Option<PermissionDefault>>;
}

/// Writing permissions.
#[async_trait]
pub trait PermissionWrites: Send {
    /// Says what a member may do, in place of what was said; the moment of the first time stays, and
    /// is given.
    async fn put_permission(&mut self, permission: &PermissionRecord) -> StoreResult<Time>;

    /// Takes back what was said. Fails with `Stale` if nothing was.
    async fn delete_permission(
        &mut self,
        environment: EnvironmentId,
        user: UserId,
    ) -> StoreResult<()>;

    /// Says what members may do, in place of what was said.
    async fn put_permission_default(&mut self, default: &PermissionDefault) -> StoreResult<()>;

    /// Takes back what was said. Fails with `Stale` if nothing was.
    async fn delete_permission_default(&mut self, project: ProjectId) -> StoreResult<()>;
}
