//! Sending an invitation again.

use chrono::TimeDelta;

use super::{LIFETIME, mail};
use super::{invitation_of_team, invitation_token};
use crate::crypto::TokenMac;
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Bound, Error, InvitationId, Permission, Result, Subject, TeamId};
use crate::store::InvitationRecord;

/// Sends an invitation again, with a new token. The previous token is then no longer valid.
#[derive(Debug)]
pub struct ResendInvitation {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
    /// Invitation ID; `None`, treated as an unknown invitation, if the given string is not a valid
    /// ID.
    pub invitation: Option<InvitationId>,
}

/// Minimum time between two resends of an invitation.
const RESEND_INTERVAL: TimeDelta = TimeDelta::minutes(1);

impl Operation for ResendInvitation {
    const NAME: &'static str = "invitation.resend";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("invitation.resent");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let unknown = || Error::NotFound(Subject::Team);
        let team = self.team.ok_or_else(unknown)?;
        cx.locked_team(team, Permission::Manage, unknown()).await?;
        let sent = invitation_of_team(cx, team, self.invitation).await?;
        let now = cx.now();
        // The first resend is not limited, so that an e-mail that does not arrive can be sent again
        // immediately.
        if sent.times_sent > 1 && sent.last_sent_at + RESEND_INTERVAL > now {
            let until = sent.last_sent_at + RESEND_INTERVAL;
            return Err(Error::RateLimited { bound: Bound::InvitationMail, until });
        }

        let again = InvitationRecord {
            times_sent: sent.times_sent.saturating_add(1),
            last_sent_at: now,
            expires_at: now + LIFETIME,
            ..sent
        };
        let mac = TokenMac::of(cx.keyring(), invitation_token(cx, &again).reveal());
        let again = InvitationRecord { mac, ..again };
        let resent = cx.tx().resend_invitation(&again).await;
        resent.map_err(|error| error.or_not_found(Subject::Invitation))?;
        if !mail::enqueue(cx, &again).await? && cx.ports().mail.is_some() {
            return Err(mail::limit_reached(now));
        }
        cx.set_resource("invitation", again.id.uuid(), again.email.as_str());
        Ok(())
    }
}
