//! What members may do in a project where nothing is said of them.

use serde::Serialize;
use uuid::Uuid;

use super::NewPermission;
use crate::engine::{Audit, Callers, Context, Operation, Read, Write};
use crate::model::{MemberAccess, Permission, ProjectId, ProjectRef, Result, Subject, Time};
use crate::store::PermissionDefault;

/// What members may do in the environments of a project where nothing is said of them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectPermission {
    /// In which project.
    pub project_id: ProjectId,
    /// What they may do.
    pub role: MemberAccess,
    /// Whether it was said of this project; else it is what the operator chose for all.
    pub is_set: bool,
    /// Who said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_by: Option<Uuid>,
    /// When it was last said.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Time>,
}

/// Tells what members may do in a project where nothing is said of them.
#[derive(Debug)]
pub struct GetPermissionDefault {
    /// In which project.
    pub project: ProjectRef,
}

/// Says what members may do in a project where nothing is said of them.
#[derive(Debug)]
pub struct PutPermissionDefault {
    /// In which project.
    pub project: ProjectRef,
    /// What they may do.
    pub permission: NewPermission,
}

/// Takes back what was said of a project: what the operator chose for all holds again.
#[derive(Debug)]
pub struct DeletePermissionDefault {
    /// In which project.
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
        let said = cx.reads().permission_default(project_id).await?;
        let otherwise = cx.options().member_access;
        Ok(said.map_or_else(
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
        let project = cx.project(&self.project, Permission::Manage).await?.project;
        let said = PermissionDefault {
            project: project.id,
            access: self.permission.role,
            set_by: cx.caller.actor(),
            updated_at: cx.now(),
        };
        cx.tx().lock_project(project.id).await.map_err(|error| error.gone(Subject::Project))?;
        cx.tx().put_permission_default(&said).await?;
        cx.about("permission_defaults", project.id.uuid(), project.name.as_str());
        cx.detail("role", said.access.as_str());
        Ok(said.into())
    }
}

impl Operation for DeletePermissionDefault {
    const NAME: &'static str = "permission_defaults.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission_defaults.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let project = cx.project(&self.project, Permission::Manage).await?.project;
        cx.tx()
            .delete_permission_default(project.id)
            .await
            .map_err(|error| error.gone(Subject::Permission))?;
        cx.about("permission_defaults", project.id.uuid(), project.name.as_str());
        Ok(())
    }
}

impl From<PermissionDefault> for ProjectPermission {
    fn from(said: PermissionDefault) -> Self {
        Self {
            project_id: said.project,
            role: said.access,
            is_set: true,
            set_by: said.set_by,
            updated_at: Some(said.updated_at),
        }
    }
}
