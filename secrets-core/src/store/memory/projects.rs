use async_trait::async_trait;

use super::state::{State, owned, refers};
use super::{Pending, Session, Snapshot};
use crate::access::ProjectRef;
use crate::caller::Principal;
use crate::clock::Time;
use crate::crypto::ProjectKeyRecord;
use crate::error::Subject;
use crate::ids::{ProjectId, TeamId};
use crate::store::{
    ProjectReads, ProjectRecord, ProjectStanding, ProjectWrites, Standing, StoreError, StoreResult,
};

#[async_trait]
impl<S: Snapshot> ProjectReads for Session<S> {
    async fn project(
        &mut self,
        project: &ProjectRef,
        principal: Principal,
    ) -> StoreResult<Option<ProjectStanding>> {
        Ok(self.state().project_standing(project, principal))
    }

    async fn projects(&mut self, principal: Principal) -> StoreResult<Vec<ProjectRecord>> {
        let state = self.state();
        let mut projects: Vec<_> = state
            .projects
            .values()
            .filter(|project| state.standing(project, principal) != Standing::Stranger)
            .map(owned)
            .collect();
        projects.sort_by_key(|project| (project.created_at, project.id));
        Ok(projects)
    }

    async fn count_projects(&mut self, team: TeamId) -> StoreResult<u64> {
        Ok(self.state().projects.values().filter(|project| project.team == team).map(|_| 1).sum())
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

    async fn delete_project(&mut self, project: ProjectId, _now: Time) -> StoreResult<()> {
        let state = self.state_mut();
        // Its slug stays, and so does what it holds: out of reach, as everything is reached through
        // the project.
        state.projects.remove(&project).ok_or(GONE)?;
        state.narrow_tokens(|scope| scope.projects.retain(|held| *held != project));
        Ok(())
    }

    async fn lock_project(&mut self, project: ProjectId) -> StoreResult<()> {
        // The whole store is held already.
        if self.state().projects.contains_key(&project) { Ok(()) } else { Err(GONE) }
    }
}

const GONE: StoreError = StoreError::Stale(Subject::Project);

impl State {
    pub(super) fn project_standing(
        &self,
        project: &ProjectRef,
        principal: Principal,
    ) -> Option<ProjectStanding> {
        let id = match project {
            ProjectRef::Id(id) => id,
            ProjectRef::Slug(slug) => self.project_slugs.get(slug.as_str())?,
        };
        let project = self.projects.get(id).map(owned)?;
        let plan = self.teams.get(&project.team)?.plan.clone();
        let standing = self.standing(&project, principal);
        Some(ProjectStanding { project, plan, standing })
    }

    fn standing(&self, project: &ProjectRecord, principal: Principal) -> Standing {
        match principal {
            Principal::User(user) => {
                let member = self.members.get(&(project.team, user));
                member.map_or(Standing::Stranger, |member| Standing::Member(member.role))
            }
            Principal::Token(token) => {
                let holds =
                    self.tokens.get(&token).is_some_and(|token| token.holds_project(project));
                if holds { Standing::Token } else { Standing::Stranger }
            }
        }
    }
}
