//! Invitations that are pending.

use async_trait::async_trait;

use super::StoreResult;
use crate::crypto::TokenMac;
use crate::model::{DisplayName, EmailAddress, InvitationId, Role, TeamId, Time, UserId};

/// A place in a team that is kept for whoever can prove an address. The token itself is not kept,
/// only its keyed hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationRecord {
    /// Which invitation.
    pub id: InvitationId,
    /// To which team.
    pub team: TeamId,
    /// The team's name; read, not written.
    pub team_name: DisplayName,
    /// Who is invited: at most once to a team.
    pub email: EmailAddress,
    /// In which role.
    pub role: Role,
    /// The hash of the token it is accepted by.
    pub mac: TokenMac,
    /// How often it was sent. Each sending has a token of its own, and only the last is good.
    pub sendings: u32,
    /// Who invites.
    pub invited_by: UserId,
    /// Their name; read, not written.
    pub inviter_name: String,
    /// Their address; read, not written.
    pub inviter_email: String,
    /// When it was made.
    pub created_at: Time,
    /// When it was last sent.
    pub last_sent_at: Time,
    /// When it ends.
    pub expires_at: Time,
}

/// Reading invitations. What has expired is found as well.
#[async_trait]
pub trait InvitationReads: Send {
    /// The invitation with this id.
    async fn invitation(&mut self, id: InvitationId) -> StoreResult<Option<InvitationRecord>>;

    /// The invitation whose last token has this hash.
    async fn invitation_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<InvitationRecord>>;

    /// The invitations of a team, oldest first.
    async fn invitations(&mut self, team: TeamId) -> StoreResult<Vec<InvitationRecord>>;

    /// The invitations of whoever has this address, oldest first.
    async fn invitations_to(&mut self, email: &EmailAddress) -> StoreResult<Vec<InvitationRecord>>;

    /// How many are in a team or have a place kept there until later than `now`.
    async fn count_places(&mut self, team: TeamId, now: Time) -> StoreResult<u64>;
}

/// Writing invitations.
#[async_trait]
pub trait InvitationWrites: Send {
    /// Fails with `Duplicate` if the address is invited to the team already.
    async fn insert_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()>;

    /// Keeps that it was sent once more: hash, number and times of its new token. Fails with
    /// `Stale` if it is gone or was sent meanwhile.
    async fn resend_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()>;

    /// Deletes it as it was read. Fails with `Stale` if it is gone or was sent meanwhile.
    async fn delete_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()>;

    /// Deletes those of a team that have expired.
    async fn delete_expired_invitations(&mut self, team: TeamId, now: Time) -> StoreResult<()>;
}
