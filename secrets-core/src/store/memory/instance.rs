use async_trait::async_trait;

use super::{Pending, Session, Snapshot};
use crate::crypto::{InstanceKeyRecord, InstanceRecord};
use crate::model::{SecretId, Subject};
use crate::store::{InstanceReads, InstanceWrites, Sample, StoreError, StoreResult, StoreSize};

/// Error for an instance record that does not exist.
const GONE: StoreError = StoreError::Stale(Subject::Resource);

#[async_trait]
impl<S: Snapshot> InstanceReads for Session<S> {
    async fn instance(&mut self) -> StoreResult<Option<(InstanceRecord, Vec<InstanceKeyRecord>)>> {
        Ok(self.state().instance.as_deref().cloned())
    }

    async fn has_data(&mut self) -> StoreResult<bool> {
        let state = self.state();
        // `project_keys` instead of `projects`, because it also has the keys of deleted projects.
        let is_empty = state.users.is_empty()
            && state.teams.is_empty()
            && state.project_keys.is_empty()
            && state.secret_places.is_empty()
            && state.tokens.is_empty();
        Ok(!is_empty)
    }

    async fn secret_range(&mut self) -> StoreResult<Option<(SecretId, SecretId)>> {
        let state = self.state();
        let secrets = state.secret_places.get_min().zip(state.secret_places.get_max());
        Ok(secrets.map(|((oldest, _), (newest, _))| (*oldest, *newest)))
    }

    async fn sample(&mut self, from: SecretId) -> StoreResult<Option<Sample>> {
        let state = self.state();
        let Some((id, _)) = state.secret_places.get_next(&from) else { return Ok(None) };
        let secret = state.secret(*id).cloned();
        let environment =
            secret.as_ref().and_then(|secret| state.environments.get(&secret.environment));
        let key = environment.and_then(|environment| state.newest_key(environment.project).ok());
        Ok(secret.map(|secret| Sample { secret, key }))
    }

    async fn next_secret(&mut self, from: SecretId) -> StoreResult<Option<SecretId>> {
        Ok(self.state().secret_places.get_next(&from).map(|(id, _)| *id))
    }

    async fn size(&mut self) -> StoreResult<Option<StoreSize>> {
        Ok(None)
    }
}

#[async_trait]
impl InstanceWrites for Session<Pending> {
    async fn insert_instance(
        &mut self,
        instance: &InstanceRecord,
        keys: &[InstanceKeyRecord],
    ) -> StoreResult<()> {
        let state = self.state_mut();
        if state.instance.is_some() {
            return Err(StoreError::Duplicate(Subject::Resource));
        }
        state.instance = Some((instance.clone(), keys.to_vec()).into());
        Ok(())
    }

    async fn replace_root_key(
        &mut self,
        before: &InstanceRecord,
        after: &InstanceRecord,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        let stored = state.instance.as_deref().filter(|(stored, _)| {
            stored.id == before.id
                && stored.root_key == before.root_key
                && stored.wrapped_kek == before.wrapped_kek
        });
        let (stored, keys) = stored.cloned().ok_or(GONE)?;
        let replaced = InstanceRecord {
            root_key: after.root_key,
            wrapped_kek: after.wrapped_kek.clone(),
            ..stored
        };
        state.instance = Some((replaced, keys).into());
        Ok(())
    }

    async fn replace_epoch(
        &mut self,
        before: &InstanceRecord,
        after: &InstanceRecord,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        let stored = state.instance.as_deref();
        let stored =
            stored.filter(|(stored, _)| stored.id == before.id && stored.epoch == before.epoch);
        let (stored, keys) = stored.cloned().ok_or(GONE)?;
        let replaced =
            InstanceRecord { epoch: after.epoch, canary: after.canary.clone(), ..stored };
        state.instance = Some((replaced, keys).into());
        Ok(())
    }

    async fn replace_instance_key(&mut self, key: &InstanceKeyRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let (record, mut keys) = state.instance.as_deref().cloned().ok_or(GONE)?;
        let stored = keys.iter_mut().find(|stored| stored.purpose == key.purpose);
        *stored.ok_or(GONE)? = key.clone();
        state.instance = Some((record, keys).into());
        Ok(())
    }
}
