use async_trait::async_trait;

use super::super::super::findable;
use super::{Connected, Row, Session, Transaction};
use crate::crypto::TokenMac;
use crate::model::{EmailAddress, InvitationId, Role, Subject, TeamId, Time};
use crate::store::{InvitationReads, InvitationRecord, InvitationWrites, StoreResult};

/// Query for invitations, with the current names of the team and the inviting user.
macro_rules! invitations {
    ($condition:literal) => {
        concat!(
            "SELECT i.id, i.team_id, t.name AS team_name, i.email, i.role, i.mac, i.sendings,
                 i.invited_by, u.name AS inviter_name,
                 CASE WHEN u.email_verified THEN u.email ELSE '' END AS inviter_email, i.created_at,
                 i.last_sent_at, i.expires_at
             FROM invitations i
             JOIN teams t ON t.id = i.team_id
             JOIN users u ON u.id = i.invited_by
             WHERE ",
            $condition,
            " ORDER BY i.created_at, i.id"
        )
    };
}

#[async_trait]
impl<C: Connected> InvitationReads for Session<C> {
    async fn invitation(&mut self, id: InvitationId) -> StoreResult<Option<InvitationRecord>> {
        let statement = sqlx::query(invitations!("i.id = $1"));
        self.one("invitations", statement.bind(id.uuid()), record).await
    }

    async fn invitation_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<InvitationRecord>> {
        let statement = sqlx::query(invitations!("i.mac = $1"));
        self.one("invitations", statement.bind(mac.0.as_slice()), record).await
    }

    async fn invitations(&mut self, team: TeamId) -> StoreResult<Vec<InvitationRecord>> {
        let statement = sqlx::query(invitations!("i.team_id = $1"));
        self.all("invitations", statement.bind(team.uuid()), record).await
    }

    async fn invitations_to(&mut self, email: &EmailAddress) -> StoreResult<Vec<InvitationRecord>> {
        let statement = sqlx::query(invitations!("i.email = $1"));
        self.all("invitations", statement.bind(findable(email.as_str())), record).await
    }

    async fn count_members_and_invitations(&mut self, team: TeamId, now: Time) -> StoreResult<u64> {
        let statement = sqlx::query(
            "SELECT (SELECT COUNT(*) FROM members WHERE team_id = $1)
                  + (SELECT COUNT(*) FROM invitations WHERE team_id = $1 AND expires_at > $2)
                 AS count",
        );
        self.count(statement.bind(team.uuid()).bind(now)).await
    }
}

#[async_trait]
impl InvitationWrites for Session<Transaction> {
    async fn insert_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO invitations
                 (id, team_id, email, role, mac, sendings, invited_by, created_at, last_sent_at,
                  expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT DO NOTHING",
        )
        .bind(invitation.id.uuid())
        .bind(invitation.team.uuid())
        .bind(invitation.email.as_str())
        .bind(invitation.role.as_str())
        .bind(invitation.mac.0.as_slice())
        .bind(i64::from(invitation.times_sent))
        .bind(invitation.invited_by.uuid())
        .bind(invitation.created_at)
        .bind(invitation.last_sent_at)
        .bind(invitation.expires_at);
        self.insert(Subject::Invitation, statement).await
    }

    async fn resend_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE invitations
             SET mac = $3, sendings = $2, last_sent_at = $4, expires_at = $5
             WHERE id = $1 AND sendings = $2 - 1",
        )
        .bind(invitation.id.uuid())
        .bind(i64::from(invitation.times_sent))
        .bind(invitation.mac.0.as_slice())
        .bind(invitation.last_sent_at)
        .bind(invitation.expires_at);
        self.change(Subject::Invitation, statement).await
    }

    async fn delete_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM invitations WHERE id = $1 AND sendings = $2")
            .bind(invitation.id.uuid())
            .bind(i64::from(invitation.times_sent));
        self.change(Subject::Invitation, statement).await
    }

    async fn delete_expired_invitations(&mut self, team: TeamId, now: Time) -> StoreResult<()> {
        let statement =
            sqlx::query("DELETE FROM invitations WHERE team_id = $1 AND expires_at <= $2");
        self.write(statement.bind(team.uuid()).bind(now)).await.map(drop)
    }
}

fn record(row: &Row<'_>) -> StoreResult<InvitationRecord> {
    let mac: Vec<u8> = row.get("mac")?;
    Ok(InvitationRecord {
        id: row.id("id")?,
        team: row.id("team_id")?,
        team_name: row.name("team_name")?,
        email: row.name("email")?,
        role: row.one_of("role", Role::from_name)?,
        mac: TokenMac(mac.try_into().map_err(|_| row.unreadable("mac"))?),
        times_sent: row.number("sendings")?,
        invited_by: row.id("invited_by")?,
        inviter_name: row.get("inviter_name")?,
        inviter_email: row.get("inviter_email")?,
        created_at: row.get("created_at")?,
        last_sent_at: row.get("last_sent_at")?,
        expires_at: row.get("expires_at")?,
    })
}
