//! The message that brings an invitation.

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

/// What an invitation is called in the outbox.
pub(crate) const DELIVERY: &str = "invitation";

/// What stands in the outbox: which sending of which invitation. Its token is derived when it is sent.
#[derive(Serialize, Deserialize)]
struct Sending {
    invitation: InvitationId,
    number: u32,
}

impl Context<'_, Write> {
    /// Leaves an invitation to be sent, where mail is sent at all.
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
    /// The message of a sending; `None` if the invitation is not pending any more or was sent again.
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
         This page says how to join; until {until}:\n\n{link}\n\n\
         If you did not expect this, do nothing: nobody is put into a team who does not accept.\n"
    );
    Email {
        to: email,
        subject: format!("Invitation to the team \"{team_name}\""),
        text: Zeroizing::new(text),
    }
}
