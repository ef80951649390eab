//! Invitations, with which new members join a team.
//!
//! A user joins a team only by accepting an invitation. Accepting requires the token that was sent
//! to the invited e-mail address, and a credential in which the identity provider confirms that the
//! same address belongs to the caller; an old command-line session is not such a credential. An
//! invitation is either pending or unknown: responses do not distinguish accepted, revoked, expired
//! and non-existent invitations.

mod accept;
mod create;
mod list;
mod look_up;
mod mail;
mod mine;
mod resend;
mod revoke;

use chrono::TimeDelta;
use serde::Serialize;

pub use accept::AcceptInvitation;
pub use create::{InviteMember, InvitedRole, NewInvitation};
pub use list::ListInvitations;
pub use look_up::LookUpInvitation;
pub use mail::InvitationMail;
pub use mine::ListMyInvitations;
pub use resend::ResendInvitation;
pub use revoke::RevokeInvitation;

use crate::access::proves_address;
use crate::crypto::{InvitationToken, TokenMac};
use crate::engine::{Access, Context, Person};
use crate::model::{
    BaseUrl, DisplayName, EmailAddress, Error, InvitationId, Result, Role, Subject, TeamId, Time,
    UserId,
};
use crate::store::InvitationRecord;

/// Lifetime of an invitation, counted from the last time that it was sent.
const LIFETIME: TimeDelta = TimeDelta::days(7);

/// An invitation, as returned to owners and admins of the team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamInvitation {
    /// Invitation ID.
    pub id: InvitationId,
    /// Team ID.
    pub team_id: TeamId,
    /// E-mail address of the invited person.
    pub email: EmailAddress,
    /// Role that the invited person gets in the team.
    pub role: Role,
    /// Status of the invitation: always `pending`.
    pub status: &'static str,
    /// User ID of the inviter.
    pub invited_by: UserId,
    /// E-mail address of the inviter.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub invited_by_email: String,
    /// Expiry time of the invitation.
    pub expires_at: Time,
    /// Time at which the invitation was last sent.
    pub last_sent_at: Time,
    /// Creation time of the invitation.
    pub created_at: Time,
    /// URL of the page to accept the invitation. Present only if the service is not configured to
    /// send e-mail; the inviter must then send the URL to the invited person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_url: Option<String>,
}

/// An invitation, as returned to the invited person.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvitationPublicInfo {
    /// Invitation ID.
    pub id: InvitationId,
    /// Token with which the invitation is accepted. Present only in the list of the caller's own
    /// invitations.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub token: Option<InvitationToken>,
    /// Team ID.
    pub team_id: TeamId,
    /// Name of the team.
    pub team_name: DisplayName,
    /// E-mail address of the invited person.
    pub email: EmailAddress,
    /// Role that the invited person gets in the team.
    pub role: Role,
    /// Name of the inviter.
    pub invited_by_name: String,
    /// E-mail address of the inviter.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub invited_by_email: String,
    /// Status of the invitation: always `pending`.
    pub status: &'static str,
    /// Expiry time of the invitation.
    pub expires_at: Time,
    /// Creation time of the invitation.
    pub created_at: Time,
}

impl TeamInvitation {
    fn new(invitation: InvitationRecord, accept_url: Option<String>) -> Self {
        Self {
            id: invitation.id,
            team_id: invitation.team,
            email: invitation.email,
            role: invitation.role,
            status: "pending",
            invited_by: invitation.invited_by,
            invited_by_email: invitation.inviter_email,
            expires_at: invitation.expires_at,
            last_sent_at: invitation.last_sent_at,
            created_at: invitation.created_at,
            accept_url,
        }
    }
}

impl InvitationPublicInfo {
    pub(crate) fn new(invitation: InvitationRecord, token: Option<InvitationToken>) -> Self {
        Self {
            id: invitation.id,
            token,
            team_id: invitation.team,
            team_name: invitation.team_name,
            email: invitation.email,
            role: invitation.role,
            invited_by_name: invitation.inviter_name,
            invited_by_email: invitation.inviter_email,
            status: "pending",
            expires_at: invitation.expires_at,
            created_at: invitation.created_at,
        }
    }
}

impl InvitationRecord {
    /// True if the invitation has not expired.
    pub(crate) fn is_pending(&self, now: Time) -> bool {
        self.expires_at > now
    }
}

/// Error for an invitation that is unknown, used, revoked, expired or addressed to another user.
const UNKNOWN: Error = Error::NotFound(Subject::Invitation);

/// Error for credentials that do not prove that an e-mail address still belongs to the caller.
const SIGN_IN_REQUIRED: Error = Error::forbidden(
    "invitations need a credential that proves your e-mail address: a sign-in with the identity provider, or a command-line session in the first 15 minutes after its login",
);

/// Returns the verified e-mail address with which the caller may see and accept invitations; `None`
/// if the address is not verified. Fails if the credential does not prove that the address still
/// belongs to the caller ([`proves_address`]). `browser` is the maximum age of a browser session.
pub(crate) fn invited_address(
    caller: &Person,
    browser: TimeDelta,
    now: Time,
) -> Result<Option<EmailAddress>> {
    if proves_address(caller, browser, now) {
        Ok(caller.verified_email())
    } else {
        Err(SIGN_IN_REQUIRED)
    }
}

/// Loads the pending invitation with this token if it is addressed to the caller.
async fn invitation_of_caller<A: Access>(
    cx: &mut Context<'_, A>,
    token: &InvitationToken,
) -> Result<InvitationRecord> {
    let browser = cx.options().sessions.absolute;
    let email = invited_address(cx.caller.as_person()?, browser, cx.now())?.ok_or(UNKNOWN)?;
    let mac = TokenMac::of(cx.keyring(), token.reveal());
    let found = cx.reads().invitation_by_mac(&mac).await?.ok_or(UNKNOWN)?;
    let is_theirs = found.email == email && found.mac == mac && found.is_pending(cx.now());
    if is_theirs { Ok(found) } else { Err(UNKNOWN) }
}

/// Loads the pending invitation with this ID. Fails if it belongs to another team.
async fn invitation_of_team<A: Access>(
    cx: &mut Context<'_, A>,
    team: TeamId,
    invitation: Option<InvitationId>,
) -> Result<InvitationRecord> {
    let found = cx.reads().invitation(invitation.ok_or(UNKNOWN)?).await?.ok_or(UNKNOWN)?;
    let is_theirs = found.team == team && found.is_pending(cx.now());
    if is_theirs { Ok(found) } else { Err(UNKNOWN) }
}

fn invitation_token<A: Access>(
    cx: &Context<'_, A>,
    invitation: &InvitationRecord,
) -> InvitationToken {
    InvitationToken::derive(cx.keyring(), invitation.id, invitation.times_sent)
}

/// Returns the URL of the page that explains how to accept an invitation, for an inviter who must
/// send the URL to the invited person.
fn accept_url<A: Access>(
    cx: &Context<'_, A>,
    invitation: &InvitationRecord,
    links: &BaseUrl,
) -> String {
    page(links, &invitation_token(cx, invitation))
}

/// Returns the URL of the page that explains how to accept an invitation.
fn page(links: &BaseUrl, token: &InvitationToken) -> String {
    links.to(&format!("/invitations/{}", token.reveal()))
}
