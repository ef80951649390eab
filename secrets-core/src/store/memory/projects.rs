use std::collections::BTreeSet;

use async_trait::async_trait;
use imbl::OrdMap;

use super::state::{KeyTimes, State, owned, refers, retained};
use super::{Pending, Session, Snapshot};
use crate::crypto::ProjectKeyRecord;
use crate::model::{EnvironmentId, Principal, ProjectId, ProjectRef, Subject, TeamId, Time};
use crate::store::{
    ProjectReads, ProjectRecord, ProjectRelation, ProjectWrites, PurgeProgress, Relation,
    StoreError, StoreResult,
};

#[async_trait]
impl<S: Snapshot> ProjectReads for Session<S> {
    async fn project(
        &mut self,
        project: &ProjectRef,
        principal: Principal,
    ) -> StoreResult<Option<ProjectRelation>> {
        Ok(self.state().project_relation(project, principal))
    }

    async fn deleted_project(
        &mut self,
        project: ProjectId,
        since: Time,
        principal: Principal,
    ) -> StoreResult<Option<ProjectRelation>> {
        let state = self.state();
        let deleted = state.deleted_projects.get(&project).filter(|deleted| deleted.0 > since);
        let record = deleted.map(|deleted| deleted.1.clone());
        Ok(record.and_then(|project| state.relation_to(project, principal)))
    }

    async fn purgeable_projects(
        &mut self,
        before: Time,
        now: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectRecord>> {
        let state = self.state();
        let busy = state.projects_with_running_attempts(now);
        let deleted = state.deleted_projects.values().filter(|deleted| deleted.0 < before);
        let mut purgeable: Vec<_> =
            deleted.filter(|deleted| !busy.contains(&deleted.1.id)).collect();
        purgeable.sort_by_key(|deleted| (deleted.0, deleted.1.id));
        Ok(purgeable.into_iter().take(limit as usize).map(|deleted| deleted.1.clone()).collect())
    }

    async fn projects(&mut self, principal: Principal) -> StoreResult<Vec<ProjectRecord>> {
        let state = self.state();
        let mut projects: Vec<_> = state
            .projects
            .values()
            .filter(|project| state.relation(project, principal) != Relation::None)
            .map(owned)
            .collect();
        projects.sort_by_key(|project| (project.created_at, project.id));
        Ok(projects)
    }

    async fn count_projects(&mut self, team: TeamId) -> StoreResult<u64> {
        Ok(self.state().projects.values().filter(|project| project.team == team).map(|_| 1).sum())
    }

    async fn count_deleted_projects(&mut self, team: TeamId) -> StoreResult<u64> {
        let state = self.state();
        // Deleted environments have the time of the Unix epoch.
        let deleted =
            state.deleted_projects.values().filter(|deleted| deleted.0 > Time::UNIX_EPOCH);
        Ok(deleted.filter(|deleted| deleted.1.team == team).map(|_| 1).sum())
    }

    async fn project_key(
        &mut self,
        project: ProjectId,
        version: u32,
    ) -> StoreResult<Option<ProjectKeyRecord>> {
        let state = self.state();
        let exists = state.projects.contains_key(&project);
        let keys = state.project_keys.get(&project).filter(|_| exists);
        Ok(keys.and_then(|keys| keys.get(&version)).map(owned))
    }
}

#[async_trait]
impl ProjectWrites for Session<Pending> {
    async fn insert_project(
        &mut self,
        project: &ProjectRecord,
        key: &ProjectKeyRecord,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        if state.project_slugs.contains_key(project.slug.as_str())
            || state.project_keys.contains_key(&project.id)
        {
            return Err(StoreError::Duplicate(Subject::Project));
        }
        refers(state.teams.contains_key(&project.team), "team")?;
        refers(key.project == project.id, "project")?;
        state.project_slugs.insert(project.slug.to_string(), project.id);
        state.project_keys.entry(project.id).or_default().insert(key.version, key.clone().into());
        let times = KeyTimes::new(project.created_at);
        state.key_times.insert((project.id, key.version), times);
        state.projects.insert(project.id, project.clone().into());
        Ok(())
    }

    async fn update_project(&mut self, project: &ProjectRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state.projects.get(&project.id).map(owned).ok_or(GONE)?;
        let (name, description) = (project.name.clone(), project.description.clone());
        let new = ProjectRecord { name, description, updated_at: project.updated_at, ..old };
        state.projects.insert(project.id, new.into());
        Ok(())
    }

    async fn delete_project(&mut self, project: ProjectId, now: Time) -> StoreResult<()> {
        let state = self.state_mut();
        // The slug stays taken. The contents stay too, but are unreachable, because every lookup
        // goes through the project.
        let record = state.projects.remove(&project).ok_or(GONE)?;
        state.deleted_projects.insert(project, (now, owned(&record)).into());
        state.narrow_tokens(|scope| scope.projects.retain(|held| *held != project));
        Ok(())
    }

    async fn restore_project(
        &mut self,
        project: ProjectId,
        now: Time,
        since: Time,
    ) -> StoreResult<()> {
        let state = self.state_mut();
        if state.are_keys_destroyed(project) {
            return Err(GONE);
        }
        let deleted = state.deleted_projects.get(&project).filter(|deleted| deleted.0 > since);
        let record = deleted.map(|deleted| deleted.1.clone()).ok_or(GONE)?;
        state.deleted_projects.remove(&project);
        state.projects.insert(project, ProjectRecord { updated_at: now, ..record }.into());
        Ok(())
    }

    async fn purge_project(
        &mut self,
        project: ProjectId,
        before: Time,
        limit: u32,
    ) -> StoreResult<PurgeProgress> {
        let state = self.state_mut();
        if state.deleted_projects.get(&project).is_none_or(|deleted| deleted.0 >= before) {
            return Ok(PurgeProgress::Nothing);
        }
        let environments: BTreeSet<_> = state
            .environments
            .values()
            .filter(|environment| environment.project == project)
            .map(|environment| environment.id)
            .collect();
        for kind in PURGED {
            if kind(state, project, &environments, limit as usize)? > 0 {
                return Ok(PurgeProgress::Partial);
            }
        }
        state.environment_names.remove(&project);
        state.forget_keys(project);
        if let Some(purged) = state.deleted_projects.remove(&project)
            && purged.1.is_deleted_environment()
        {
            state.project_slugs.remove(purged.1.slug.as_str());
        }
        Ok(PurgeProgress::Complete)
    }

    async fn lock_project(&mut self, project: ProjectId) -> StoreResult<()> {
        // The transaction has locked the whole store already.
        if self.state().projects.contains_key(&project) { Ok(()) } else { Err(GONE) }
    }
}

const GONE: StoreError = StoreError::Stale(Subject::Project);

/// Function that deletes rows of one kind that belong to a project with these environments, at most
/// the given number. Returns the number of deleted rows.
type PurgeRows = fn(&mut State, ProjectId, &BTreeSet<EnvironmentId>, usize) -> StoreResult<usize>;

/// Functions that delete the rows of a project that is purged, one for each kind of row, in the
/// order in which they are called: rows that refer to other rows are deleted before these.
const PURGED: [PurgeRows; 7] = [
    |state, _, environments, limit| {
        let places = state.secret_places.iter();
        let secrets = places.filter(|(_, (of, _))| environments.contains(of));
        let versions = secrets.flat_map(|(secret, (of, _))| {
            let versions = state.secret_versions.get(secret).into_iter();
            versions.flat_map(OrdMap::keys).map(|version| (*of, *secret, *version))
        });
        let versions: Vec<_> = versions.take(limit).collect();
        for (environment, secret, version) in &versions {
            state.forget_version(*environment, *secret, *version);
        }
        Ok(versions.len())
    },
    |state, _, environments, limit| {
        let places = state.secret_places.iter();
        let secrets = places.filter(|(_, (of, _))| environments.contains(of));
        let secrets: Vec<_> = secrets.map(|(secret, _)| *secret).take(limit).collect();
        for secret in &secrets {
            state.forget_secret(*secret)?;
        }
        Ok(secrets.len())
    },
    |state, project, _, limit| {
        let scans = state.scans.values().filter(|scan| scan.project == Some(project));
        let scans: Vec<_> = scans.map(|scan| scan.id).collect();
        let findings = scans.iter().flat_map(|scan| {
            let findings = state.findings.get(scan).into_iter();
            findings.flat_map(OrdMap::keys).map(|finding| (*scan, *finding))
        });
        let findings: Vec<_> = findings.take(limit).collect();
        for (scan, finding) in &findings {
            state.findings.entry(*scan).or_default().remove(finding);
        }
        Ok(findings.len())
    },
    |state, project, _, limit| {
        let scans = state.scans.values().filter(|scan| scan.project == Some(project));
        let scans: BTreeSet<_> = scans.map(|scan| scan.id).take(limit).collect();
        state.forget_scans(|scan| scans.contains(&scan.id));
        Ok(scans.len())
    },
    |state, _, environments, limit| {
        let rotations = state.rotations.values();
        let rotations = rotations.filter(|one| environments.contains(&one.environment));
        let rotations: BTreeSet<_> = rotations.map(|one| one.id).collect();
        let attempts = state.attempts.values().filter(|one| rotations.contains(&one.rotation));
        let attempts: BTreeSet<_> = attempts.map(|one| one.id).take(limit).collect();
        state.attempts = retained(&state.attempts, |one| !attempts.contains(&one.id));
        Ok(attempts.len())
    },
    |state, _, environments, limit| {
        let rotations = state.rotations.values();
        let rotations = rotations.filter(|one| environments.contains(&one.environment));
        let rotations: BTreeSet<_> = rotations.map(|one| one.id).take(limit).collect();
        state.forget_rotations(|one| rotations.contains(&one.id));
        Ok(rotations.len())
    },
    |state, _, environments, limit| {
        let environments: Vec<_> = environments.iter().copied().take(limit).collect();
        state.forget_permissions(|permission| environments.contains(&permission.environment));
        for environment in &environments {
            state.environments.remove(environment);
            state.environment_defaults.remove(environment);
            state.secrets.remove(environment);
            state.sizes.remove(environment);
            state.manifests.remove(environment);
            state.narrow_tokens(|scope| scope.environments.retain(|held| held != environment));
        }
        Ok(environments.len())
    },
];

impl State {
    /// Returns the team that owns an environment, also if the project is deleted.
    pub(super) fn team_of(&self, environment: EnvironmentId) -> Option<TeamId> {
        let project = self.environments.get(&environment)?.project;
        let deleted = || Some(self.deleted_projects.get(&project)?.1.team);
        self.projects.get(&project).map(|project| project.team).or_else(deleted)
    }

    /// Returns a project, and true if the project is deleted.
    pub(super) fn find_project(&self, project: ProjectId) -> Option<(ProjectRecord, bool)> {
        let deleted = || self.deleted_projects.get(&project).map(|found| (found.1.clone(), true));
        self.projects.get(&project).map(|found| (owned(found), false)).or_else(deleted)
    }

    /// Returns the projects with a rotation that a worker has leased at `now` and that has an
    /// unfinished attempt.
    fn projects_with_running_attempts(&self, now: Time) -> BTreeSet<ProjectId> {
        let rotations = self.rotations.values().filter(|rotation| {
            self.is_leased(rotation.id, now) && self.open_attempt(rotation.id).is_some()
        });
        let environments =
            rotations.filter_map(|rotation| self.environments.get(&rotation.environment));
        environments.map(|environment| environment.project).collect()
    }

    pub(super) fn project_relation(
        &self,
        project: &ProjectRef,
        principal: Principal,
    ) -> Option<ProjectRelation> {
        let id = match project {
            ProjectRef::Id(id) => id,
            ProjectRef::Slug(slug) => self.project_slugs.get(slug.as_str())?,
        };
        let project = self.projects.get(id).map(owned)?;
        self.relation_to(project, principal)
    }

    fn relation_to(&self, project: ProjectRecord, principal: Principal) -> Option<ProjectRelation> {
        let plan = self.teams.get(&project.team)?.plan.clone();
        let relation = self.relation(&project, principal);
        Some(ProjectRelation { project, plan, relation })
    }

    fn relation(&self, project: &ProjectRecord, principal: Principal) -> Relation {
        match principal {
            Principal::User(user) => {
                let member = self.members.get(&(project.team, user));
                member.map_or(Relation::None, |member| Relation::Member(member.role))
            }
            Principal::Token(token) => {
                let holds =
                    self.tokens.get(&token).is_some_and(|token| token.holds_project(project));
                if holds { Relation::Token } else { Relation::None }
            }
        }
    }
}
