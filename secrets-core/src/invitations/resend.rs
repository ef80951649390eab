//! Sending an invitation again.

use chrono::TimeDelta;

use super::LIFETIME;
use crate::crypto::TokenMac;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Error, InvitationId, Permission, Result, Subject, TeamId};
use crate::store::InvitationRecord;

/// Sends an invitation again, with a new token; the one that was sent before is good no more.
#[derive(Debug)]
pub struct ResendInvitation {
    /// Which team; `None` if what was given is no id and names nothing.
    pub team: Option<TeamId>,
    /// Which invitation; likewise.
    pub invitation: Option<InvitationId>,
}

/// How long to wait after an invitation was sent again.
const PAUSE: TimeDelta = TimeDelta::minutes(1);

impl Operation for ResendInvitation {
    const NAME: &'static str = "invitation.resend";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("invitation.resent");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let unknown = || Error::NotFound(Subject::Team);
        let team = self.team.ok_or_else(unknown)?;
        cx.held_team(team, Permission::Manage, unknown()).await?;
        let sent = cx.invitation_of_team(team, self.invitation).await?;
        let now = cx.now();
        // Counted between resends: the first time that it does not arrive, nobody is made to wait.
        if sent.sendings > 1 && sent.last_sent_at + PAUSE > now {
            return Err(Error::RateLimited(sent.last_sent_at + PAUSE));
        }

        let again = InvitationRecord {
            sendings: sent.sendings.saturating_add(1),
            last_sent_at: now,
            expires_at: now + LIFETIME,
            ..sent
        };
        let mac = TokenMac::of(cx.keyring(), cx.invitation_token(&again).reveal());
        let again = InvitationRecord { mac, ..again };
        let resent = cx.tx().resend_invitation(&again).await;
        resent.map_err(|error| error.gone(Subject::Invitation))?;
        mail::enqueue(cx, &again).await?;
        cx.about("invitation", again.id.uuid(), again.email.as_str());
        Ok(())
    }
}
