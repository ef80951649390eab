use std::iter::successors;
use std::sync::Arc;

use async_trait::async_trait;
use imbl::OrdMap;

use super::state::{State, owned, refers};
use super::teams::deleted_names;
use super::{Pending, Session, Snapshot};
use crate::crypto::{ManifestEntry, ProjectKeyRecord};
use crate::model::{
    EnvironmentId, EnvironmentName, EnvironmentPath, EnvironmentRef, Principal, ProjectId, Subject,
    Time,
};
use crate::store::{
    ChainLink, EnvironmentCounters, EnvironmentReads, EnvironmentRecord, EnvironmentWrites,
    ManifestRecord, ProjectRecord, ResolvedEnvironment, SecretRecord, Selection, StoreError,
    StoreResult,
};

#[async_trait]
impl<S: Snapshot> EnvironmentReads for Session<S> {
    async fn resolve_environment(
        &mut self,
        path: &EnvironmentPath,
        principal: Principal,
        selection: Selection<'_>,
    ) -> StoreResult<Option<ResolvedEnvironment>> {
        let state = self.state();
        let Some(found) = state.project_relation(&path.project, principal) else { return Ok(None) };
        let (project, plan, relation) = (found.project, found.plan, found.relation);
        let key = state.newest_key(project.id)?;
        let chain = state
            .chain(project.id, &path.environment)
            .enumerate()
            .map(|(depth, environment)| ChainLink {
                in_scope: state.is_in_scope(environment, principal),
                granted: state.granted(environment, principal),
                secrets: state.selected_secrets(environment.id, depth, selection),
                environment: environment.clone(),
            })
            .collect();
        Ok(Some(ResolvedEnvironment { project, plan, relation, key, chain }))
    }

    async fn environments(
        &mut self,
        project: ProjectId,
        principal: Principal,
    ) -> StoreResult<Vec<EnvironmentRecord>> {
        let state = self.state();
        let names = state.environment_names.get(&project);
        let names = names.filter(|_| state.projects.contains_key(&project));
        let mut environments: Vec<_> = names
            .into_iter()
            .flat_map(|names| names.values())
            .filter_map(|id| state.environments.get(id))
            .filter(|environment| state.is_in_scope(environment, principal))
            .map(owned)
            .collect();
        environments.sort_by_key(|environment| {
            (environment.position, environment.created_at, environment.id)
        });
        Ok(environments)
    }

    async fn chain(&mut self, environment: EnvironmentId) -> StoreResult<Vec<EnvironmentRecord>> {
        let state = self.state();
        let project = state.environment(environment).map(|environment| environment.project);
        let Some(project) = project.filter(|project| state.projects.contains_key(project)) else {
            return Ok(Vec::new());
        };
        Ok(state.chain(project, &environment.into()).cloned().collect())
    }

    async fn environment_counters(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<EnvironmentCounters> {
        self.state().counters(environment)
    }

    async fn next_environment(
        &mut self,
        from: EnvironmentId,
    ) -> StoreResult<Option<EnvironmentId>> {
        let state = self.state();
        let mut later = state.environments.range(from..);
        let found = later.find(|(_, found)| state.projects.contains_key(&found.project));
        Ok(found.map(|(id, _)| *id))
    }

    async fn manifest_entries(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<ManifestEntry>> {
        let state = self.state();
        let secrets = state.secrets.get(&environment).into_iter().flat_map(OrdMap::values);
        Ok(secrets.map(|secret| secret.manifest_entry()).collect())
    }

    async fn child_environments(
        &mut self,
        environment: EnvironmentId,
    ) -> StoreResult<Vec<EnvironmentName>> {
        let state = self.state();
        let mut names: Vec<_> =
            state.children(environment).map(|child| child.name.clone()).collect();
        names.sort();
        Ok(names)
    }
}

#[async_trait]
impl EnvironmentWrites for Session<Pending> {
    async fn insert_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let (id, name) = (environment.id, environment.name.folded());
        let taken = state
            .environment_names
            .get(&environment.project)
            .is_some_and(|names| names.contains_key(&name));
        if taken || state.environments.contains_key(&id) {
            return Err(StoreError::Duplicate(Subject::Environment));
        }
        refers(state.project_keys.contains_key(&environment.project), "project")?;
        let mut siblings =
            state.environments.values().filter(|other| other.project == environment.project);
        let parent = environment.inherits_from.filter(|parent| *parent != id);
        refers(
            parent.is_none_or(|parent| siblings.any(|other| other.id == parent)),
            "environment",
        )?;
        state.environment_names.entry(environment.project).or_default().insert(name, id);
        state.environments.insert(id, environment.clone().into());
        Ok(())
    }

    async fn update_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let old = state.environments.get(&environment.id).map(owned).ok_or(GONE)?;
        state.projects.get(&old.project).ok_or(GONE)?;
        let parent = environment.inherits_from.map(|parent| state.environments.get(&parent));
        let of_project = |parent: Option<&Arc<EnvironmentRecord>>| {
            parent.is_some_and(|parent| parent.project == old.project)
        };
        refers(parent.is_none_or(of_project), "environment")?;
        let names = state.environment_names.entry(old.project).or_default();
        let name = environment.name.folded();
        if names.get(&name).is_some_and(|holder| *holder != old.id) {
            return Err(StoreError::Duplicate(Subject::Environment));
        }
        names.remove(&old.name.folded());
        names.insert(name, old.id);
        let new = EnvironmentRecord {
            name: environment.name.clone(),
            inherits_from: environment.inherits_from,
            description: environment.description.clone(),
            updated_at: environment.updated_at,
            ..old
        };
        state.environments.insert(new.id, new.into());
        Ok(())
    }

    async fn delete_environment(&mut self, environment: EnvironmentId) -> StoreResult<()> {
        let state = self.state_mut();
        let record = state.environments.get(&environment).map(owned).ok_or(GONE)?;
        let has_children = state.children(environment).any(|child| child.id != environment);
        refers(!has_children, "parent environment for its child environments")?;
        let deleted = state.remove_to_deleted_project(&record)?;
        let moved = EnvironmentRecord { project: deleted, inherits_from: None, ..record };
        state.environments.insert(environment, moved.into());
        state.environment_defaults.remove(&environment);
        state.forget_permissions(|permission| permission.environment == environment);
        state.narrow_tokens(|scope| scope.environments.retain(|held| *held != environment));
        Ok(())
    }

    async fn lock_environment(&mut self, environment: EnvironmentId) -> StoreResult<()> {
        // The transaction has locked the whole store already.
        let state = self.state();
        let found = state.environments.get(&environment);
        let exists = found.is_some_and(|found| state.projects.contains_key(&found.project));
        if exists { Ok(()) } else { Err(GONE) }
    }

    async fn touch_environment(
        &mut self,
        environment: EnvironmentId,
        step: u32,
    ) -> StoreResult<EnvironmentCounters> {
        let state = self.state_mut();
        let mut record = state.environments.get(&environment).map(owned).ok_or(GONE)?;
        if !state.projects.contains_key(&record.project) {
            return Err(GONE);
        }
        record.revision += u64::from(step);
        state.environments.insert(environment, record.into());
        state.counters(environment)
    }

    async fn replace_manifest(
        &mut self,
        environment: EnvironmentId,
        manifest: &ManifestRecord,
    ) -> StoreResult<EnvironmentCounters> {
        let state = self.state_mut();
        state.environment(environment).ok_or(GONE)?;
        state.manifests.insert(environment, *manifest);
        state.counters(environment)
    }

    async fn delete_manifests(&mut self) -> StoreResult<()> {
        self.state_mut().manifests = OrdMap::new();
        Ok(())
    }
}

const GONE: StoreError = StoreError::Stale(Subject::Environment);

impl State {
    /// Removes an environment from its project, inserts the deleted project that receives it, and
    /// returns the ID of this project. Fails with `Stale` if the project of the environment does
    /// not exist.
    fn remove_to_deleted_project(&mut self, record: &EnvironmentRecord) -> StoreResult<ProjectId> {
        let team = self.projects.get(&record.project).ok_or(GONE)?.team;
        let id = ProjectId::from(record.id.uuid());
        let (name, slug) = deleted_names(id.uuid())?;
        if self.project_slugs.contains_key(slug.as_str()) {
            return Err(StoreError::Duplicate(Subject::Project));
        }
        let project = ProjectRecord {
            id,
            team,
            name,
            slug,
            description: None,
            created_by: None,
            created_at: record.created_at,
            updated_at: record.updated_at,
        };
        let key = ProjectKeyRecord { project: id, version: 1, kek_id: 1, wrapped: Vec::new() };
        self.environment_names.entry(record.project).or_default().remove(&record.name.folded());
        self.project_slugs.insert(project.slug.to_string(), id);
        self.project_keys.entry(id).or_default().insert(key.version, key.into());
        self.deleted_projects.insert(id, (Time::UNIX_EPOCH, project).into());
        Ok(id)
    }

    fn counters(&self, environment: EnvironmentId) -> StoreResult<EnvironmentCounters> {
        let revision = self.environment(environment).ok_or(GONE)?.revision;
        let sizes = self.sizes.get(&environment).copied().unwrap_or_default();
        let (size, history_size) = (sizes.current as u64, sizes.history as u64);
        let manifest = self.manifests.get(&environment).copied();
        Ok(EnvironmentCounters { revision, size, history_size, manifest })
    }

    pub(super) fn newest_key(&self, project: ProjectId) -> StoreResult<ProjectKeyRecord> {
        let newest = self.project_keys.get(&project).and_then(|keys| keys.get_max());
        newest
            .map(|(_, key)| owned(key))
            .ok_or_else(|| StoreError::Corrupt("a project has no key".into()))
    }

    /// Returns the environment that the reference names, then its ancestors from parent to root.
    fn chain(
        &self,
        project: ProjectId,
        named: &EnvironmentRef,
    ) -> impl Iterator<Item = &EnvironmentRecord> {
        let parent =
            |environment: &&EnvironmentRecord| self.environment(environment.inherits_from?);
        successors(self.environment_at(project, named), parent)
            .take(ResolvedEnvironment::MAX_LINKS as usize)
    }

    fn environment_at(
        &self,
        project: ProjectId,
        named: &EnvironmentRef,
    ) -> Option<&EnvironmentRecord> {
        match named {
            EnvironmentRef::Id(id) => {
                self.environment(*id).filter(|environment| environment.project == project)
            }
            EnvironmentRef::Name(name) => {
                let id = self.environment_names.get(&project)?.get(&name.to_ascii_lowercase())?;
                self.environment(*id).filter(|environment| environment.name.as_str() == name)
            }
        }
    }

    fn children(
        &self,
        environment: EnvironmentId,
    ) -> impl Iterator<Item = &Arc<EnvironmentRecord>> {
        self.environments.values().filter(move |child| child.inherits_from == Some(environment))
    }

    fn environment(&self, environment: EnvironmentId) -> Option<&EnvironmentRecord> {
        self.environments.get(&environment).map(Arc::as_ref)
    }

    /// Returns the selected secrets of an environment that is `depth` steps above the environment
    /// to which the selection applies.
    fn selected_secrets(
        &self,
        environment: EnvironmentId,
        depth: usize,
        selection: Selection<'_>,
    ) -> Vec<Arc<SecretRecord>> {
        let secrets = self.secrets_of(environment);
        match selection {
            Selection::None => Vec::new(),
            Selection::Own | Selection::OwnKey(_) if depth > 0 => Vec::new(),
            Selection::Key(key) | Selection::OwnKey(key) => {
                secrets.get(key).cloned().into_iter().collect()
            }
            Selection::Own | Selection::All => secrets.values().cloned().collect(),
        }
    }
}
