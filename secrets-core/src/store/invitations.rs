//! Pending invitations to teams.

use async_trait::async_trait;

use super::StoreResult;
use crate::crypto::TokenMac;
use crate::model::{DisplayName, EmailAddress, InvitationId, Role, TeamId, Time, UserId};

/// A pending invitation of an e-mail address to a team. Only the MAC of its token is stored, not
/// the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationRecord {
    /// Invitation ID.
    pub id: InvitationId,
    /// ID of the team to which the person is invited.
    pub team: TeamId,
    /// Current name of the team. Read from the team's record; ignored when an invitation is
    /// written.
    pub team_name: DisplayName,
    /// E-mail address of the invited person, unique within the team.
    pub email: EmailAddress,
    /// Role that the person gets in the team.
    pub role: Role,
    /// MAC of the token with which the invitation is accepted.
    pub mac: TokenMac,
    /// Number of times that the invitation was sent. Each time, it gets a new token, and the
    /// previous token becomes invalid.
    pub times_sent: u32,
    /// ID of the user who sent the invitation.
    pub invited_by: UserId,
    /// Current name of the inviting user; ignored when an invitation is written.
    pub inviter_name: String,
    /// Current e-mail address of the inviting user; ignored when an invitation is written.
    pub inviter_email: String,
    /// Creation time.
    pub created_at: Time,
    /// Time at which the invitation was last sent.
    pub last_sent_at: Time,
    /// Expiry time.
    pub expires_at: Time,
}

/// Read access to invitations. The methods also return expired invitations.
#[async_trait]
pub trait InvitationReads: Send {
    /// Returns the invitation with this ID.
    async fn invitation(&mut self, id: InvitationId) -> StoreResult<Option<InvitationRecord>>;

    /// Returns the invitation whose current token has this MAC.
    async fn invitation_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<InvitationRecord>>;

    /// Lists the invitations of a team, oldest first.
    async fn invitations(&mut self, team: TeamId) -> StoreResult<Vec<InvitationRecord>>;

    /// Lists the invitations to an e-mail address, oldest first.
    async fn invitations_to(&mut self, email: &EmailAddress) -> StoreResult<Vec<InvitationRecord>>;

    /// Returns the number of members of a team plus the number of its invitations that expire after
    /// `now`.
    async fn count_members_and_invitations(&mut self, team: TeamId, now: Time) -> StoreResult<u64>;
}

/// Write access to invitations.
#[async_trait]
pub trait InvitationWrites: Send {
    /// Inserts an invitation. Fails with `Duplicate` if the team already has an invitation for this
    /// address.
    async fn insert_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()>;

    /// Stores that an invitation was sent again: updates the MAC of the token, the number of times
    /// sent, the time last sent, and the expiry time. Fails with `Stale` if the invitation does not
    /// exist, or if it was sent again after the caller read it.
    async fn resend_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()>;

    /// Deletes an invitation. Fails with `Stale` if the invitation does not exist, or if it was
    /// sent again after the caller read it.
    async fn delete_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()>;

    /// Deletes the expired invitations of a team.
    async fn delete_expired_invitations(&mut self, team: TeamId, now: Time) -> StoreResult<()>;
}
