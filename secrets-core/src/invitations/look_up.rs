//! Looking up an invitation before accepting it.

use super::InvitationPublicInfo;
use super::invitation_of_caller;
use crate::crypto::InvitationToken;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::Result;

/// Reads the pending invitation with this token if it is addressed to the caller.
#[derive(Debug)]
pub struct LookUpInvitation {
    /// Token of the invitation.
    pub token: InvitationToken,
}

impl Operation for LookUpInvitation {
    const NAME: &'static str = "invitation.look_up";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = InvitationPublicInfo;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<InvitationPublicInfo> {
        let invitation = invitation_of_caller(cx, &self.token).await?;
        Ok(InvitationPublicInfo::new(invitation, None))
    }
}
