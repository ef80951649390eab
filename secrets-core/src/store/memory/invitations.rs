use std::sync::Arc;

use async_trait::async_trait;

use super::state::{State, owned, refers};
use super::{Pending, Session, Snapshot};
use crate::crypto::TokenMac;
use crate::model::{EmailAddress, InvitationId, Subject, TeamId, Time};
use crate::store::{InvitationReads, InvitationRecord, InvitationWrites, StoreError, StoreResult};

#[async_trait]
impl<S: Snapshot> InvitationReads for Session<S> {
    async fn invitation(&mut self, id: InvitationId) -> StoreResult<Option<InvitationRecord>> {
        let state = self.state();
        Ok(state.invitations.get(&id).map(owned).and_then(|found| state.with_current_names(found)))
    }

    async fn invitation_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<InvitationRecord>> {
        let state = self.state();
        Ok(state.invitations_where(|invitation| invitation.mac == *mac).pop())
    }

    async fn invitations(&mut self, team: TeamId) -> StoreResult<Vec<InvitationRecord>> {
        Ok(self.state().invitations_where(|invitation| invitation.team == team))
    }

    async fn invitations_to(&mut self, email: &EmailAddress) -> StoreResult<Vec<InvitationRecord>> {
        Ok(self.state().invitations_where(|invitation| invitation.email == *email))
    }

    async fn count_members_and_invitations(&mut self, team: TeamId, now: Time) -> StoreResult<u64> {
        let state = self.state();
        let members = state.members.values().filter(|member| member.team == team);
        let invited = state.invitations.values();
        let invited = invited.filter(|held| held.team == team && held.expires_at > now);
        Ok(members.map(|_| 1_u64).chain(invited.map(|_| 1)).sum())
    }
}

#[async_trait]
impl InvitationWrites for Session<Pending> {
    async fn insert_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let is_taken = |known: &InvitationRecord| {
            known.mac == invitation.mac
                || known.team == invitation.team && known.email == invitation.email
        };
        if state.invitations.contains_key(&invitation.id)
            || state.invitations.values().any(|known| is_taken(known))
        {
            return Err(StoreError::Duplicate(Subject::Invitation));
        }
        refers(state.teams.contains_key(&invitation.team), "team")?;
        refers(state.users.contains_key(&invitation.invited_by), "user")?;
        state.invitations.insert(invitation.id, invitation.clone().into());
        Ok(())
    }

    async fn resend_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state.with_sendings(invitation, invitation.times_sent.saturating_sub(1))?;
        let new = InvitationRecord {
            mac: invitation.mac,
            times_sent: invitation.times_sent,
            last_sent_at: invitation.last_sent_at,
            expires_at: invitation.expires_at,
            ..old
        };
        state.invitations.insert(new.id, new.into());
        Ok(())
    }

    async fn delete_invitation(&mut self, invitation: &InvitationRecord) -> StoreResult<()> {
        let state = self.state_mut();
        state.with_sendings(invitation, invitation.times_sent)?;
        state.invitations.remove(&invitation.id);
        Ok(())
    }

    async fn delete_expired_invitations(&mut self, team: TeamId, now: Time) -> StoreResult<()> {
        let state = self.state_mut();
        let expired = |held: &InvitationRecord| held.team == team && held.expires_at <= now;
        let kept = state.invitations.iter().filter(|(_, held)| !expired(held));
        state.invitations = kept.map(|(id, held)| (*id, Arc::clone(held))).collect();
        Ok(())
    }
}

impl State {
    fn invitations_where(
        &self,
        wanted: impl Fn(&InvitationRecord) -> bool,
    ) -> Vec<InvitationRecord> {
        let found = self.invitations.values().filter(|invitation| wanted(invitation));
        let mut found: Vec<_> =
            found.filter_map(|invitation| self.with_current_names(owned(invitation))).collect();
        found.sort_by_key(|invitation| (invitation.created_at, invitation.id));
        found
    }

    /// Returns the invitation with the current names of the team and the inviting user.
    fn with_current_names(&self, invitation: InvitationRecord) -> Option<InvitationRecord> {
        let inviter = self.users.get(&invitation.invited_by)?;
        Some(InvitationRecord {
            team_name: self.teams.get(&invitation.team)?.name.clone(),
            inviter_name: inviter.name.clone(),
            inviter_email: inviter.verified_email().to_owned(),
            ..invitation
        })
    }

    /// Returns the stored invitation. Fails with `Stale` unless it was sent exactly `times_sent`
    /// times.
    fn with_sendings(
        &self,
        invitation: &InvitationRecord,
        times_sent: u32,
    ) -> StoreResult<InvitationRecord> {
        let found = self.invitations.get(&invitation.id).map(owned);
        found
            .filter(|found| found.times_sent == times_sent)
            .ok_or(StoreError::Stale(Subject::Invitation))
    }
}
