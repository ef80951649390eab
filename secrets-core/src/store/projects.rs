//! Projects, and the relation of a principal to a project.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::ProjectKeyRecord;
use crate::model::{
    DisplayName, PlanName, Principal, ProjectId, ProjectRef, Role, Slug, TeamId, Time,
};

/// A project that is not deleted. Lookups and lists leave out deleted projects, but the slug of a
/// deleted project is not available to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRecord {
    /// Project ID.
    pub id: ProjectId,
    /// Team ID.
    pub team: TeamId,
    /// Display name.
    pub name: DisplayName,
    /// Name in URLs: unique among all projects and never reused.
    pub slug: Slug,
    /// Description.
    pub description: Option<String>,
    /// ID of the user or service token that created the project.
    pub created_by: Option<Uuid>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// Relation of a principal to a project: team membership, or the scope of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// No relation: not a member of the team, or not in the token's scope.
    None,
    /// User with this role in the project's team.
    Member(Role),
    /// Service token with the project in its scope.
    Token,
}

/// A project, and the relation of a principal to it.
#[derive(Debug, Clone)]
pub struct ProjectRelation {
    /// Project.
    pub project: ProjectRecord,
    /// Plan of the project's team.
    pub plan: PlanName,
    /// Relation of the principal to the project.
    pub relation: Relation,
}

/// Progress of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeProgress {
    /// Some data was deleted, and there may be more.
    Partial,
    /// The remaining data was deleted; the purge is complete.
    Complete,
    /// There was no data to delete.
    Nothing,
}

/// Read access to projects.
#[async_trait]
pub trait ProjectReads: Send {
    /// Returns a project that is not deleted, and the relation of `principal` to the project.
    async fn project(
        &mut self,
        project: &ProjectRef,
        principal: Principal,
    ) -> StoreResult<Option<ProjectRelation>>;

    /// Returns the project with this ID if it was deleted after `since`, with the relation of
    /// `principal` to it. Only for restoring: all other methods treat a deleted project as missing.
    async fn deleted_project(
        &mut self,
        project: ProjectId,
        since: Time,
        principal: Principal,
    ) -> StoreResult<Option<ProjectRelation>>;

    /// Lists projects that were deleted before `before` and are not purged yet, oldest deletion
    /// first, at most `limit` of them.
    async fn purgeable_projects(
        &mut self,
        before: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectRecord>>;

    /// Lists the projects of the principal's teams (user) or scope (token), oldest first.
    async fn projects(&mut self, principal: Principal) -> StoreResult<Vec<ProjectRecord>>;

    /// Counts the projects of a team.
    async fn count_projects(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Returns a version of a project's encryption key.
    async fn project_key(
        &mut self,
        project: ProjectId,
        version: u32,
    ) -> StoreResult<Option<ProjectKeyRecord>>;
}

/// Write access to projects.
#[async_trait]
pub trait ProjectWrites: Send {
    /// Inserts a project with its first encryption key. Fails with `Duplicate` if another project,
    /// deleted or not, has the slug.
    async fn insert_project(
        &mut self,
        project: &ProjectRecord,
        key: &ProjectKeyRecord,
    ) -> StoreResult<()>;

    /// Updates name, description and the time of the last change. Fails with `Stale` if the project
    /// does not exist.
    async fn update_project(&mut self, project: &ProjectRecord) -> StoreResult<()>;

    /// Marks a project as deleted and removes it from the scope of every token. Fails with `Stale`
    /// if the project does not exist.
    async fn delete_project(&mut self, project: ProjectId, now: Time) -> StoreResult<()>;

    /// Restores a project that was deleted after `since`. Token scopes are not restored. Fails with
    /// `Stale` if no such project exists.
    async fn restore_project(
        &mut self,
        project: ProjectId,
        now: Time,
        since: Time,
    ) -> StoreResult<()>;

    /// Purges a project that was deleted before `before`. Each call deletes at most `limit` rows of
    /// one kind, such as previous versions, secrets, findings or environments; when none remain, it
    /// deletes the encryption keys, name and description. After that only the slug remains. Does
    /// nothing if the project is not deleted, or was deleted later.
    async fn purge_project(
        &mut self,
        project: ProjectId,
        before: Time,
        limit: u32,
    ) -> StoreResult<PurgeProgress>;

    /// Locks the project's row until the end of the transaction. Fails with `Stale` if the project
    /// does not exist.
    async fn lock_project(&mut self, project: ProjectId) -> StoreResult<()>;
}
