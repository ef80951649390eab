//! Projects, and how somebody stands to one.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::ProjectKeyRecord;
use crate::model::{
    DisplayName, PlanName, Principal, ProjectId, ProjectRef, Role, Slug, TeamId, Time,
};

/// A project that is not deleted. Deleted ones are in no answer; only their slugs stay taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRecord {
    /// Which project.
    pub id: ProjectId,
    /// Whose project.
    pub team: TeamId,
    /// What people call it.
    pub name: DisplayName,
    /// Its name in addresses: unique among all projects, kept for ever.
    pub slug: Slug,
    /// What it is for.
    pub description: Option<String>,
    /// Who made it: a user or a service token.
    pub created_by: Option<Uuid>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// How somebody stands to a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Not at all.
    Stranger,
    /// A person with this role in its team.
    Member(Role),
    /// A service token whose scope holds the project.
    Token,
}

/// A project, and how somebody stands to it.
#[derive(Debug, Clone)]
pub struct ProjectStanding {
    /// The project.
    pub project: ProjectRecord,
    /// The plan of its team.
    pub plan: PlanName,
    /// How they stand.
    pub standing: Standing,
}

/// What a purge found to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purge {
    /// Something, and there may be more.
    Some,
    /// What was left.
    Rest,
    /// Nothing.
    Nothing,
}

/// Reading projects.
#[async_trait]
pub trait ProjectReads: Send {
    /// The project a reference names, if it is not deleted, and how `principal` stands to it.
    async fn project(
        &mut self,
        project: &ProjectRef,
        principal: Principal,
    ) -> StoreResult<Option<ProjectStanding>>;

    /// The project with this id that was deleted after `since`, and how `principal` stands to it.
    /// Only restoring asks: to all else a deleted project is not there.
    async fn deleted_project(
        &mut self,
        project: ProjectId,
        since: Time,
        principal: Principal,
    ) -> StoreResult<Option<ProjectStanding>>;

    /// Projects that were deleted before a time and not purged since, oldest first: the first
    /// `limit` of them.
    async fn doomed_projects(
        &mut self,
        before: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectRecord>>;

    /// The projects somebody stands to at all, oldest first.
    async fn projects(&mut self, principal: Principal) -> StoreResult<Vec<ProjectRecord>>;

    /// How many projects a team has.
    async fn count_projects(&mut self, team: TeamId) -> StoreResult<u64>;

    /// One of a project's keys.
    async fn project_key(
        &mut self,
        project: ProjectId,
        version: u32,
    ) -> StoreResult<Option<ProjectKeyRecord>>;
}

/// Writing projects.
#[async_trait]
pub trait ProjectWrites: Send {
    /// Fails with `Duplicate` if the slug is taken, by a deleted project too.
    async fn insert_project(
        &mut self,
        project: &ProjectRecord,
        key: &ProjectKeyRecord,
    ) -> StoreResult<()>;

    /// Replaces name, description and the time of change. Fails with `Stale` if the project is gone.
    async fn update_project(&mut self, project: &ProjectRecord) -> StoreResult<()>;

    /// Marks the project deleted and takes it out of every token's scope. Fails with `Stale` if it is gone.
    async fn delete_project(&mut self, project: ProjectId, now: Time) -> StoreResult<()>;

    /// Takes back the deletion of a project that was deleted after `since`; scopes of tokens stay as
    /// they are. Fails with `Stale` if there is none.
    async fn restore_project(
        &mut self,
        project: ProjectId,
        now: Time,
        since: Time,
    ) -> StoreResult<()>;

    /// Deletes what a project held that was deleted before a time: versions and secrets, at most
    /// `limit` of each; once there are none, environments, keys, name and description too. Only its
    /// slug is left then. One that is not deleted, or was later, is left alone.
    async fn purge_project(
        &mut self,
        project: ProjectId,
        before: Time,
        limit: u32,
    ) -> StoreResult<Purge>;

    /// Holds the project's row until the end of the transaction. Fails with `Stale` if it is gone.
    async fn lock_project(&mut self, project: ProjectId) -> StoreResult<()>;
}
