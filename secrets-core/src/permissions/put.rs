//! Setting permissions of members.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::json;

use super::EnvironmentPermission;
use crate::access::EnvironmentScope;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{
    Code, EnvironmentPath, Error, MemberAccess, Permission, Result, Subject, UserId, object,
};
use crate::store::{MemberRecord, PermissionRecord};

/// Maximum number of permissions in one request.
const LIMIT: usize = 100;

/// Access level to set for one member.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewPermission {
    /// Access level to set: `none`, `read`, `write` or `admin`.
    pub role: MemberAccess,
}

/// Access levels to set for several members.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewPermissions {
    /// Users and their access levels: 1 to 100, each user at most once.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100))]
    #[serde(deserialize_with = "object::list")]
    pub permissions: Vec<Granted>,
}

/// A user, and the access level to set for this user.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Granted {
    /// User ID of a member of the team.
    pub user_id: UserId,
    /// Access level to set: `none`, `read`, `write` or `admin`.
    pub role: MemberAccess,
}

/// Sets a member's permission in an environment, replacing any previous one.
#[derive(Debug)]
pub struct PutPermission {
    /// Environment in which the permission is set.
    pub at: EnvironmentPath,
    /// User ID; `None`, treated as an unknown user, if the given string is not a valid ID.
    pub user: Option<UserId>,
    /// Access level to set.
    pub permission: NewPermission,
}

/// Sets the permissions of several members in an environment atomically: either all permissions are
/// set or none.
#[derive(Debug)]
pub struct PutPermissions {
    /// Environment in which the permissions are set.
    pub at: EnvironmentPath,
    /// Users and their access levels.
    pub permissions: NewPermissions,
}

impl Operation for PutPermission {
    const NAME: &'static str = "permission.put";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission.set");
    type Access = Write;
    type Output = EnvironmentPermission;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<EnvironmentPermission> {
        let unknown = || Error::NotFound(Subject::User);
        let scope = cx.locked_environment(&self.at, Permission::Grant, &super::LOCKED).await?;
        let user_id = self.user.ok_or_else(unknown)?;
        let granted = Granted { user_id, role: self.permission.role };
        let permission = grant(cx, &scope, &[granted]).await?.pop().ok_or_else(unknown)?;
        cx.set_resource("permission", permission.id, permission.environment_name.as_str());
        Ok(permission)
    }
}

impl Operation for PutPermissions {
    const NAME: &'static str = "permission.put_all";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission.set");
    type Access = Write;
    type Output = Vec<EnvironmentPermission>;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Vec<EnvironmentPermission>> {
        let scope = cx.locked_environment(&self.at, Permission::Grant, &super::LOCKED).await?;
        let wanted = self.permissions.permissions;
        if wanted.is_empty() || wanted.len() > LIMIT {
            return Err(Error::invalid("permissions", "must be 1 to 100 permissions"));
        }
        let mut people = BTreeSet::new();
        for (place, granted) in wanted.iter().enumerate() {
            if !people.insert(granted.user_id) {
                let field = format!("permissions[{place}].user_id");
                return Err(Error::invalid(field, "must be given once"));
            }
        }
        grant(cx, &scope, &wanted).await
    }
}

/// Sets the access levels of several users in an environment. Fails if the caller is one of these
/// users, or if one of them is an owner or admin of the team: owners and admins always have full
/// access.
async fn grant(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    wanted: &[Granted],
) -> Result<Vec<EnvironmentPermission>> {
    let caller = cx.caller.person()?.id;
    if wanted.iter().any(|granted| granted.user_id == caller) {
        return Err(super::delete::NOT_ONES_OWN);
    }
    let members = members(cx, scope).await?;
    let mut permissions = Vec::new();
    let mut details = Vec::new();
    for granted in wanted {
        let member = members.get(&granted.user_id).ok_or(Error::NotFound(Subject::User))?;
        if member.role.manages() {
            return Err(Error::Refused {
                code: Code::InvalidRequest,
                reason: "team owners and admins always have full access".into(),
            });
        }
        let mut record = PermissionRecord {
            environment: scope.environment.id,
            user: member.user,
            team: scope.project.team,
            access: granted.role,
            granted_by: Some(caller.uuid()),
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        record.created_at = cx.tx().put_permission(&record).await?;
        let person = (member.user, member.email.as_str(), member.name.as_str());
        let access = record.access;
        permissions.push(EnvironmentPermission::new(
            &scope.environment,
            person,
            access,
            Some(&record),
        ));
        details.push(json!({ "user_id": member.user, "role": access }));
    }
    cx.add_detail("permissions", details);
    Ok(permissions)
}

/// Loads the members of the team that owns the project.
async fn members(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
) -> Result<HashMap<UserId, MemberRecord>> {
    let members = cx.reads().members(&[scope.project.team]).await?;
    Ok(members.into_iter().map(|member| (member.user, member)).collect())
}
