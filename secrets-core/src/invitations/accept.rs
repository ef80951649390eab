//! Accepting an invitation.

use super::UNKNOWN;
use super::invitation_of_caller;
use crate::crypto::InvitationToken;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Result, Subject};
use crate::store::{MemberRecord, StoreError};
use crate::teams::Team;

/// Accepts the pending invitation with this token if it is addressed to the caller. A token can be
/// used once. If the caller is already a member of the team, their membership does not change.
#[derive(Debug)]
pub struct AcceptInvitation {
    /// Invitation token.
    pub token: InvitationToken,
}

impl Operation for AcceptInvitation {
    const NAME: &'static str = "invitation.accept";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("invitation.accepted");
    type Access = Write;
    type Output = Team;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Team> {
        let invitation = invitation_of_caller(cx, &self.token).await?;
        // Lock the user, so that a concurrent account deletion cannot leave a membership behind.
        let person = cx.caller.person()?.clone();
        cx.tx().lock_user(person.id).await.map_err(|error| error.or_not_found(Subject::User))?;
        let held = cx.tx().lock_team(invitation.team).await;
        held.map_err(|error| error.or_not_found(Subject::Invitation))?;
        // Only the caller that deletes the invitation has accepted it; concurrent callers fail.
        let used = cx.tx().delete_invitation(&invitation).await;
        used.map_err(|error| error.or_not_found(Subject::Invitation))?;
        let member = MemberRecord::new(invitation.team, &person, invitation.role, cx.now());
        match cx.tx().insert_member(&member).await {
            Ok(()) | Err(StoreError::Duplicate(_)) => {}
            Err(error) => return Err(error.into()),
        }

        let team = cx.reads().team(invitation.team).await?.ok_or(UNKNOWN)?;
        cx.audit.team = Some(team.id);
        cx.set_resource("invitation", invitation.id.uuid(), invitation.email.as_str());
        cx.add_detail("role", invitation.role.as_str());
        Ok(team.into())
    }
}
