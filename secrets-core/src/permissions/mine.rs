//! What the caller may do.

use std::collections::HashMap;

use serde::Serialize;

use super::EnvironmentPermission;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{MemberAccess, Permission, ProjectRef, Result, Role};
use crate::store::Standing;

/// What the caller may do in each environment of a project.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MyPermissions {
    /// One for each environment, in their order.
    pub permissions: Vec<EnvironmentPermission>,
    /// Whether the caller is an owner or admin of the team, and so may everything.
    pub is_team_admin: bool,
}

/// Tells what the caller may do in each environment of a project, whoever said it.
#[derive(Debug)]
pub struct GetMyPermissions {
    /// In which project.
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
        let role = match scope.standing {
            Standing::Member(role) => role,
            Standing::Stranger | Standing::Token => Role::Member,
        };
        let (principal, project) = (cx.caller.principal()?, scope.project.id);
        let user = cx.caller.person()?;
        let said = cx.reads().permissions_of(project, user.id).await?;
        let said: HashMap<_, _> = said.into_iter().map(|said| (said.environment, said)).collect();
        let of_all = cx.reads().permission_default(project).await?.map(|of_all| of_all.access);
        let otherwise = of_all.unwrap_or(cx.options().member_access);
        let environments = cx.reads().environments(project, principal).await?;
        let permissions = environments.iter().map(|environment| {
            let said = said.get(&environment.id);
            let access = MemberAccess::of(role, said.map(|said| said.access), otherwise);
            let caller = (user.id, user.email.as_str(), user.name.as_str());
            EnvironmentPermission::new(environment, caller, access, said)
        });
        Ok(MyPermissions { permissions: permissions.collect(), is_team_admin: role.manages() })
    }
}
