//! Accepting an invitation.

use super::UNKNOWN;
use super::invitation_of_caller;
use crate::crypto::InvitationToken;
use crate::engine::{Audit, Callers, Context, Lock, Operation, Write};
use crate::model::{Result, Subject};
use crate::store::{MemberRecord, StoreError};
use crate::teams::{Team, check_memberships};

/// Accepts the pending invitation with this token if it is addressed to the caller. A token can be
/// used once. If the caller is already a member of the team, their membership does not change. A
/// user can be a member of at most 250 teams.
#[derive(Debug)]
pub struct AcceptInvitation {
    /// Token of the invitation.
    pub token: InvitationToken,
}

impl Operation for AcceptInvitation {
    const NAME: &'static str = "invitation.accept";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("invitation.accepted");
    type Access = Write;
    type Output = Team;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Team> {
        let person = cx.caller.person()?.clone();
        let team = invitation_of_caller(cx, &self.token).await?.team;
        // Lock the user, so that a concurrent account deletion cannot leave a membership behind.
        let held = cx.lock(Lock::User(person.id)).await;
        held.map_err(|error| error.or_not_found(Subject::User))?;
        let held = cx.lock(Lock::Team(team)).await;
        held.map_err(|error| error.or_not_found(Subject::Invitation))?;
        let invitation = invitation_of_caller(cx, &self.token).await?;
        let used = cx.tx().delete_invitation(&invitation).await;
        used.map_err(|error| error.or_not_found(Subject::Invitation))?;
        let member = MemberRecord::new(team, &person, invitation.role, cx.now());
        let role = match cx.tx().insert_member(&member).await {
            Ok(()) => {
                check_memberships(cx, person.id).await?;
                invitation.role
            }
            // The role of the earlier membership stays.
            Err(StoreError::Duplicate(_)) => {
                let members = cx.reads().members(&[team]).await?;
                let known = members.iter().find(|known| known.user == person.id);
                known.map_or(invitation.role, |known| known.role)
            }
            Err(error) => return Err(error.into()),
        };

        let team = cx.reads().team(team).await?.ok_or(UNKNOWN)?;
        cx.audit.team = Some(team.id);
        cx.set_resource("invitation", invitation.id.uuid(), invitation.email.as_str());
        cx.add_detail("role", role.as_str());
        Ok(team.into())
    }
}
