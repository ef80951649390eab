use std::sync::Arc;

use async_trait::async_trait;

use super::state::{Table, owned, refers};
use super::{Pending, Session, Snapshot};
use crate::crypto::TokenMac;
use crate::model::{CliSessionId, Subject, Time, UserId};
use crate::store::{
    CliSessionRecord, DeviceLoginReads, DeviceLoginRecord, DeviceLoginWrites, DeviceStatus,
    StoreError, StoreResult, UserRecord,
};

#[async_trait]
impl<S: Snapshot> DeviceLoginReads for Session<S> {
    async fn login_by_device_code(
        &mut self,
        device: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>> {
        Ok(self.state().device_logins.values().find(|login| login.device == *device).map(owned))
    }

    async fn login_by_user_code(
        &mut self,
        code: &TokenMac,
    ) -> StoreResult<Option<DeviceLoginRecord>> {
        Ok(self.state().device_logins.values().find(|login| login.code == *code).map(owned))
    }

    async fn cli_session(
        &mut self,
        mac: &TokenMac,
    ) -> StoreResult<Option<(CliSessionRecord, UserRecord)>> {
        let state = self.state();
        let session = state.cli_sessions.values().find(|session| session.mac == *mac);
        Ok(session
            .and_then(|session| Some((owned(session), owned(state.users.get(&session.user)?)))))
    }

    async fn cli_sessions(&mut self, user: UserId) -> StoreResult<Vec<CliSessionRecord>> {
        let state = self.state();
        let sessions = state.cli_sessions.values();
        let mut own: Vec<_> = sessions.filter(|session| session.user == user).map(owned).collect();
        own.sort_by_key(|session| (session.created_at, session.id));
        Ok(own)
    }
}

#[async_trait]
impl DeviceLoginWrites for Session<Pending> {
    async fn insert_device_login(&mut self, login: &DeviceLoginRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let is_taken = state.device_logins.values().any(|known| {
            known.id == login.id || known.device == login.device || known.code == login.code
        });
        if is_taken {
            return Err(StoreError::Duplicate(Subject::DeviceLogin));
        }
        state.device_logins.insert(login.id, login.clone().into());
        Ok(())
    }

    async fn update_device_login(
        &mut self,
        login: &DeviceLoginRecord,
        was: DeviceStatus,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        let known = state.device_logins.get_mut(&login.id).filter(|known| known.status == was);
        let known = Arc::make_mut(known.ok_or(StoreError::Stale(Subject::DeviceLogin))?);
        known.status = login.status;
        known.user = login.user;
        known.poll_seconds = login.poll_seconds;
        known.polled_at = login.polled_at;
        Ok(())
    }

    async fn insert_cli_session(&mut self, session: &CliSessionRecord) -> StoreResult<()> {
        let state = self.state_mut();
        refers(state.users.contains_key(&session.user), "user")?;
        if state.cli_sessions.values().any(|known| known.mac == session.mac) {
            return Err(StoreError::Duplicate(Subject::CliSession));
        }
        state.cli_sessions.insert(session.id, session.clone().into());
        Ok(())
    }

    async fn delete_cli_session(&mut self, user: UserId, session: CliSessionId) -> StoreResult<()> {
        let sessions = &mut self.state_mut().cli_sessions;
        if sessions.get(&session).is_none_or(|session| session.user != user) {
            return Err(StoreError::Stale(Subject::CliSession));
        }
        sessions.remove(&session);
        Ok(())
    }

    async fn delete_cli_sessions(&mut self, user: UserId) -> StoreResult<()> {
        let state = self.state_mut();
        retain(&mut state.device_logins, |login| login.user != Some(user));
        retain(&mut state.cli_sessions, |session| session.user != user);
        Ok(())
    }

    async fn delete_ended_logins(&mut self, by: Time) -> StoreResult<()> {
        let state = self.state_mut();
        retain(&mut state.device_logins, |login| login.expires_at > by);
        retain(&mut state.cli_sessions, |session| session.expires_at > by);
        Ok(())
    }
}

fn retain<K: Ord + Clone, V>(table: &mut Table<K, V>, is_kept: impl Fn(&V) -> bool) {
    *table = table
        .iter()
        .filter(|(_, row)| is_kept(row))
        .map(|(key, row)| (key.clone(), Arc::clone(row)))
        .collect();
}
