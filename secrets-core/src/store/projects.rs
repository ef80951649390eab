//! Projects, and the relation of a user or service token (principal) to a project.

use async_trait::async_trait;
use uuid::Uuid;

use super::StoreResult;
use crate::crypto::ProjectKeyRecord;
use crate::model::{
    DisplayName, PlanName, Principal, ProjectId, ProjectRef, Role, Slug, TeamId, Time,
};

/// A project that is not deleted. Lookups and lists do not include deleted projects, but the slug
/// of a deleted project cannot be used again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRecord {
    /// Project ID.
    pub id: ProjectId,
    /// ID of the team that owns the project.
    pub team: TeamId,
    /// Display name of the project.
    pub name: DisplayName,
    /// Name of the project in URLs: unique among all projects, and never reused.
    pub slug: Slug,
    /// Description of the project.
    pub description: Option<String>,
    /// ID of the user or service token that created the project.
    pub created_by: Option<Uuid>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

impl ProjectRecord {
    /// True if this project was created by
    /// [`delete_environment`](super::EnvironmentWrites::delete_environment) to contain a deleted
    /// environment. It has the ID of that environment.
    #[must_use]
    pub fn is_deleted_environment(&self) -> bool {
        self.slug == Slug::of_deleted(self.id.uuid())
    }
}

/// Relation of a user or service token (principal) to a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// No relation: the user is not a member of the team, or the project is not in the token's
    /// scope.
    None,
    /// The user is a member of the project's team, with this role.
    Member(Role),
    /// The project is in the scope of the service token.
    Token,
}

/// A project, and the relation of a user or service token (principal) to it.
#[derive(Debug, Clone)]
pub struct ProjectRelation {
    /// Project that was found.
    pub project: ProjectRecord,
    /// Plan of the project's team.
    pub plan: PlanName,
    /// Relation of the user or service token to the project.
    pub relation: Relation,
}

/// Progress of purging (permanently deleting) a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeProgress {
    /// Some data of the project was deleted, and there may be more.
    Partial,
    /// All remaining data was deleted, so the purge is complete.
    Complete,
    /// There was nothing to delete.
    Nothing,
}

/// Read access to projects.
#[async_trait]
pub trait ProjectReads: Send {
    /// Returns a project that is not deleted, with the relation of `principal` (a user or service
    /// token) to it.
    async fn project(
        &mut self,
        project: &ProjectRef,
        principal: Principal,
    ) -> StoreResult<Option<ProjectRelation>>;

    /// Returns the project with this ID if it was deleted after `since`, with the relation of
    /// `principal` (a user or service token) to it. Used only for restoring: all other methods
    /// treat a deleted project as missing.
    async fn deleted_project(
        &mut self,
        project: ProjectId,
        since: Time,
        principal: Principal,
    ) -> StoreResult<Option<ProjectRelation>>;

    /// Lists projects that were deleted before `before` and are not purged yet, at most `limit`.
    /// The project that was deleted first comes first. Leaves out projects with a rotation that a
    /// worker has leased at `now` and that has an unfinished attempt.
    async fn purgeable_projects(
        &mut self,
        before: Time,
        now: Time,
        limit: u32,
    ) -> StoreResult<Vec<ProjectRecord>>;

    /// Lists the projects that the principal can access, oldest first: for a user, the projects of
    /// the user's teams; for a service token, the projects in its scope.
    async fn projects(&mut self, principal: Principal) -> StoreResult<Vec<ProjectRecord>>;

    /// Returns the number of projects of a team.
    async fn count_projects(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Returns the number of projects of a team that are deleted and not purged yet. Does not count
    /// deleted environments, nor the projects of a deleted team.
    async fn count_deleted_projects(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Returns one version of a project's encryption key.
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
    /// deleted or not, has the same slug.
    async fn insert_project(
        &mut self,
        project: &ProjectRecord,
        key: &ProjectKeyRecord,
    ) -> StoreResult<()>;

    /// Updates the name, description and time of the last change of a project. Fails with `Stale`
    /// if the project does not exist.
    async fn update_project(&mut self, project: &ProjectRecord) -> StoreResult<()>;

    /// Marks a project as deleted and removes it from the scope of every service token. Fails with
    /// `Stale` if the project does not exist.
    async fn delete_project(&mut self, project: ProjectId, now: Time) -> StoreResult<()>;

    /// Restores a project that was deleted after `since`. Does not add the project to the scopes of
    /// service tokens again. Fails with `Stale` if no such project exists, or if its keys were
    /// destroyed.
    async fn restore_project(
        &mut self,
        project: ProjectId,
        now: Time,
        since: Time,
    ) -> StoreResult<()>;

    /// Purges a project that was deleted before `before`. Each call deletes at most `limit` rows of
    /// one kind, such as previous versions, secrets, findings or environments; when none remain, it
    /// deletes the encryption keys, name and description. After that, only the slug remains. A
    /// project that was created for a deleted environment is deleted completely. Does nothing if
    /// the project is not deleted, was deleted later, or is purged already.
    async fn purge_project(
        &mut self,
        project: ProjectId,
        before: Time,
        limit: u32,
    ) -> StoreResult<PurgeProgress>;

    /// Locks the row of a project until the end of the transaction. Fails with `Stale` if the
    /// project does not exist.
    async fn lock_project(&mut self, project: ProjectId) -> StoreResult<()>;
}
