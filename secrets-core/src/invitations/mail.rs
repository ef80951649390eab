//! The email that delivers an invitation.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::page;
use crate::crypto::InvitationToken;
use crate::error::{Error, Result};
use crate::ids::InvitationId;
use crate::operation::{Context, Write};
use crate::outbox::{Email, Mail};
use crate::service::Service;
use crate::store::InvitationRecord;

/// Kind of outbox delivery for invitations.
pub(crate) const DELIVERY: &str = "invitation";

/// Outbox payload: identifies one sending of an invitation. The token is not stored; it is derived
/// when the email is sent.
#[derive(Serialize, Deserialize)]
struct Sending {
    invitation: InvitationId,
    number: u32,
}

impl Context<'_, Write> {
    /// Enqueues the invitation email, if the service sends mail.
    pub(super) async fn send_invitation(&mut self, invitation: &InvitationRecord) -> Result<()> {
        if !self.sends_mail() {
            return Ok(());
        }
        let sending = Sending { invitation: invitation.id, number: invitation.sendings };
        let payload = serde_json::to_value(sending).map_err(Error::internal)?;
        Ok(self.leave(DELIVERY, payload).await?)
    }
}

impl Service {
    /// Builds the invitation email. `None` if the invitation is no longer pending or was sent again
    /// since.
    pub(crate) async fn invitation_mail(
        &self,
        mail: &Mail,
        payload: &str,
    ) -> Result<Option<Email>> {
        let sending: Sending = serde_json::from_str(payload).map_err(Error::internal)?;
        let invitation = self.store().read().await?.invitation(sending.invitation).await?;
        let invitation = invitation.filter(|invitation| {
            invitation.sendings == sending.number && invitation.is_pending(self.now())
        });
        Ok(invitation.map(|invitation| {
            let token = InvitationToken::derive(self.keyring(), invitation.id, invitation.sendings);
            let link = Zeroizing::new(page(&mail.links, &token));
            message(invitation, &link)
        }))
    }
}

fn message(invitation: InvitationRecord, link: &str) -> Email {
    let InvitationRecord { team_name, inviter_name, inviter_email, email, expires_at, .. } =
        invitation;
    let until = expires_at.format("%Y-%m-%d %H:%M UTC");
    let text = format!(
        "{inviter_name} ({inviter_email}) invites you to the team \"{team_name}\".\n\n\
         To join, follow the instructions on this page before {until}:\n\n{link}\n\n\
         If you did not expect this invitation, ignore it: you join the team only if you accept.\n"
    );
    Email {
        to: email,
        subject: format!("Invitation to the team \"{team_name}\""),
        text: Zeroizing::new(text),
    }
}
