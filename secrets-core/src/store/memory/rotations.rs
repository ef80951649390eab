use std::cmp::Reverse;
use std::collections::BTreeSet;

use async_trait::async_trait;

use super::state::{State, owned, refers, retained};
use super::{Pending, Session, Snapshot};
use crate::model::rotations::RotationStatus;
use crate::model::{
    AttemptId, EnvironmentId, ProjectId, RotationId, RotationName, SecretKey, Subject, TeamId, Time,
};
use crate::store::{
    AttemptRecord, DueRotation, Lease, RotationFailure, RotationLocation, RotationReads,
    RotationRecord, RotationSchedule, RotationSettings, RotationWrites, StoreError, StoreResult,
};

#[async_trait]
impl<S: Snapshot> RotationReads for Session<S> {
    async fn rotations(&mut self, environment: EnvironmentId) -> StoreResult<Vec<RotationRecord>> {
        let state = self.state();
        let mut rotations: Vec<_> = state.rotations_of(environment).cloned().collect();
        rotations.sort_by(|one, other| one.settings.name.cmp(&other.settings.name));
        Ok(rotations)
    }

    async fn rotation_by_name(
        &mut self,
        environment: EnvironmentId,
        name: &RotationName,
    ) -> StoreResult<Option<RotationRecord>> {
        let state = self.state();
        Ok(state
            .rotations_of(environment)
            .find(|rotation| rotation.settings.name == *name)
            .cloned())
    }

    async fn rotation(&mut self, rotation: RotationId) -> StoreResult<Option<RotationRecord>> {
        Ok(self.state().rotations.get(&rotation).map(owned))
    }

    async fn next_rotation(&mut self, from: RotationId) -> StoreResult<Option<RotationRecord>> {
        Ok(self.state().rotations.get_next(&from).map(|(_, rotation)| owned(rotation)))
    }

    async fn next_rotation_id(&mut self, from: RotationId) -> StoreResult<Option<RotationId>> {
        Ok(self.state().rotations.get_next(&from).map(|(id, _)| *id))
    }

    async fn rotation_location(
        &mut self,
        rotation: RotationId,
    ) -> StoreResult<Option<RotationLocation>> {
        let state = self.state();
        let Some(rotation) = state.rotations.get(&rotation) else { return Ok(None) };
        let Some(environment) = state.environments.get(&rotation.environment).map(owned) else {
            return Ok(None);
        };
        let Some((project, is_deleted)) = state.find_project(environment.project) else {
            return Ok(None);
        };
        let Some(plan) = state.teams.get(&project.team).map(|team| team.plan.clone()) else {
            return Ok(None);
        };
        let key = state.newest_key(project.id)?;
        Ok(Some(RotationLocation { project, is_deleted, plan, environment, key }))
    }

    async fn count_rotations(&mut self, team: TeamId) -> StoreResult<u64> {
        let state = self.state();
        let is_of_team = |project| state.projects.get(&project).is_some_and(|it| it.team == team);
        Ok(state.count_rotations(is_of_team))
    }

    async fn count_project_rotations(&mut self, project: ProjectId) -> StoreResult<u64> {
        Ok(self.state().count_rotations(|other| other == project))
    }

    async fn due_rotations(
        &mut self,
        now: Time,
        after: Option<DueRotation>,
        limit: u32,
    ) -> StoreResult<Vec<DueRotation>> {
        let state = self.state();
        let idle = state.rotations.values().filter(|rotation| !state.is_leased(rotation.id, now));
        let due = idle.filter_map(|rotation| {
            let work_at = rotation.schedule.work_at.filter(|work_at| *work_at <= now)?;
            let team = state.team_of(rotation.environment)?;
            Some(DueRotation { id: rotation.id, team, work_at })
        });
        let position = |due: &DueRotation| (due.work_at, due.id);
        let mut due: Vec<_> =
            due.filter(|due| after.is_none_or(|after| position(due) > position(&after))).collect();
        due.sort_unstable_by_key(position);
        due.truncate(limit as usize);
        Ok(due)
    }

    async fn managed_keys(
        &mut self,
        environment: EnvironmentId,
        keys: &[SecretKey],
    ) -> StoreResult<Vec<SecretKey>> {
        Ok(self.state().managed(environment, keys))
    }

    async fn open_attempt(&mut self, rotation: RotationId) -> StoreResult<Option<AttemptRecord>> {
        Ok(self.state().open_attempt(rotation).cloned())
    }

    async fn attempt(&mut self, attempt: AttemptId) -> StoreResult<Option<AttemptRecord>> {
        Ok(self.state().attempts.get(&attempt).map(owned))
    }

    async fn concluded_attempts(
        &mut self,
        rotation: RotationId,
        limit: u32,
    ) -> StoreResult<Vec<AttemptRecord>> {
        let state = self.state();
        let attempts = state.attempts_of(rotation);
        let mut concluded: Vec<_> =
            attempts.filter(|attempt| attempt.completed_at.is_some()).cloned().collect();
        concluded.sort_by_key(|attempt| Reverse(attempt.sequence));
        concluded.truncate(limit as usize);
        Ok(concluded)
    }
}

#[async_trait]
impl RotationWrites for Session<Pending> {
    async fn insert_rotation(
        &mut self,
        rotation: &RotationRecord,
        keys: &[SecretKey],
    ) -> StoreResult<()> {
        let state = self.state_mut();
        let (id, environment) = (rotation.id, rotation.environment);
        let is_taken = state
            .rotations_of(environment)
            .any(|other| other.settings.name == rotation.settings.name);
        if is_taken || state.rotations.contains_key(&id) {
            return Err(StoreError::Duplicate(Subject::Rotation));
        }
        if !state.managed(environment, keys).is_empty() {
            return Err(StoreError::Duplicate(Subject::Secret));
        }
        refers(state.environments.contains_key(&environment), "environment")?;
        state.managed_keys.extend(keys.iter().map(|key| ((environment, key.clone()), id)));
        state.rotations.insert(id, rotation.clone().into());
        Ok(())
    }

    async fn lock_rotation(&mut self, rotation: RotationId) -> StoreResult<()> {
        // The transaction has locked the whole store already.
        if self.state().rotations.contains_key(&rotation) { Ok(()) } else { Err(GONE) }
    }

    async fn update_rotation(&mut self, rotation: &RotationRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state.rotations.get(&rotation.id).map(owned).ok_or(GONE)?;
        let settings = RotationSettings {
            name: old.settings.name,
            integration: old.settings.integration,
            keys: old.settings.keys,
            ..rotation.settings.clone()
        };
        let new = RotationRecord {
            environment: old.environment,
            settings,
            created_by: old.created_by,
            created_at: old.created_at,
            ..rotation.clone()
        };
        state.rotations.insert(new.id, new.into());
        Ok(())
    }

    async fn delete_rotation(&mut self, rotation: RotationId) -> StoreResult<()> {
        let state = self.state_mut();
        if !state.rotations.contains_key(&rotation) {
            return Err(GONE);
        }
        state.forget_rotations(|one| one.id == rotation);
        Ok(())
    }

    async fn disable_rotations(
        &mut self,
        project: ProjectId,
        code: &str,
        message: &str,
        now: Time,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        let rotations: Vec<_> = state.rotations.values().map(owned).collect();
        for old in rotations {
            let environment = state.environments.get(&old.environment);
            let is_selected = environment.is_some_and(|environment| environment.project == project);
            if !is_selected || old.status == RotationStatus::Disabled {
                continue;
            }
            let open = state.open_attempt(old.id).map(|_| old.schedule.work_at.unwrap_or(now));
            let disabled = RotationRecord {
                status: RotationStatus::Disabled,
                failure: RotationFailure {
                    code: Some(code.to_owned()),
                    message: Some(message.to_owned()),
                    since: None,
                    ..old.failure
                },
                schedule: RotationSchedule {
                    work_at: open.or(old.slots.retire_at),
                    ..old.schedule
                },
                updated_at: now,
                ..old
            };
            state.rotations.insert(disabled.id, disabled.into());
        }
        Ok(())
    }

    async fn acquire_lease(
        &mut self,
        rotation: RotationId,
        now: Time,
        until: Time,
    ) -> StoreResult<Option<Lease>> {
        let state = self.state_mut();
        if !state.rotations.contains_key(&rotation) || state.is_leased(rotation, now) {
            return Ok(None);
        }
        let (epoch, _) = state.leases.get(&rotation).copied().unwrap_or_default();
        let epoch = epoch + 1;
        state.leases.insert(rotation, (epoch, Some(until)));
        Ok(Some(Lease { rotation, epoch, until }))
    }

    async fn extend_lease(&mut self, lease: &Lease) -> StoreResult<()> {
        let state = self.state_mut();
        if !state.is_held(lease) {
            return Err(GONE);
        }
        state.leases.insert(lease.rotation, (lease.epoch, Some(lease.until)));
        Ok(())
    }

    async fn release_lease(&mut self, lease: &Lease) -> StoreResult<()> {
        let state = self.state_mut();
        if state.is_held(lease) {
            state.leases.insert(lease.rotation, (lease.epoch, None));
        }
        Ok(())
    }

    async fn release_all_leases(&mut self) -> StoreResult<()> {
        let state = self.state_mut();
        state.leases = state.leases.iter().map(|(of, (epoch, _))| (*of, (*epoch, None))).collect();
        Ok(())
    }

    async fn insert_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let is_open = attempt.completed_at.is_none();
        let conflicts = |other: &AttemptRecord| {
            other.sequence == attempt.sequence || (is_open && other.completed_at.is_none())
        };
        let is_taken = state.attempts_of(attempt.rotation).any(conflicts);
        if is_taken || state.attempts.contains_key(&attempt.id) {
            return Err(TAKEN);
        }
        refers(state.rotations.contains_key(&attempt.rotation), "rotation")?;
        state.attempts.insert(attempt.id, attempt.clone().into());
        Ok(())
    }

    async fn update_attempt(&mut self, attempt: &AttemptRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state.attempts.get(&attempt.id).filter(|old| old.completed_at.is_none());
        let old = old.map(owned).ok_or(GONE)?;
        let new = AttemptRecord {
            rotation: old.rotation,
            sequence: old.sequence,
            slot: old.slot,
            trigger: old.trigger,
            triggered_by: old.triggered_by,
            started_at: old.started_at,
            ..attempt.clone()
        };
        state.attempts.insert(new.id, new.into());
        Ok(())
    }

    async fn trim_attempts(
        &mut self,
        rotation: RotationId,
        kept: u32,
        limit: u32,
    ) -> StoreResult<u64> {
        let newest = self.concluded_attempts(rotation, kept.saturating_add(limit)).await?;
        let surplus = newest.get(kept as usize..).unwrap_or_default();
        let state = self.state_mut();
        for attempt in surplus {
            state.attempts.remove(&attempt.id);
        }
        Ok(surplus.len() as u64)
    }

    async fn prune_attempts(&mut self, before: Time, limit: u32) -> StoreResult<u64> {
        let state = self.state_mut();
        let is_last = |attempt: &AttemptRecord| {
            let rotation = state.rotations.get(&attempt.rotation);
            rotation.is_none_or(|rotation| attempt.sequence >= rotation.sequence)
        };
        let old = state.attempts.values().filter(|attempt| !is_last(attempt));
        let old = old.filter_map(|attempt| Some((attempt.completed_at?, attempt.id)));
        let mut old: Vec<_> = old.filter(|(completed_at, _)| *completed_at < before).collect();
        old.sort_unstable();
        old.truncate(limit as usize);
        for (_, attempt) in &old {
            state.attempts.remove(attempt);
        }
        Ok(old.len() as u64)
    }
}

const GONE: StoreError = StoreError::Stale(Subject::Rotation);

/// Error for a rotation that would get a second unfinished attempt, or two attempts with the same
/// number.
const TAKEN: StoreError = StoreError::Duplicate(Subject::Rotation);

impl State {
    /// Returns the number of rotations in the projects for which `counts` returns true.
    fn count_rotations(&self, counts: impl Fn(ProjectId) -> bool) -> u64 {
        let environments = self.rotations.values().map(|rotation| rotation.environment);
        let projects = environments.filter_map(|id| Some(self.environments.get(&id)?.project));
        projects.filter(|project| counts(*project)).map(|_| 1).sum()
    }

    /// Deletes the rotations for which `is_selected` returns true, with their attempts, leases,
    /// reserved secret keys and webhooks.
    pub(super) fn forget_rotations(&mut self, is_selected: impl Fn(&RotationRecord) -> bool) {
        let selected: BTreeSet<_> =
            self.rotations.values().filter(|one| is_selected(one)).map(|one| one.id).collect();
        if selected.is_empty() {
            return;
        }
        self.rotations = retained(&self.rotations, |one| !selected.contains(&one.id));
        self.attempts = retained(&self.attempts, |attempt| !selected.contains(&attempt.rotation));
        for rotation in &selected {
            self.leases.remove(rotation);
        }
        let reserved = self.managed_keys.iter().filter(|(_, by)| !selected.contains(by));
        self.managed_keys = reserved.map(|(place, by)| (place.clone(), *by)).collect();
        self.forget_webhooks(|webhook| selected.contains(&webhook.rotation));
    }

    /// Iterates over the rotations of an environment.
    pub(super) fn rotations_of(
        &self,
        environment: EnvironmentId,
    ) -> impl Iterator<Item = &RotationRecord> {
        let rotations = self.rotations.values().map(AsRef::as_ref);
        rotations.filter(move |rotation: &&RotationRecord| rotation.environment == environment)
    }

    fn attempts_of(&self, rotation: RotationId) -> impl Iterator<Item = &AttemptRecord> {
        let attempts = self.attempts.values().map(AsRef::as_ref);
        attempts.filter(move |attempt: &&AttemptRecord| attempt.rotation == rotation)
    }

    pub(super) fn open_attempt(&self, rotation: RotationId) -> Option<&AttemptRecord> {
        self.attempts_of(rotation).find(|attempt| attempt.completed_at.is_none())
    }

    /// Returns the given secret keys that rotations of the environment have reserved, each once and
    /// sorted.
    fn managed(&self, environment: EnvironmentId, keys: &[SecretKey]) -> Vec<SecretKey> {
        let keys: BTreeSet<_> = keys.iter().cloned().collect();
        let is_managed =
            |key: &SecretKey| self.managed_keys.contains_key(&(environment, key.clone()));
        keys.into_iter().filter(is_managed).collect()
    }

    pub(super) fn is_leased(&self, rotation: RotationId, now: Time) -> bool {
        let until = self.leases.get(&rotation).and_then(|(_, until)| *until);
        until.is_some_and(|until| until > now)
    }

    fn is_held(&self, lease: &Lease) -> bool {
        let held = self.leases.get(&lease.rotation);
        held.is_some_and(|(epoch, until)| *epoch == lease.epoch && until.is_some())
    }
}
