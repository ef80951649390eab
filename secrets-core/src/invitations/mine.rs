//! Listing the caller's own invitations.

use super::InvitationPublicInfo;
use super::{invitation_token, invited_address};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::Result;

/// Lists the pending invitations to the caller's verified e-mail address, oldest first. Each
/// invitation includes the token with which it is accepted.
#[derive(Debug)]
pub struct ListMyInvitations;

impl Operation for ListMyInvitations {
    const NAME: &'static str = "invitation.mine";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<InvitationPublicInfo>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<InvitationPublicInfo>> {
        let now = cx.now();
        let email = invited_address(cx.caller.as_person()?, cx.options().sessions.absolute, now)?;
        let Some(email) = email else { return Ok(Vec::new()) };
        let invitations = cx.reads().invitations_to(&email).await?;
        let pending = invitations.into_iter().filter(|invitation| invitation.is_pending(now));
        let shown = pending.map(|invitation| {
            let token = invitation_token(cx, &invitation);
            InvitationPublicInfo::new(invitation, Some(token))
        });
        Ok(shown.collect())
    }
}
