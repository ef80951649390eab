//! Invitations: how people join a team.
//!
//! Nobody is put into a team: whoever is invited accepts, with a token that was sent to their
//! address and a credential in which their identity provider vouches for the same address. An
//! invitation is pending or it is not there; what was accepted, revoked or has expired is told
//! from what never was by nobody.

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

use crate::crypto::{InvitationToken, TokenMac};
use crate::engine::{Access, Context};
use crate::model::{
    BaseUrl, DisplayName, EmailAddress, Error, InvitationId, Result, Role, Subject, TeamId, Time,
    UserId,
};
use crate::store::InvitationRecord;

/// How long an invitation can be accepted after it was last sent.
const LIFETIME: TimeDelta = TimeDelta::days(7);

/// An invitation, as those who run the team see it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamInvitation {
    /// Which invitation.
    pub id: InvitationId,
    /// To which team.
    pub team_id: TeamId,
    /// Who is invited.
    pub email: EmailAddress,
    /// In which role.
    pub role: Role,
    /// `pending`.
    pub status: &'static str,
    /// Who invites.
    pub invited_by: UserId,
    /// Their address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub invited_by_email: String,
    /// When it ends.
    pub expires_at: Time,
    /// When it was last sent.
    pub last_sent_at: Time,
    /// When it was made.
    pub created_at: Time,
    /// Where it is accepted, for the inviter to pass on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_url: Option<String>,
}

/// An invitation, as the one who is invited sees it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvitationPublicInfo {
    /// Which invitation.
    pub id: InvitationId,
    /// The token it is accepted by, in the list of one's own.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub token: Option<InvitationToken>,
    /// To which team.
    pub team_id: TeamId,
    /// What it is called.
    pub team_name: DisplayName,
    /// Who is invited.
    pub email: EmailAddress,
    /// In which role.
    pub role: Role,
    /// Who invites.
    pub invited_by_name: String,
    /// Their address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub invited_by_email: String,
    /// `pending`.
    pub status: &'static str,
    /// When it ends.
    pub expires_at: Time,
    /// When it was made.
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
    /// Whether it can still be accepted.
    pub(crate) fn is_pending(&self, now: Time) -> bool {
        self.expires_at > now
    }
}

/// What is said of an invitation that is unknown, used, revoked, expired or for somebody else.
const UNKNOWN: Error = Error::NotFound(Subject::Invitation);

impl<A: Access> Context<'_, A> {
    /// The pending invitation with this token, if it is the caller's.
    async fn invitation_of_caller(&mut self, token: &InvitationToken) -> Result<InvitationRecord> {
        let email = self.caller.somebody()?.verified_email().ok_or(UNKNOWN)?;
        let mac = TokenMac::of(self.keyring(), token.reveal());
        let found = self.reads().invitation_by_mac(&mac).await?.ok_or(UNKNOWN)?;
        let is_theirs = found.email == email && found.mac == mac && found.is_pending(self.now());
        if is_theirs { Ok(found) } else { Err(UNKNOWN) }
    }

    /// The pending invitation of a team with this id.
    async fn invitation_of_team(
        &mut self,
        team: TeamId,
        invitation: Option<InvitationId>,
    ) -> Result<InvitationRecord> {
        let found = self.reads().invitation(invitation.ok_or(UNKNOWN)?).await?.ok_or(UNKNOWN)?;
        let is_theirs = found.team == team && found.is_pending(self.now());
        if is_theirs { Ok(found) } else { Err(UNKNOWN) }
    }

    fn invitation_token(&self, invitation: &InvitationRecord) -> InvitationToken {
        InvitationToken::derive(self.keyring(), invitation.id, invitation.sendings)
    }

    /// Where an invitation is accepted, for its inviter to pass on where no mail is sent.
    fn accept_url(&self, invitation: &InvitationRecord, links: &BaseUrl) -> Option<String> {
        self.ports().mail.is_none().then(|| page(links, &self.invitation_token(invitation)))
    }
}

/// The page that says how to accept.
fn page(links: &BaseUrl, token: &InvitationToken) -> String {
    links.to(&format!("/invitations/{}", token.reveal()))
}

#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn revealed<S: serde::Serializer>(
    token: &Option<InvitationToken>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_some(&token.as_ref().map(InvitationToken::reveal))
}
