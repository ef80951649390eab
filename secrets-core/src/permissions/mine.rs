//! Permissions of the caller.

use std::collections::HashMap;

use serde::Serialize;

use super::EnvironmentPermission;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{MemberAccess, Permission, ProjectRef, Result, Role};
use crate::store::Relation;

/// The caller's access to each environment of a project.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MyPermissions {
    /// Permission for each environment, in display order.
    pub permissions: Vec<EnvironmentPermission>,
    /// True if the caller is an owner or admin of the team, and so has full access.
    pub is_team_admin: bool,
}

/// Reads the caller's effective permission for each environment of a project, from all sources:
/// their role, their own permissions and the defaults.
#[derive(Debug)]
pub struct GetMyPermissions {
    /// Project ID or slug.
    pub project: ProjectRef,
}

impl Operation for GetMyPermissions {
    const NAME: &'static str = "permission.mine";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = MyPermissions;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<MyPermissions> {
        let scope = cx.project(&self.project, Permission::See).await?;
        let role = match scope.relation {
            Relation::Member(role) => role,
            Relation::None | Relation::Token => Role::Member,
        };
        let (principal, project) = (cx.caller.principal()?, scope.project.id);
        let user = cx.caller.person()?;
        let records = cx.reads().permissions_of(project, user.id).await?;
        let records: HashMap<_, _> =
            records.into_iter().map(|record| (record.environment, record)).collect();
        let of_all = cx.reads().permission_default(project).await?.map(|of_all| of_all.access);
        let otherwise = of_all.unwrap_or(cx.options().member_access);
        let environments = cx.reads().environments(project, principal).await?;
        let permissions = environments.iter().map(|environment| {
            let record = records.get(&environment.id);
            let access = MemberAccess::of(role, record.map(|record| record.access), otherwise);
            let caller = (user.id, user.email.as_str(), user.name.as_str());
            EnvironmentPermission::new(environment, caller, access, record)
        });
        Ok(MyPermissions { permissions: permissions.collect(), is_team_admin: role.manages() })
    }
}
