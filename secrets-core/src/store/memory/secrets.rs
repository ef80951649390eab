use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::state::{State, Table, owned, refers};
use super::{Pending, Session, Snapshot};
use crate::model::{EnvironmentId, SecretId, SecretKey, Subject};
use crate::store::{
    Change, MAX_PRUNED, SecretReads, SecretRecord, SecretVersion, SecretWrites, StoreError,
    StoreResult,
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

    async fn secret_history(
        &mut self,
        secret: SecretId,
        before: u32,
        limit: u32,
    ) -> StoreResult<Option<Vec<SecretVersion>>> {
        if self.state().secret(secret).is_none() {
            return Ok(None);
        }
        self.secret_versions(secret, before, limit).await.map(Some)
    }
}

#[async_trait]
impl SecretWrites for Session<Pending> {
    async fn insert_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()> {
        self.all_or_none(secrets, State::insert_secret)
    }

    async fn replace_secrets(&mut self, secrets: &[SecretRecord]) -> StoreResult<()> {
        self.all_or_none(secrets, State::replace_secret)
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

    async fn prune_versions(&mut self, limits: &[(SecretId, u32)]) -> StoreResult<()> {
        let max = (MAX_PRUNED as usize).max(2 * limits.len());
        let state = self.state_mut();
        let mut oldest = Vec::new();
        for (secret, before) in limits {
            let versions = state.secret_versions.get(secret).into_iter();
            oldest.extend(
                versions.flat_map(|table| table.range(..*before)).map(|(n, _)| (*n, *secret)),
            );
        }
        oldest.sort_unstable();
        for (version, secret) in oldest.into_iter().take(max) {
            if let Some((environment, _)) = state.secret_places.get(&secret).cloned() {
                state.forget_version(environment, secret, version);
            }
        }
        Ok(())
    }

    async fn prune_history(&mut self, environment: EnvironmentId, excess: u64) -> StoreResult<()> {
        let state = self.state_mut();
        let mut oldest: Vec<_> = state
            .secrets_of(environment)
            .values()
            .flat_map(|secret| state.prunable_versions(secret))
            .map(|version| (version.replaced_at, version.version, version.secret))
            .collect();
        oldest.sort_unstable();
        let mut freed = 0;
        for (_, version, secret) in oldest.into_iter().take(MAX_PRUNED as usize) {
            if freed >= excess {
                break;
            }
            freed += state.forget_version(environment, secret, version) as u64;
        }
        Ok(())
    }
}

impl Session<Pending> {
    /// Writes secrets to a copy of the state. The copy becomes the new state only if all writes
    /// succeed.
    fn all_or_none(
        &mut self,
        secrets: &[SecretRecord],
        write: fn(&mut State, &SecretRecord) -> StoreResult<()>,
    ) -> StoreResult<()> {
        let mut state = owned(&self.state());
        for secret in secrets {
            write(&mut state, secret)?;
        }
        *self.state_mut() = state;
        Ok(())
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

    fn replace_secret(&mut self, secret: &SecretRecord) -> StoreResult<()> {
        let old =
            self.secret(secret.id).filter(|old| old.version.checked_add(1) == Some(secret.version));
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
        self.sizes.entry(environment).or_default().history += replaced.sealed.as_bytes().len();
        self.secret_versions.entry(old.id).or_default().insert(old.version, replaced.into());
        self.put_secret(SecretRecord {
            environment,
            key,
            created_by,
            created_at,
            ..secret.clone()
        });
        Ok(())
    }

    pub(super) fn forget_secret(&mut self, secret: SecretId) -> StoreResult<()> {
        let (environment, key) = self.secret_places.remove(&secret).ok_or(GONE)?;
        let removed = self.secrets.entry(environment).or_default().remove(&key);
        let versions = self.secret_versions.remove(&secret).unwrap_or_default();
        let sizes = self.sizes.entry(environment).or_default();
        sizes.current -= removed.map_or(0, |secret| secret.size());
        sizes.history -=
            versions.values().map(|version| version.sealed.as_bytes().len()).sum::<usize>();
        Ok(())
    }

    fn put_secret(&mut self, secret: SecretRecord) {
        let (environment, key, size) = (secret.environment, secret.key.clone(), secret.size());
        self.secret_places.insert(secret.id, (environment, key.clone()));
        let replaced = self.secrets.entry(environment).or_default().insert(key, secret.into());
        let sizes = self.sizes.entry(environment).or_default();
        sizes.current += size;
        sizes.current -= replaced.map_or(0, |secret| secret.size());
    }

    /// Returns the previous versions of a secret that may be deleted. Excludes the last previous
    /// version if a rotation replaced it.
    fn prunable_versions(&self, secret: &SecretRecord) -> Vec<Arc<SecretVersion>> {
        let kept = (secret.change == Change::Rotated).then(|| secret.version - 1);
        let versions = self.secret_versions.get(&secret.id).into_iter().flat_map(Table::values);
        versions.filter(|version| Some(version.version) != kept).cloned().collect()
    }

    /// Deletes a version of a secret. Returns its size.
    pub(super) fn forget_version(
        &mut self,
        environment: EnvironmentId,
        secret: SecretId,
        version: u32,
    ) -> usize {
        let versions = self.secret_versions.entry(secret).or_default();
        let removed = versions.remove(&version);
        let size = removed.map_or(0, |version| version.sealed.as_bytes().len());
        self.sizes.entry(environment).or_default().history -= size;
        size
    }
}
