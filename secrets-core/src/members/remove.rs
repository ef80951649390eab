//! Removing a member from a team.

use super::{OWNERS_ONLY, ensure_owner_remains, member, revoke_pending};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Error, Permission, Result, Role, Subject, TeamId, UserId};

/// Removes a member from a team. Members may also remove themselves. The last owner cannot be
/// removed.
#[derive(Debug)]
pub struct RemoveMember {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
    /// User ID; `None`, treated as an unknown user, if the given string is not a valid ID.
    pub user: Option<UserId>,
}

impl Operation for RemoveMember {
    const NAME: &'static str = "member.remove";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("member.removed");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let unknown = || Error::NotFound(Subject::Team);
        let team = self.team.ok_or_else(unknown)?;
        let leaves = self.user == Some(cx.caller.person()?.id);
        let permission = if leaves { Permission::See } else { Permission::Manage };
        let scope = cx.locked_team(team, permission, unknown()).await?;
        let members = cx.reads().members(&[team]).await?;
        let member = member(&members, self.user)?;
        if member.role == Role::Owner && scope.role != Role::Owner {
            return Err(OWNERS_ONLY);
        }
        ensure_owner_remains(&members, member)?;

        let gone = cx.tx().delete_member(team, member.user).await;
        gone.map_err(|error| error.or_not_found(Subject::User))?;
        let revoked = revoke_pending(cx, team, member.user).await?;
        cx.set_resource("member", member.user.uuid(), member.email.as_str());
        cx.add_detail("role", member.role.as_str());
        if revoked > 0 {
            cx.add_detail("invitations_revoked", revoked);
        }
        Ok(())
    }
}
