use std::sync::Arc;

use async_trait::async_trait;

use super::state::{owned, refers, retained};
use super::{Pending, Session, Snapshot};
use crate::crypto::TokenMac;
use crate::model::{SessionId, SessionKind, Subject, Time, UserId};
use crate::store::{
    SessionReads, SessionRecord, SessionWrites, StoreError, StoreResult, TokenUse, UserRecord,
};

#[async_trait]
impl<S: Snapshot> SessionReads for Session<S> {
    async fn session(
        &mut self,
        mac: &TokenMac,
    ) -> StoreResult<Option<(SessionRecord, UserRecord)>> {
        let state = self.state();
        let session = state.sessions.values().find(|session| session.mac == *mac);
        Ok(session
            .and_then(|session| Some((owned(session), owned(state.users.get(&session.user)?)))))
    }

    async fn sessions(&mut self, user: UserId) -> StoreResult<Vec<SessionRecord>> {
        let state = self.state();
        let sessions = state.sessions.values();
        let mut own: Vec<_> = sessions.filter(|session| session.user == user).map(owned).collect();
        own.sort_by_key(|session| (session.created_at, session.id));
        Ok(own)
    }

    async fn ended_sessions(
        &mut self,
        by: Time,
        idle_since: Time,
        limit: u32,
    ) -> StoreResult<Vec<SessionId>> {
        let state = self.state();
        let sessions = state.sessions.values();
        let ended = sessions.filter(|session| is_ended(session, by, idle_since));
        Ok(ended.map(|session| session.id).take(limit as usize).collect())
    }
}

#[async_trait]
impl SessionWrites for Session<Pending> {
    async fn insert_session(&mut self, session: &SessionRecord) -> StoreResult<()> {
        let state = self.state_mut();
        refers(state.users.contains_key(&session.user), "user")?;
        if state.sessions.values().any(|known| known.mac == session.mac) {
            return Err(StoreError::Duplicate(Subject::Session));
        }
        state.sessions.insert(session.id, session.clone().into());
        Ok(())
    }

    async fn record_session_use(&mut self, session: SessionId, at: Time) -> StoreResult<()> {
        let Some(known) = self.state_mut().sessions.get_mut(&session) else { return Ok(()) };
        if known.last_used_at.is_none_or(|last| last <= at - TokenUse::WRITE_INTERVAL) {
            Arc::make_mut(known).last_used_at = Some(at);
        }
        Ok(())
    }

    async fn delete_session(&mut self, user: UserId, session: SessionId) -> StoreResult<()> {
        let sessions = &mut self.state_mut().sessions;
        if sessions.get(&session).is_none_or(|session| session.user != user) {
            return Err(StoreError::Stale(Subject::Session));
        }
        sessions.remove(&session);
        Ok(())
    }

    async fn delete_sessions(
        &mut self,
        user: UserId,
        except: Option<SessionId>,
    ) -> StoreResult<u64> {
        let state = self.state_mut();
        let before = state.sessions.len();
        state.sessions =
            retained(&state.sessions, |session| session.user != user || except == Some(session.id));
        Ok((before - state.sessions.len()) as u64)
    }

    async fn delete_ended_sessions(
        &mut self,
        sessions: &[SessionId],
        by: Time,
        idle_since: Time,
    ) -> StoreResult<u64> {
        let stored = &mut self.state_mut().sessions;
        let before = stored.len();
        for id in sessions {
            if stored.get(id).is_some_and(|session| is_ended(session, by, idle_since)) {
                stored.remove(id);
            }
        }
        Ok((before - stored.len()) as u64)
    }
}

/// True if a session expires at or before `by`, or is a browser session whose last activity was at
/// or before `idle_since`.
fn is_ended(session: &SessionRecord, by: Time, idle_since: Time) -> bool {
    let is_idle = session.kind == SessionKind::Browser && session.last_activity() <= idle_since;
    session.expires_at <= by || is_idle
}
