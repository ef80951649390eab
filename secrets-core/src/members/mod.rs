//! Members of a team: changing roles, removing members and leaving. To add a member, see
//! [`crate::invitations`].

mod appoint;
mod remove;
mod update;

pub use appoint::{NotAppointed, appoint_owner};
pub use remove::RemoveMember;
pub use update::{MemberChange, UpdateMember};

use crate::engine::{Context, Write};
use crate::model::{Code, Error, Result, Role, Subject, TeamId, UserId};
use crate::store::{MemberRecord, StoreError};

const OWNERS_ONLY: Error = Error::forbidden("only an owner of the team may do this to an owner");

/// Returns the member with this user ID. Fails if there is none.
fn member(members: &[MemberRecord], user: Option<UserId>) -> Result<&MemberRecord> {
    let found = members.iter().find(|member| Some(member.user) == user);
    found.ok_or(Error::NotFound(Subject::User))
}

/// Revokes the pending actions of a user who has lost rights in a team: the invitations that the
/// user sent, and the device logins that the user approved. Returns the number of revoked
/// invitations. The team must be locked.
async fn revoke_pending(cx: &mut Context<'_, Write>, team: TeamId, user: UserId) -> Result<usize> {
    cx.tx().delete_device_logins(user).await?;
    revoke_invitations(cx, team, user).await
}

/// Revokes the pending invitations to a team that `inviter` sent, because that user may no longer
/// invite people. Returns the number of revoked invitations. The team must be locked.
pub(crate) async fn revoke_invitations(
    cx: &mut Context<'_, Write>,
    team: TeamId,
    inviter: UserId,
) -> Result<usize> {
    let mut invitations = cx.reads().invitations(team).await?;
    invitations.retain(|invitation| invitation.invited_by == inviter);
    for invitation in &invitations {
        match cx.tx().delete_invitation(invitation).await {
            // The invitation was accepted or revoked in the meantime.
            Ok(()) | Err(StoreError::Stale(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(invitations.len())
}

/// Fails if the team would lose its last owner. The team must be locked; otherwise two owners could
/// remove each other at the same time.
fn ensure_owner_remains(members: &[MemberRecord], leaving: &MemberRecord) -> Result<()> {
    let is_owner = |member: &&MemberRecord| member.role == Role::Owner;
    let mut others = members.iter().filter(is_owner).filter(|member| member.user != leaving.user);
    if leaving.role != Role::Owner || others.next().is_some() {
        return Ok(());
    }
    let reason = "a team needs at least one owner: make another member an owner first";
    Err(Error::Refused { code: Code::SoleOwner, reason: reason.into() })
}
