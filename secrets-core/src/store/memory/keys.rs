use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use super::state::{KeyTimes, State, owned};
use super::{Pending, Session, Snapshot};
use crate::crypto::{ProjectKeyRecord, Sealed};
use crate::model::{
    AttemptId, EnvironmentId, ProjectId, RotationId, SecretId, Subject, Time, WebhookId,
};
use crate::store::{
    KeyReads, KeyWrites, ProjectKeyCounts, ReplacedKey, RotationRecord, SealedColumn, SealedRow,
    SecretRecord, StoreError, StoreResult,
};

const GONE: StoreError = StoreError::Stale(Subject::Project);

#[async_trait]
impl<S: Snapshot> KeyReads for Session<S> {
    async fn project_key_request(&mut self) -> StoreResult<Option<Time>> {
        Ok(self.state().project_key_request)
    }

    async fn aged_project_keys(
        &mut self,
        before: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectKeyRecord>> {
        let state = self.state();
        let newest = state.project_keys.keys().filter_map(|project| {
            let key = state.newest_key(*project).ok()?;
            let times = state.key_times.get(&(*project, key.version))?;
            (times.created < before && !key.is_destroyed()).then_some(key)
        });
        Ok(newest.take(limit as usize).collect())
    }

    async fn replaced_project_keys(
        &mut self,
        after: Option<(ProjectId, u32)>,
        limit: u32,
    ) -> StoreResult<Vec<ReplacedKey>> {
        let state = self.state();
        let replaced = state.key_times.iter().filter_map(|(place, times)| {
            let replaced_at = times.replaced.filter(|_| times.retired.is_none())?;
            let (project, version) = place;
            let key = state.project_keys.get(project)?.get(version).map(owned)?;
            let newest = state.newest_key(*project).ok()?;
            let is_listed = Some(*place) > after && !key.is_destroyed();
            is_listed.then_some(ReplacedKey { key, replaced_at, newest })
        });
        Ok(replaced.take(limit as usize).collect())
    }

    async fn project_key_counts(&mut self) -> StoreResult<ProjectKeyCounts> {
        let state = self.state();
        let mut counts = ProjectKeyCounts::default();
        for ((project, _), times) in &state.key_times {
            if state.are_keys_destroyed(*project) {
                continue;
            }
            match (times.replaced, times.retired) {
                (None, _) => counts.current += 1,
                (Some(_), None) => counts.replaced += 1,
                (Some(_), Some(_)) => counts.retired += 1,
            }
        }
        Ok(counts)
    }

    async fn all_environments(&mut self, project: ProjectId) -> StoreResult<Vec<EnvironmentId>> {
        let state = self.state();
        let environments = state.environments.values().filter(|found| found.project == project);
        let mut ids: Vec<_> = environments.map(|environment| environment.id).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    async fn sealed_rows(
        &mut self,
        column: SealedColumn,
        (environment, key_version): (EnvironmentId, u32),
        after: (Uuid, u64),
        limit: u32,
    ) -> StoreResult<Vec<SealedRow>> {
        let mut rows = self.state().sealed_rows(column, environment);
        rows.retain(|row| {
            row.sealed.key_version() == Some(key_version) && (row.object, row.version) > after
        });
        rows.sort_by_key(|row| (row.object, row.version));
        rows.truncate(limit as usize);
        Ok(rows)
    }
}

#[async_trait]
impl KeyWrites for Session<Pending> {
    async fn request_project_keys(&mut self, at: Time) -> StoreResult<()> {
        let state = self.state_mut();
        state.project_key_request = state.project_key_request.max(Some(at));
        Ok(())
    }

    async fn finish_project_key_request(&mut self, at: Time) -> StoreResult<()> {
        let state = self.state_mut();
        state.project_key_request = state.project_key_request.filter(|requested| *requested > at);
        Ok(())
    }

    async fn insert_project_key(&mut self, key: &ProjectKeyRecord, now: Time) -> StoreResult<()> {
        let state = self.state_mut();
        let is_destroyed = state.are_keys_destroyed(key.project);
        let keys = state.project_keys.get_mut(&key.project).filter(|_| !is_destroyed);
        let Some(keys) = keys.filter(|keys| !keys.contains_key(&key.version)) else {
            return Err(StoreError::Duplicate(Subject::Project));
        };
        keys.insert(key.version, key.clone().into());
        for version in 0..key.version {
            if let Some(times) = state.key_times.get_mut(&(key.project, version)) {
                times.replaced = times.replaced.or(Some(now));
            }
        }
        state.key_times.insert((key.project, key.version), KeyTimes::new(now));
        Ok(())
    }

    async fn lock_project_key(&mut self, project: ProjectId, version: u32) -> StoreResult<()> {
        self.state_mut().replaced_key(project, version).map(drop)
    }

    async fn replace_sealed(
        &mut self,
        column: SealedColumn,
        row: &SealedRow,
        sealed: &Sealed,
    ) -> StoreResult<bool> {
        let state = self.state_mut();
        let found = state.sealed_mut(column, row);
        let Some(stored) = found.filter(|stored| **stored == row.sealed) else { return Ok(false) };
        *stored = sealed.clone();
        Ok(true)
    }

    async fn retire_project_key(
        &mut self,
        project: ProjectId,
        version: u32,
        now: Time,
    ) -> StoreResult<()> {
        self.state_mut().replaced_key(project, version)?.retired = Some(now);
        Ok(())
    }

    async fn destroy_project_keys(&mut self, project: ProjectId, before: Time) -> StoreResult<u64> {
        let state = self.state_mut();
        if state.deleted_projects.get(&project).is_none_or(|deleted| deleted.0 >= before) {
            return Ok(0);
        }
        let Some(keys) = state.project_keys.get_mut(&project) else { return Ok(0) };
        let mut destroyed = 0;
        for (version, key) in keys.clone() {
            if !key.is_destroyed() {
                let destroyed_key = ProjectKeyRecord { wrapped: Vec::new(), ..owned(&key) };
                keys.insert(version, destroyed_key.into());
                destroyed += 1;
            }
        }
        Ok(destroyed)
    }
}

impl State {
    /// Returns the times of creation, replacement and retirement of a project key that was replaced
    /// and is neither retired nor destroyed.
    fn replaced_key(&mut self, project: ProjectId, version: u32) -> StoreResult<&mut KeyTimes> {
        if self.are_keys_destroyed(project) {
            return Err(GONE);
        }
        let times = self.key_times.get_mut(&(project, version));
        let replaced = times.filter(|times| times.replaced.is_some() && times.retired.is_none());
        replaced.ok_or(GONE)
    }

    /// True if a purge has destroyed the keys of this project.
    pub(super) fn are_keys_destroyed(&self, project: ProjectId) -> bool {
        let keys = self.project_keys.get(&project);
        keys.is_some_and(|keys| keys.values().any(|key| key.is_destroyed()))
    }

    /// Deletes all encryption keys of a project.
    pub(super) fn forget_keys(&mut self, project: ProjectId) {
        let keys = self.project_keys.remove(&project).unwrap_or_default();
        for version in keys.keys() {
            self.key_times.remove(&(project, *version));
        }
    }

    /// Returns the encrypted records of an environment in one column.
    fn sealed_rows(&self, column: SealedColumn, environment: EnvironmentId) -> Vec<SealedRow> {
        let secrets = || self.secrets.get(&environment).into_iter();
        let secrets = || secrets().flat_map(|secrets| secrets.values());
        let is_here = |rotation: &RotationRecord| rotation.environment == environment;
        let rotations = || self.rotations.values().filter(|rotation| is_here(rotation));
        let holds = |rotation| self.rotations.get(&rotation).is_some_and(|it| is_here(it));
        match column {
            SealedColumn::Value => secrets().map(|secret| value_row(secret)).collect(),
            SealedColumn::Description => secrets().filter_map(|it| description_row(it)).collect(),
            SealedColumn::PreviousValue => {
                secrets().flat_map(|secret| self.previous_rows(secret)).collect()
            }
            SealedColumn::Connection => rotations()
                .map(|it| other_row(it.environment, it.id.uuid(), &it.settings.connection))
                .collect(),
            SealedColumn::Proxy => rotations()
                .filter_map(|it| {
                    let proxy = it.settings.proxy.as_ref()?;
                    Some(other_row(it.environment, it.id.uuid(), proxy))
                })
                .collect(),
            SealedColumn::Pending => self
                .attempts
                .values()
                .filter(|attempt| holds(attempt.rotation))
                .filter_map(|attempt| {
                    let row = other_row(environment, attempt.id.uuid(), attempt.pending.as_ref()?);
                    Some(SealedRow { version: attempt.sequence, ..row })
                })
                .collect(),
            SealedColumn::Webhook => self
                .webhooks
                .values()
                .filter(|webhook| holds(webhook.rotation))
                .map(|webhook| other_row(environment, webhook.id.uuid(), &webhook.sealed))
                .collect(),
        }
    }

    fn previous_rows(&self, secret: &SecretRecord) -> Vec<SealedRow> {
        let versions = self.secret_versions.get(&secret.id).into_iter();
        let versions = versions.flat_map(|versions| versions.values());
        let row = |version: &_| value_row(&crate::store::SecretVersion::of(version, secret));
        versions.map(|version| row(version)).collect()
    }

    /// Returns a mutable reference to the stored record at the place of `row`; `None` if there is
    /// none.
    fn sealed_mut(&mut self, column: SealedColumn, row: &SealedRow) -> Option<&mut Sealed> {
        let object = row.object;
        match column {
            SealedColumn::Value | SealedColumn::Description => {
                let (environment, key) = self.secret_places.get(&SecretId::from(object))?.clone();
                let secret = self.secrets.get_mut(&environment)?.get_mut(&key)?;
                let secret = Arc::make_mut(secret);
                if column == SealedColumn::Description {
                    return secret.description.as_mut();
                }
                (u64::from(secret.version) == row.version).then_some(&mut secret.sealed)
            }
            SealedColumn::PreviousValue => {
                let versions = self.secret_versions.get_mut(&SecretId::from(object))?;
                let version = versions.get_mut(&u32::try_from(row.version).ok()?)?;
                Some(&mut Arc::make_mut(version).sealed)
            }
            SealedColumn::Connection | SealedColumn::Proxy => {
                let rotation = self.rotations.get_mut(&RotationId::from(object))?;
                let settings = &mut Arc::make_mut(rotation).settings;
                if column == SealedColumn::Proxy {
                    return settings.proxy.as_mut();
                }
                Some(&mut settings.connection)
            }
            SealedColumn::Pending => {
                let attempt = self.attempts.get_mut(&AttemptId::from(object))?;
                Arc::make_mut(attempt).pending.as_mut()
            }
            SealedColumn::Webhook => {
                let webhook = self.webhooks.get_mut(&WebhookId::from(object))?;
                Some(&mut Arc::make_mut(webhook).sealed)
            }
        }
    }
}

fn value_row(secret: &SecretRecord) -> SealedRow {
    SealedRow {
        key: secret.key.to_string(),
        version: u64::from(secret.version),
        hidden: secret.hidden,
        ..other_row(secret.environment, secret.id.uuid(), &secret.sealed)
    }
}

fn description_row(secret: &SecretRecord) -> Option<SealedRow> {
    let sealed = secret.description.as_ref()?;
    let row = other_row(secret.environment, secret.id.uuid(), sealed);
    Some(SealedRow { key: secret.key.to_string(), ..row })
}

fn other_row(environment: EnvironmentId, object: Uuid, sealed: &Sealed) -> SealedRow {
    let (key, version, hidden) = (String::new(), 0, false);
    SealedRow { environment, object, key, version, hidden, sealed: sealed.clone() }
}
