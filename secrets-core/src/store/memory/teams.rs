use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use uuid::Uuid;

use super::state::{State, owned, refers, retained};
use super::{Pending, Session, Snapshot};
use crate::model::{
    DELETED, DisplayName, PlanName, Slug, Subject, TeamId, Time, UserId, Violation,
};
use crate::store::{
    MemberRecord, Membership, ProjectRecord, StoreError, StoreResult, TeamReads, TeamRecord,
    TeamUsage, TeamWrites, UserRecord,
};

#[async_trait]
impl<S: Snapshot> TeamReads for Session<S> {
    async fn membership(&mut self, team: TeamId, user: UserId) -> StoreResult<Option<Membership>> {
        Ok(self.state().membership(team, user))
    }

    async fn memberships(&mut self, user: UserId) -> StoreResult<Vec<Membership>> {
        let state = self.state();
        let mut memberships: Vec<_> = state
            .teams
            .keys()
            .filter_map(|team| state.membership(*team, user))
            .filter(|membership| membership.role.is_some())
            .collect();
        memberships.sort_by_key(|membership| (membership.team.created_at, membership.team.id));
        Ok(memberships)
    }

    async fn members(&mut self, teams: &[TeamId]) -> StoreResult<Vec<MemberRecord>> {
        let state = self.state();
        let mut members: Vec<_> = state
            .members
            .values()
            .filter(|member| teams.contains(&member.team))
            .filter_map(|member| Some(with_profile(member, state.users.get(&member.user)?)))
            .collect();
        members.sort_by_key(|member| (member.team, member.created_at, member.user));
        Ok(members)
    }

    async fn team_usage(&mut self, team: TeamId) -> StoreResult<TeamUsage> {
        let state = self.state();
        let projects = state.projects.values().filter(|project| project.team == team);
        let mut usage = TeamUsage {
            members: count(state.members.keys().filter(|(of, _)| *of == team)),
            service_tokens: count(state.tokens.values().filter(|token| token.record.team == team)),
            ..TeamUsage::default()
        };
        for project in projects {
            let environments = state.environments.values().filter(|at| at.project == project.id);
            let mut in_project = 0;
            for environment in environments {
                usage.rotations += count(state.rotations_of(environment.id));
                let secrets = count(state.secrets_of(environment.id).keys());
                usage.secrets += secrets;
                usage.most_secrets = usage.most_secrets.max(secrets);
                let sizes = state.sizes.get(&environment.id).copied().unwrap_or_default();
                usage.bytes += (sizes.current + sizes.history) as u64;
                usage.most_bytes = usage.most_bytes.max(sizes.current as u64);
                in_project += 1;
            }
            usage.projects += 1;
            usage.environments += in_project;
            usage.most_environments = usage.most_environments.max(in_project);
        }
        usage.stored_bytes = state.stored_bytes(team);
        Ok(usage)
    }

    async fn stored_bytes(&mut self, team: TeamId) -> StoreResult<u64> {
        Ok(self.state().stored_bytes(team))
    }

    async fn team(&mut self, team: TeamId) -> StoreResult<Option<TeamRecord>> {
        Ok(self.state().teams.get(&team).map(owned))
    }

    async fn next_team(&mut self, from: TeamId) -> StoreResult<Option<TeamRecord>> {
        let state = self.state();
        let later = state.teams.values().filter(|team| team.id >= from);
        Ok(later.min_by_key(|team| team.id).map(owned))
    }
}

#[async_trait]
impl TeamWrites for Session<Pending> {
    async fn insert_team(&mut self, team: &TeamRecord) -> StoreResult<()> {
        let state = self.state_mut();
        if state.team_slugs.contains(team.slug.as_str()) || state.teams.contains_key(&team.id) {
            return Err(StoreError::Duplicate(Subject::Team));
        }
        refers(state.users.contains_key(&team.created_by), "user")?;
        state.team_slugs.insert(team.slug.to_string());
        state.teams.insert(team.id, team.clone().into());
        Ok(())
    }

    async fn insert_member(&mut self, member: &MemberRecord) -> StoreResult<()> {
        let state = self.state_mut();
        if state.members.contains_key(&(member.team, member.user)) {
            return Err(StoreError::Duplicate(Subject::User));
        }
        refers(state.teams.contains_key(&member.team), "team")?;
        refers(state.users.contains_key(&member.user), "user")?;
        state.members.insert((member.team, member.user), member.clone().into());
        Ok(())
    }

    async fn update_member(&mut self, member: &MemberRecord) -> StoreResult<()> {
        let state = self.state_mut();
        let place = (member.team, member.user);
        let old = state.members.get(&place).map(owned).ok_or(StoreError::Stale(Subject::User))?;
        let new = MemberRecord { role: member.role, updated_at: member.updated_at, ..old };
        state.members.insert(place, new.into());
        Ok(())
    }

    async fn set_plan(&mut self, team: TeamId, plan: &PlanName, now: Time) -> StoreResult<()> {
        let state = self.state_mut();
        let known = state.teams.get(&team).map(owned);
        let known = known.ok_or(StoreError::Stale(Subject::Team))?;
        let changed = TeamRecord { plan: plan.clone(), updated_at: now, ..known };
        state.teams.insert(team, changed.into());
        Ok(())
    }

    async fn delete_member(&mut self, team: TeamId, user: UserId) -> StoreResult<()> {
        let state = self.state_mut();
        let removed = state.members.remove(&(team, user));
        removed.ok_or(StoreError::Stale(Subject::User))?;
        state.forget_permissions(|permission| (permission.team, permission.user) == (team, user));
        Ok(())
    }

    async fn delete_team(&mut self, team: TeamId, now: Time) -> StoreResult<()> {
        let state = self.state_mut();
        state.members = retained(&state.members, |member| member.team != team);
        state.invitations = retained(&state.invitations, |invitation| invitation.team != team);
        state.forget_permissions(|permission| permission.team == team);
        state.forget_scans(|scan| scan.team == team && scan.project.is_none());
        state.finding_marks = state
            .finding_marks
            .iter()
            .filter(|((of, _), _)| *of != team)
            .map(|(mark, status)| (*mark, *status))
            .collect();
        let tokens: Vec<_> = state.tokens.values().map(|token| token.record.clone()).collect();
        for token in tokens.into_iter().filter(|token| token.team == team) {
            state.tokens.remove(&token.id);
            state.token_macs.remove(&token.mac.0);
            if let Some(previous) = token.previous {
                state.token_macs.remove(&previous.mac.0);
            }
        }
        let living = state.projects.values().map(Arc::as_ref);
        let deleted = state.deleted_projects.values().map(|deleted| &deleted.1);
        let of_team = living.chain(deleted).filter(|project| project.team == team);
        let (name, slug) = deleted_names(team.uuid())?;
        let of_team = of_team.map(|project| ProjectRecord {
            name: name.clone(),
            description: None,
            ..project.clone()
        });
        for project in of_team.collect::<Vec<_>>() {
            state.projects.remove(&project.id);
            let of_project = state.environments.values().filter(|of| of.project == project.id);
            let environments: Vec<_> = of_project.map(|environment| environment.id).collect();
            state.forget_rotations(|rotation| environments.contains(&rotation.environment));
            state.deleted_projects.insert(project.id, (Time::UNIX_EPOCH, project).into());
        }
        if let Some(old) = state.teams.get(&team).map(owned) {
            state.team_slugs.remove(old.slug.as_str());
            let deleted = TeamRecord { slug, name, updated_at: now, ..old };
            state.team_slugs.insert(deleted.slug.to_string());
            state.teams.insert(team, deleted.into());
        }
        Ok(())
    }

    async fn lock_team(&mut self, team: TeamId) -> StoreResult<()> {
        // The transaction has locked the whole store already.
        let exists = self.state().teams.contains_key(&team);
        if exists { Ok(()) } else { Err(StoreError::Stale(Subject::Team)) }
    }

    async fn lock_team_size(&mut self, _: TeamId) -> StoreResult<()> {
        // The transaction has locked the whole store already.
        Ok(())
    }
}

impl State {
    fn stored_bytes(&self, team: TeamId) -> u64 {
        let living = self.projects.values().map(Arc::as_ref);
        let deleted = self.deleted_projects.values().map(|deleted| &deleted.1);
        let deleted = deleted.filter(|project| !project.is_deleted_environment());
        let of_team = living.chain(deleted).filter(|project| project.team == team);
        let projects: BTreeSet<_> = of_team.map(|project| project.id).collect();
        let environments = self.environments.values();
        let sizes = environments
            .filter(|environment| projects.contains(&environment.project))
            .filter_map(|environment| self.sizes.get(&environment.id));
        sizes.map(|sizes| (sizes.current + sizes.history) as u64).sum()
    }

    fn membership(&self, team: TeamId, user: UserId) -> Option<Membership> {
        let member = self.members.get(&(team, user));
        Some(Membership {
            team: self.teams.get(&team).map(owned)?,
            role: member.map(|member| member.role),
            joined_at: member.map(|member| member.created_at),
        })
    }
}

/// Returns the name and the slug of the row that is kept for a deleted team or environment with
/// this ID. Never fails, because these generated names are valid.
pub(super) fn deleted_names(id: Uuid) -> StoreResult<(DisplayName, Slug)> {
    let name = DELETED.parse().map_err(|broken: Violation| StoreError::Corrupt(broken.into()))?;
    Ok((name, Slug::of_deleted(id)))
}

fn count(items: impl Iterator) -> u64 {
    items.map(|_| 1).sum()
}

/// Returns the member with the current profile of the user.
fn with_profile(member: &Arc<MemberRecord>, user: &UserRecord) -> MemberRecord {
    let (email, name, avatar_url) =
        (user.verified_email().to_owned(), user.name.clone(), user.avatar_url.clone());
    MemberRecord { email, name, avatar_url, ..owned(member) }
}
