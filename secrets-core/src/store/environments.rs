//! Environments, and what somebody sees in one.

use async_trait::async_trait;
use uuid::Uuid;

use super::{ProjectRecord, SecretRecord, Standing, StoreResult};
use crate::crypto::ProjectKeyRecord;
use crate::model::{
    EnvironmentId, EnvironmentName, EnvironmentPath, MemberAccess, PlanName, Principal, ProjectId,
    SecretKey, Time,
};

/// An environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentRecord {
    /// Which environment.
    pub id: EnvironmentId,
    /// Whose environment.
    pub project: ProjectId,
    /// Its name: unique within the project, ignoring case.
    pub name: EnvironmentName,
    /// The environment it inherits from, of the same project.
    pub inherits_from: Option<EnvironmentId>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it came with the project; such a one stays.
    pub is_default: bool,
    /// Where it stands in lists.
    pub position: u32,
    /// Counts the writes to its secrets.
    pub revision: u64,
    /// Who made it.
    pub created_by: Option<Uuid>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Which secrets a look into an environment brings along.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// None.
    Nothing,
    /// The one under this key, of each environment of the chain that has it.
    Key(&'a SecretKey),
    /// All of each environment of the chain.
    All,
}

/// What one look brings: everything needed to decide about and answer a request about one
/// environment, in one statement.
#[derive(Debug, Clone)]
pub struct Sight {
    /// The project.
    pub project: ProjectRecord,
    /// The plan of its team.
    pub plan: PlanName,
    /// How the one who looks stands to the project.
    pub standing: Standing,
    /// The project's newest key.
    pub key: ProjectKeyRecord,
    /// The environment itself, then its ancestors, nearest first; empty if there is no such
    /// environment. At most [`Sight::REACH`] links, so a circle shows as a repeated link.
    pub chain: Vec<Link>,
}

/// One environment of a chain.
#[derive(Debug, Clone)]
pub struct Link {
    /// The environment.
    pub environment: EnvironmentRecord,
    /// Whether the scope of the token that looks holds it; true for people.
    pub in_scope: bool,
    /// What was said that the person who looks may do there: to them, or else by the project to all
    /// its members. `None` where nobody said it, and for tokens.
    pub granted: Option<MemberAccess>,
    /// Its own secrets, as far as wanted, ordered by key.
    pub secrets: Vec<SecretRecord>,
}

impl Sight {
    /// How many links a look follows: one more than a chain may have.
    pub const REACH: u32 = 17;
}

/// Reading environments.
#[async_trait]
pub trait EnvironmentReads: Send {
    /// What `principal` finds at a path; `None` if there is no such project, or it is deleted.
    async fn sight(
        &mut self,
        path: &EnvironmentPath,
        principal: Principal,
        wanted: Wanted<'_>,
    ) -> StoreResult<Option<Sight>>;

    /// The environments of a project that `principal`'s scope holds, in their order.
    async fn environments(
        &mut self,
        project: ProjectId,
        principal: Principal,
    ) -> StoreResult<Vec<EnvironmentRecord>>;

    /// An environment and its ancestors, nearest first, at most [`Sight::REACH`] of them; none if it
    /// or its project is gone.
    async fn chain(&mut self, environment: EnvironmentId) -> StoreResult<Vec<EnvironmentRecord>>;

    /// The names of the environments that inherit directly from this one, ordered.
    async fn heirs(&mut self, environment: EnvironmentId) -> StoreResult<Vec<EnvironmentName>>;
}

/// Writing environments.
#[async_trait]
pub trait EnvironmentWrites: Send {
    /// Fails with `Duplicate` if the name is taken, in any case of letters.
    async fn insert_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()>;

    /// Replaces name, parent, description and the time of change. Fails with `Duplicate` if another
    /// has the name, in any case of letters, and with `Stale` if it is gone. The project is locked
    /// before, so that no other takes the name meanwhile.
    async fn update_environment(&mut self, environment: &EnvironmentRecord) -> StoreResult<()>;

    /// Deletes it with its secrets and their versions, and takes it out of every token's scope.
    /// Fails with `Stale` if it is gone.
    async fn delete_environment(&mut self, environment: EnvironmentId) -> StoreResult<()>;

    /// Counts a write and holds the environment's row until the end of the transaction: the first
    /// act of every write to its secrets. Gives the new revision; fails with `Stale` if the
    /// environment or its project is gone.
    async fn touch_environment(&mut self, environment: EnvironmentId) -> StoreResult<u64>;
}
