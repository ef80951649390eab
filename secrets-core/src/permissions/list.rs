//! Listing the permissions that are set in an environment.

use std::collections::HashMap;

use super::EnvironmentPermission;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, MemberAccess, Permission, Result};

/// Lists the permissions that are set for members in an environment, oldest first.
#[derive(Debug)]
pub struct ListPermissions {
    /// Environment whose permissions are listed.
    pub at: EnvironmentPath,
}

impl Operation for ListPermissions {
    const NAME: &'static str = "permission.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<EnvironmentPermission>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<EnvironmentPermission>> {
        let scope = cx.environment(&self.at, Permission::Grant).await?;
        let records = cx.reads().permissions(scope.environment.id).await?;
        let members = cx.reads().members(&[scope.project.team]).await?;
        let members: HashMap<_, _> = members.iter().map(|member| (member.user, member)).collect();
        let otherwise = cx.options().member_access;
        let permissions = records.iter().filter_map(|record| {
            let member = members.get(&record.user)?;
            // A user who was made an admin of the team since then has full access.
            let access = MemberAccess::of(member.role, Some(record.access), otherwise);
            let person = (member.user, member.email.as_str(), member.name.as_str());
            Some(EnvironmentPermission::new(&scope.environment, person, access, Some(record)))
        });
        Ok(permissions.collect())
    }
}
