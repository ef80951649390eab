//! Invitation e-mails.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::page;
use crate::crypto::{Fingerprint, InvitationToken};
use crate::engine::{Context, Engine, Write};
use crate::model::{Bound, Error, InvitationId, Result, Time, next_day};
use crate::outbox::{self, Channel, settle_attempt};
use crate::ports::mail::{Email, Mail};
use crate::store::{DeliveryRecord, InvitationRecord, StoreError, StoreResult};

/// Outbox payload of an invitation e-mail. Contains no token: the token is derived from these
/// fields when the e-mail is sent.
#[derive(Serialize, Deserialize)]
struct Sending {
    invitation: InvitationId,
    number: u32,
}

/// Outbox channel that sends invitation e-mails.
#[derive(Debug, Clone, Copy)]
pub struct InvitationMail;

/// Maximum number of invitations that one user can send by e-mail in a day (UTC), for all teams
/// together.
const DAILY_OF_SENDER: u64 = 100;

/// Maximum number of invitations that one user can send to the same e-mail address in a day (UTC),
/// for all teams together. Less than [`DAILY_TO_RECIPIENT`], so that one user alone cannot reach
/// that limit.
const DAILY_OF_SENDER_TO_RECIPIENT: u64 = 3;

/// Maximum number of invitations that one e-mail address can receive in a day (UTC), from all users
/// together. Further invitations are created, but no e-mail is sent: otherwise, a few users could
/// prevent all others from inviting a person.
const DAILY_TO_RECIPIENT: u64 = 10;

/// Enqueues the e-mail of an invitation. Returns false if no e-mail will be sent: the service is
/// not configured to send e-mail, or the recipient has reached the daily limit for e-mails from all
/// users. Fails if the caller has reached a daily limit.
pub(super) async fn enqueue(
    cx: &mut Context<'_, Write>,
    invitation: &InvitationRecord,
) -> Result<bool> {
    if cx.ports().mail.is_none() || !admit(cx, invitation).await? {
        return Ok(false);
    }
    let sending = Sending { invitation: invitation.id, number: invitation.times_sent };
    let payload = serde_json::to_value(sending).map_err(Error::internal)?;
    let now = cx.now();
    outbox::enqueue(cx.tx(), InvitationMail.kind(), payload, now, now).await?;
    Ok(true)
}

/// Returns the error for a reached daily limit of e-mails. It ends at the beginning of the next day
/// (UTC) after `now`.
pub(super) fn limit_reached(now: Time) -> Error {
    Error::RateLimited { bound: Bound::InvitationMail, until: next_day(now) }
}

/// Counts an e-mail against the daily limits of its sender and its recipient. Returns false if the
/// limit of the recipient is exceeded. Fails if a limit of the sender is exceeded.
async fn admit(cx: &mut Context<'_, Write>, invitation: &InvitationRecord) -> Result<bool> {
    let now = cx.now();
    let sender = cx.caller.person()?.id;
    // The counter contains a MAC instead of the address, because the counter may outlive the
    // invitation.
    let recipient = Fingerprint::of_address(cx.keyring(), &invitation.email);
    let of_sender = [
        (format!("sender/{sender}"), DAILY_OF_SENDER),
        (format!("sender/{sender}/recipient/{recipient}"), DAILY_OF_SENDER_TO_RECIPIENT),
    ];
    for (counter, limit) in of_sender {
        if cx.tx().count_message(&counter, next_day(now)).await? > limit {
            return Err(limit_reached(now));
        }
    }
    let received = cx.tx().count_message(&format!("recipient/{recipient}"), next_day(now)).await?;
    Ok(received <= DAILY_TO_RECIPIENT)
}

#[async_trait]
impl Channel for InvitationMail {
    fn kind(&self) -> &'static str {
        "invitation"
    }

    fn max_in_flight(&self) -> usize {
        8
    }

    fn is_available(&self, engine: &Engine) -> bool {
        engine.ports().mail.is_some()
    }

    async fn deliver(&self, engine: &Engine, delivery: &DeliveryRecord) -> StoreResult<()> {
        let Some(mail) = &engine.ports().mail else { return Ok(()) };
        let outcome = match email(engine, mail, &delivery.payload).await? {
            Some(email) => mail.mailer.send(&email).await,
            // The invitation was revoked, used, sent again or has expired since, so there is
            // nothing to send.
            None => Ok(()),
        };
        settle_attempt(engine, delivery, outcome).await
    }
}

/// Builds the e-mail for an outbox delivery. Returns `None` if the invitation is no longer pending
/// or was sent again since.
async fn email(engine: &Engine, mail: &Mail, payload: &str) -> StoreResult<Option<Email>> {
    let sending = serde_json::from_str::<Sending>(payload);
    let sending =
        sending.map_err(|_| StoreError::Corrupt("the payload is not an invitation".into()))?;
    let invitation = engine.store().read().await?.invitation(sending.invitation).await?;
    let invitation = invitation.filter(|invitation| {
        invitation.times_sent == sending.number && invitation.is_pending(engine.now())
    });
    Ok(invitation.map(|invitation| {
        let token = InvitationToken::derive(engine.keyring(), invitation.id, invitation.times_sent);
        let link = Zeroizing::new(page(&mail.links, &token));
        message(invitation, &link)
    }))
}

fn message(invitation: InvitationRecord, link: &str) -> Email {
    let InvitationRecord { team_name, inviter_name, inviter_email, email, expires_at, .. } =
        invitation;
    let (team_name, inviter_name) = (unlinked(team_name.as_str()), unlinked(&inviter_name));
    let until = expires_at.format("%Y-%m-%d %H:%M UTC");
    let inviter = if inviter_email.is_empty() {
        inviter_name
    } else {
        format!("{inviter_name} ({inviter_email})")
    };
    let text = format!(
        "{inviter} invites you to the team \"{team_name}\".\n\n\
         To join, follow the instructions on this page before {until}:\n\n{link}\n\n\
         If you did not expect this invitation, ignore it: you join the team only if you accept.\n"
    );
    Email {
        to: email,
        subject: format!("Invitation to the team \"{team_name}\""),
        text: Zeroizing::new(text),
    }
}

/// Returns a name changed so that mail programs do not turn it into a link: `.`, `/`, `:` and `@`
/// are followed by a space.
fn unlinked(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    while let Some(char) = rest.next() {
        text.push(char);
        let ends = rest.peek().is_none_or(|next| next.is_whitespace());
        if matches!(char, '.' | '/' | ':' | '@') && !ends {
            text.push(' ');
        }
    }
    text
}
