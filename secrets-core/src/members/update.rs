//! Changing a member's role.

use serde::Deserialize;

use super::{OWNERS_ONLY, ensure_owner_remains, member, revoke_pending};
use crate::access::{NOT_A_MEMBER, check_role_approval};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Permission, Result, Role, Subject, TeamId, UserId};
use crate::store::MemberRecord;
use crate::teams::TeamMember;

/// Change of a team member.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberChange {
    /// New role of the member.
    pub role: Role,
}

/// Changes a member's role. Only owners can make a member an owner, or change an owner's role. A
/// command-line session may make a member an admin or owner only in its first 15 minutes.
#[derive(Debug)]
pub struct UpdateMember {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
    /// User ID; `None`, treated as an unknown user, if the given string is not a valid ID.
    pub user: Option<UserId>,
    /// Change of the member's role.
    pub change: MemberChange,
}

impl Operation for UpdateMember {
    const NAME: &'static str = "member.update";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("member.role_changed");
    type Access = Write;
    type Output = TeamMember;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<TeamMember> {
        let team = self.team.ok_or(NOT_A_MEMBER)?;
        let scope = cx.locked_team(team, Permission::Manage, NOT_A_MEMBER).await?;
        let members = cx.reads().members(&[team]).await?;
        let member = member(&members, self.user)?;
        let role = self.change.role;
        if scope.role != Role::Owner && [member.role, role].contains(&Role::Owner) {
            return Err(OWNERS_ONLY);
        }
        if role.manages() && role > member.role {
            check_role_approval(cx.caller.as_person()?, cx.now())?;
        }
        if role != Role::Owner {
            ensure_owner_remains(&members, member)?;
        }

        let changed = MemberRecord { role, updated_at: cx.now(), ..member.clone() };
        cx.tx().update_member(&changed).await.map_err(|error| error.or_not_found(Subject::User))?;
        if role == Role::Member {
            let revoked = revoke_pending(cx, team, member.user).await?;
            if revoked > 0 {
                cx.add_detail("invitations_revoked", revoked);
            }
        }
        cx.set_resource("member", member.user.uuid(), member.email.as_str());
        cx.add_detail("role", role.as_str());
        cx.add_detail("previous_role", member.role.as_str());
        Ok(changed.into())
    }
}
