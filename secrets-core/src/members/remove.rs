//! Taking a member out of a team.

use super::{OWNERS_ONLY, keep_an_owner, member};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Error, Permission, Result, Role, Subject, TeamId, UserId};

/// Takes a member out of a team. Anybody may leave; but for the last owner, who cannot.
#[derive(Debug)]
pub struct RemoveMember {
    /// Which team; `None` if what was given is no id and names nothing.
    pub team: Option<TeamId>,
    /// Which member; likewise.
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
        let wanted = if leaves { Permission::See } else { Permission::Manage };
        let scope = cx.held_team(team, wanted, unknown()).await?;
        let members = cx.reads().members(&[team]).await?;
        let member = member(&members, self.user)?;
        if member.role == Role::Owner && scope.role != Role::Owner {
            return Err(OWNERS_ONLY);
        }
        keep_an_owner(&members, member)?;

        let gone = cx.tx().delete_member(team, member.user).await;
        gone.map_err(|error| error.gone(Subject::User))?;
        cx.about("member", member.user.uuid(), member.email.as_str());
        cx.detail("role", member.role.as_str());
        Ok(())
    }
}
