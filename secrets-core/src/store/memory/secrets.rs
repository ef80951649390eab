use std::collections::BTreeSet;

use async_trait::async_trait;

use super::state::{State, owned, refers};
use super::{Pending, Session, Snapshot};
use crate::model::{EnvironmentId, SecretId, SecretKey, Subject};
use crate::store::{
    SecretReads, SecretRecord, SecretVersion, SecretWrites, StoreError, StoreResult,
};

#[async_trait]
impl<S: Snapshot> SecretReads for Session<S> {
    async fn secrets(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretRecord>> {
        let secrets = self.state().secrets_of(environment);
        let keys: BTreeSet<_> = keys.iter().collect();
        Ok(keys.into_iter().filter_map(|key| secrets.get(key)).map(owned).collect())
    }

    async fn count_secrets(&mut self, environment: EnvironmentId) -> StoreResult<u64> {
        Ok(self.state().secrets_of(environment).values().map(|_| 1).sum())
    }

    async fn secret_versions(
        &mut self,
        secret: SecretId,
        before: u32,
        limit: u32,
    ) -> StoreResult<Vec<SecretVersion>> {
        let versions = self.state().secret_versions.get(&secret).cloned().unwrap_or_default();
        Ok(versions.range(..before).rev().take(limit as usize).map(|(_, old)| owned(old)).collect())
    }
}

#[async_trait]
impl SecretWrites for Session<Pending> {
    async fn insert_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()> {
        // On a copy, so that either all secrets are inserted or none.
        let mut state = self.state();
        for secret in secrets {
            state.insert_secret(secret)?;
        }
        *self.state_mut() = state;
        Ok(())
    }

    async fn replace_secret(&mut self, secret: &SecretRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state
            .secret(secret.id)
            .filter(|old| old.version.checked_add(1) == Some(secret.version));
        let old = old.cloned().ok_or(GONE)?;
        let replaced = SecretVersion {
            secret: old.id,
            version: old.version,
            sealed: old.sealed,
            hidden: old.hidden,
            change: old.change,
            changed_by: old.changed_by,
            changed_at: old.changed_at,
            replaced_at: secret.changed_at,
        };
        let (environment, key) = (old.environment, old.key);
        let (created_by, created_at) = (old.created_by, old.created_at);
        state.secret_versions.entry(old.id).or_default().insert(old.version, replaced.into());
        state.put_secret(SecretRecord {
            environment,
            key,
            created_by,
            created_at,
            ..secret.clone()
        });
        Ok(())
    }

    async fn update_secret_description(&mut self, secret: &SecretRecord) -> StoreResult<()> {
        let state = self.state_mut();
        if let Some(old) = state.secret(secret.id).cloned() {
            let (updated_by, updated_at) = (secret.updated_by, secret.updated_at);
            let description = secret.description.clone();
            state.put_secret(SecretRecord { description, updated_by, updated_at, ..old });
        }
        Ok(())
    }

    async fn delete_secret(&mut self, secret: SecretId) -> StoreResult<()> {
        self.state_mut().forget_secret(secret)
    }
}

const GONE: StoreError = StoreError::Stale(Subject::Secret);

impl State {
    fn insert_secret(&mut self, secret: &SecretRecord) -> StoreResult<()> {
        let taken = self.secrets_of(secret.environment).contains_key(&secret.key);
        if taken || self.secret_places.contains_key(&secret.id) {
            return Err(StoreError::Duplicate(Subject::Secret));
        }
        refers(self.environments.contains_key(&secret.environment), "environment")?;
        self.put_secret(secret.clone());
        Ok(())
    }

    pub(super) fn forget_secret(&mut self, secret: SecretId) -> StoreResult<()> {
        let (environment, key) = self.secret_places.remove(&secret).ok_or(GONE)?;
        self.secrets.entry(environment).or_default().remove(&key);
        self.secret_versions.remove(&secret);
        Ok(())
    }

    fn put_secret(&mut self, secret: SecretRecord) {
        let (environment, key) = (secret.environment, secret.key.clone());
        self.secret_places.insert(secret.id, (environment, key.clone()));
        self.secrets.entry(environment).or_default().insert(key, secret.into());
    }
}
