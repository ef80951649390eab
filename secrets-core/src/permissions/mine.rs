//! Reading the caller's own permissions.

use std::collections::HashMap;

use serde::Serialize;

use super::EnvironmentPermission;
use crate::engine::{Audit, Callers, Context, Operation, Read, Who};
use crate::model::{MemberAccess, Permission, ProjectId, ProjectRef, Result, Role};
use crate::store::{EnvironmentRecord, Relation, TokenRecord};

/// Caller's access to each environment of a project.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MyPermissions {
    /// Caller's access to each environment, in display order.
    pub permissions: Vec<EnvironmentPermission>,
    /// True if the caller is an owner or admin of the team, and so has full access. Always false
    /// for service tokens.
    pub is_team_admin: bool,
}

/// Reads the caller's effective permission for each environment of a project. A user's permission
/// depends on the team role, on the permissions set for the user and on the defaults; a service
/// token's permissions are part of the token.
#[derive(Debug)]
pub struct GetMyPermissions {
    /// Project ID or slug.
    pub project: ProjectRef,
}

impl Operation for GetMyPermissions {
    const NAME: &'static str = "permission.mine";
    const CALLERS: Callers = Callers::Authenticated;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = MyPermissions;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<MyPermissions> {
        let scope = cx.project(&self.project, Permission::See).await?;
        let (principal, project) = (cx.caller.principal()?, scope.project.id);
        let environments = cx.reads().environments(project, principal).await?;
        if let Who::Token(token) = &cx.caller.who {
            let permissions = environments.iter().map(|environment| of_token(environment, token));
            return Ok(MyPermissions { permissions: permissions.collect(), is_team_admin: false });
        }
        let role = match scope.relation {
            Relation::Member(role) => role,
            Relation::None | Relation::Token => Role::Member,
        };
        let permissions = of_member(cx, project, role, &environments).await?;
        Ok(MyPermissions { permissions, is_team_admin: role.manages() })
    }
}

/// Returns the effective permissions of the caller, who is a member of the team, in each
/// environment.
async fn of_member(
    cx: &mut Context<'_, Read>,
    project: ProjectId,
    role: Role,
    environments: &[EnvironmentRecord],
) -> Result<Vec<EnvironmentPermission>> {
    let user = cx.caller.person()?;
    let records = cx.reads().permissions_of(project, user.id).await?;
    let records: HashMap<_, _> =
        records.into_iter().map(|record| (record.environment, record)).collect();
    let defaults = cx.reads().environment_defaults(project).await?;
    let defaults: HashMap<_, _> =
        defaults.into_iter().map(|default| (default.environment, default.access)).collect();
    let of_all = cx.reads().permission_default(project).await?.map(|of_all| of_all.access);
    let of_all = of_all.unwrap_or(cx.options().member_access);
    let permissions = environments.iter().map(|environment| {
        let record = records.get(&environment.id);
        let otherwise = defaults.get(&environment.id).copied().unwrap_or(of_all);
        let access = MemberAccess::of(role, record.map(|record| record.access), otherwise);
        let caller = (user.id, user.email.as_str(), user.name.as_str());
        EnvironmentPermission::new(environment, caller, access, record)
    });
    Ok(permissions.collect())
}

/// Returns the permission of the caller, which is a service token, in an environment that is in the
/// token's scope.
fn of_token(environment: &EnvironmentRecord, token: &TokenRecord) -> EnvironmentPermission {
    let access = match (token.can_read, token.can_write) {
        (_, true) => MemberAccess::Write,
        (true, false) => MemberAccess::Read,
        (false, false) => MemberAccess::None,
    };
    let caller = (token.id.uuid().into(), "", token.name.as_str());
    let permission = EnvironmentPermission::new(environment, caller, access, None);
    // Write permission of a token does not include read permission.
    EnvironmentPermission { can_read: token.can_read, ..permission }
}
