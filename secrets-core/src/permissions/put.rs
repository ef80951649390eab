//! Saying what people may do.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::json;

use super::EnvironmentPermission;
use crate::access::EnvironmentScope;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{
    Code, EnvironmentPath, Error, MemberAccess, Permission, Result, Subject, UserId,
};
use crate::store::{MemberRecord, PermissionRecord};

/// The most people one request speaks of.
const LIMIT: usize = 100;

/// What a person may do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewPermission {
    /// `none`, `read`, `write` or `admin`.
    pub role: MemberAccess,
}

/// What several people may do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewPermissions {
    /// 1 to 100 of them, each person once.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100))]
    pub permissions: Vec<Granted>,
}

/// A person, and what they may do.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Granted {
    /// Who: a member of the team.
    pub user_id: UserId,
    /// What they may do.
    pub role: MemberAccess,
}

/// Says what a member may do in an environment, in place of what was said before.
#[derive(Debug)]
pub struct PutPermission {
    /// In which environment.
    pub at: EnvironmentPath,
    /// Who; `None` if what was given is no id and names nobody.
    pub user: Option<UserId>,
    /// What they may do.
    pub permission: NewPermission,
}

/// Says what several members may do in an environment: of all of them or, if anything is wrong with
/// any, of none.
#[derive(Debug)]
pub struct PutPermissions {
    /// In which environment.
    pub at: EnvironmentPath,
    /// Who, and what they may do.
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
        let scope = cx.environment(&self.at, Permission::Grant).await?;
        let user_id = self.user.ok_or_else(unknown)?;
        let granted = Granted { user_id, role: self.permission.role };
        let said = grant(cx, &scope, &[granted]).await?.pop().ok_or_else(unknown)?;
        cx.about("permission", said.id, said.environment_name.as_str());
        Ok(said)
    }
}

impl Operation for PutPermissions {
    const NAME: &'static str = "permission.put_all";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("permission.set");
    type Access = Write;
    type Output = Vec<EnvironmentPermission>;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Vec<EnvironmentPermission>> {
        let scope = cx.environment(&self.at, Permission::Grant).await?;
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

/// Says it. Nobody says what they may themselves, and nothing can be taken from those who run the
/// team.
async fn grant(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
    wanted: &[Granted],
) -> Result<Vec<EnvironmentPermission>> {
    let caller = cx.caller.person()?.id;
    if wanted.iter().any(|granted| granted.user_id == caller) {
        return Err(super::delete::NOT_ONES_OWN);
    }
    let members = held_members(cx, scope).await?;
    let mut permissions = Vec::new();
    let mut told = Vec::new();
    for granted in wanted {
        let member = members.get(&granted.user_id).ok_or(Error::NotFound(Subject::User))?;
        if member.role.manages() {
            return Err(Error::Refused {
                code: Code::InvalidRequest,
                reason: "an owner or admin of the team may everything".into(),
            });
        }
        let mut said = PermissionRecord {
            environment: scope.environment.id,
            user: member.user,
            team: scope.project.team,
            access: granted.role,
            granted_by: Some(caller.uuid()),
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        said.created_at = cx.tx().put_permission(&said).await?;
        let person = (member.user, member.email.as_str(), member.name.as_str());
        let access = said.access;
        permissions.push(EnvironmentPermission::new(
            &scope.environment,
            person,
            access,
            Some(&said),
        ));
        told.push(json!({ "user_id": member.user, "role": access }));
    }
    cx.detail("permissions", told);
    Ok(permissions)
}

/// The members of the team, who stay until the transaction ends, as the environment does.
async fn held_members(
    cx: &mut Context<'_, Write>,
    scope: &EnvironmentScope,
) -> Result<HashMap<UserId, MemberRecord>> {
    let (team, project) = (scope.project.team, scope.project.id);
    cx.tx().lock_team(team).await.map_err(|error| error.gone(Subject::Project))?;
    cx.tx().lock_project(project).await.map_err(|error| error.gone(Subject::Project))?;
    let principal = cx.caller.principal()?;
    let environments = cx.reads().environments(project, principal).await?;
    if !environments.iter().any(|environment| environment.id == scope.environment.id) {
        return Err(Error::NotFound(Subject::Environment));
    }
    let members = cx.reads().members(&[team]).await?;
    Ok(members.into_iter().map(|member| (member.user, member)).collect())
}
