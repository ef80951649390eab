//! Revoking an invitation.

use super::invitation_of_team;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Error, InvitationId, Permission, Result, Subject, TeamId};

/// Revokes a pending invitation, so that it can no longer be accepted.
#[derive(Debug)]
pub struct RevokeInvitation {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
    /// Invitation ID; `None`, treated as an unknown invitation, if the given string is not a valid
    /// ID.
    pub invitation: Option<InvitationId>,
}

impl Operation for RevokeInvitation {
    const NAME: &'static str = "invitation.revoke";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("invitation.revoked");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let unknown = || Error::NotFound(Subject::Team);
        let team = self.team.ok_or_else(unknown)?;
        cx.locked_team(team, Permission::Manage, unknown()).await?;
        let invitation = invitation_of_team(cx, team, self.invitation).await?;
        let deleted = cx.tx().delete_invitation(&invitation).await;
        deleted.map_err(|error| error.or_not_found(Subject::Invitation))?;
        cx.set_resource("invitation", invitation.id.uuid(), invitation.email.as_str());
        Ok(())
    }
}
