use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::state::{owned, retained};
use super::{Pending, Session, Snapshot};
use crate::crypto::TokenMac;
use crate::model::{Subject, Time, UserId};
use crate::store::{
    DeviceLoginReads, DeviceLoginRecord, DeviceLoginWrites, DeviceStatus, StoreError, StoreResult,
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

    async fn delete_device_logins(&mut self, user: UserId) -> StoreResult<()> {
        let state = self.state_mut();
        state.device_logins = retained(&state.device_logins, |login| login.user != Some(user));
        Ok(())
    }

    async fn delete_ended_logins(&mut self, by: Time, limit: u32) -> StoreResult<u64> {
        let state = self.state_mut();
        let ended = state.device_logins.values().filter(|login| login.expires_at <= by);
        let ended: BTreeSet<_> = ended.map(|login| login.id).take(limit as usize).collect();
        state.device_logins = retained(&state.device_logins, |login| !ended.contains(&login.id));
        Ok(ended.len() as u64)
    }
}
