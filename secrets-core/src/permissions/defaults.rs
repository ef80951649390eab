//! Default permissions of a project, for members without a permission of their own.

use serde::Serialize;
use uuid::Uuid;

use super::NewPermission;
use crate::engine::{Audit, Callers, Context, Operation, Read, Write};
use crate::model::{MemberAccess, Permission, ProjectId, ProjectRef, Result, Subject, Time};
use crate::store::PermissionDefault;

/// Access of team members to the environments of a project for which they have no permission of
/// their own.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectPermission {
    /// Project ID.
    pub project_id: ProjectId,
    /// Default access level.
    pub role: MemberAccess,
    /// True if the default is set on this project; false if it is the default of the instance.
    pub is_set: bool,
    /// ID of the user who set the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_by: Option<Uuid>,
    /// Time the default was last set.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Time>,
}

/// Reads the default permission of a project.
#[derive(Debug)]
pub struct GetPermissionDefault {
    /// Project ID or slug.
    pub project: ProjectRef,
}

/// Sets the default permission of a project, for members without a permission of their own.
#[derive(Debug)]
pub struct PutPermissionDefault {
    /// Project ID or slug.
    pub project: ProjectRef,
    /// Default access level.
    pub permission: NewPermission,
}

/// Removes the default permission of a project. The default of the instance applies again.
#[derive(Debug)]
pub struct DeletePermissionDefault {
    /// Project ID or slug.
    pub project: ProjectRef,
}

impl Operation for GetPermissionDefault {
    const NAME: &'static str = "permission_defaults.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = ProjectPermission;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<ProjectPermission> {
        let project_id = cx.project(&self.project, Permission::See).await?.project.id;
        let record = cx.reads().permission_default(project_id).await?;
        let otherwise = cx.options().member_access;
        Ok(record.map_or_else(
            || ProjectPermission {
                project_id,
                role: otherwise,
                is_set: false,
                set_by: None,
                updated_at: None,
            },
            Into::into,
        ))
    }
}

impl Operation for PutPermissionDefault {
    const NAME: &'static str = "permission_defaults.put";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission_defaults.set");
    type Access = Write;
    type Output = ProjectPermission;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<ProjectPermission> {
        let project = cx.locked_project(&self.project, Permission::Manage).await?.project;
        let record = PermissionDefault {
            project: project.id,
            access: self.permission.role,
            set_by: cx.caller.actor(),
            updated_at: cx.now(),
        };
        cx.tx().put_permission_default(&record).await?;
        cx.set_resource("permission_defaults", project.id.uuid(), project.name.as_str());
        cx.add_detail("role", record.access.as_str());
        Ok(record.into())
    }
}

impl Operation for DeletePermissionDefault {
    const NAME: &'static str = "permission_defaults.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission_defaults.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let project = cx.locked_project(&self.project, Permission::Manage).await?.project;
        cx.tx()
            .delete_permission_default(project.id)
            .await
            .map_err(|error| error.or_not_found(Subject::Permission))?;
        cx.set_resource("permission_defaults", project.id.uuid(), project.name.as_str());
        Ok(())
    }
}

impl From<PermissionDefault> for ProjectPermission {
    fn from(record: PermissionDefault) -> Self {
        Self {
            project_id: record.project,
            role: record.access,
            is_set: true,
            set_by: record.set_by,
            updated_at: Some(record.updated_at),
        }
    }
}
