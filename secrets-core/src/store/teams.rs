//! Teams and their members.

use async_trait::async_trait;

use super::StoreResult;
use crate::model::{DisplayName, PlanName, Role, Slug, TeamId, Time, UserId};

/// A team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamRecord {
    /// Which team.
    pub id: TeamId,
    /// What people call it.
    pub name: DisplayName,
    /// Its name in addresses, unique among teams.
    pub slug: Slug,
    /// Whether it came with its owner's first sign-in.
    pub is_personal: bool,
    /// What it may use.
    pub plan: PlanName,
    /// Who made it.
    pub created_by: UserId,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Somebody's place in a team, and who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRecord {
    /// Which team.
    pub team: TeamId,
    /// Which person.
    pub user: UserId,
    /// Their role.
    pub role: Role,
    /// Their address; read, not written.
    pub email: String,
    /// Their name; read, not written.
    pub name: String,
    /// An image of them; read, not written.
    pub avatar_url: Option<String>,
    /// When they joined.
    pub created_at: Time,
    /// When their role last changed.
    pub updated_at: Time,
}

impl TeamRecord {
    /// What is kept of a team that was deleted.
    pub(crate) fn deleted_slug(team: TeamId) -> String {
        format!("deleted-{}", team.uuid().simple())
    }
}

/// What a team or project is called once it is deleted for good.
pub(crate) const DELETED: &str = "deleted";

/// A team, seen by somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The team.
    pub team: TeamRecord,
    /// Their role in it; `None` if they have none.
    pub role: Option<Role>,
    /// When they joined.
    pub joined_at: Option<Time>,
}

/// How much a team has. Of what a plan limits in each project or environment, `most` is what the
/// fullest one has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TeamUsage {
    /// Members.
    pub members: u64,
    /// Projects.
    pub projects: u64,
    /// Environments of all projects.
    pub environments: u64,
    /// Environments of the project that has most.
    pub most_environments: u64,
    /// Secrets of all environments, hidden ones included.
    pub secrets: u64,
    /// Secrets of the environment that has most.
    pub most_secrets: u64,
    /// Service tokens, those that have ended included.
    pub service_tokens: u64,
    /// Rotations of all projects.
    pub rotations: u64,
}

impl Membership {
    /// Whether the team came with this person's first sign-in; they may be in others' as well.
    pub(crate) fn is_personal_of(&self, user: UserId) -> bool {
        self.team.is_personal && self.team.created_by == user
    }
}

/// Reading teams.
#[async_trait]
pub trait TeamReads: Send {
    /// The team, if it exists, and this person's role in it.
    async fn membership(&mut self, team: TeamId, user: UserId) -> StoreResult<Option<Membership>>;

    /// The teams this person belongs to, oldest first.
    async fn memberships(&mut self, user: UserId) -> StoreResult<Vec<Membership>>;

    /// The members of these teams, by team and then in the order they joined.
    async fn members(&mut self, teams: &[TeamId]) -> StoreResult<Vec<MemberRecord>>;

    /// How much a team has.
    async fn team_usage(&mut self, team: TeamId) -> StoreResult<TeamUsage>;

    /// The team itself.
    async fn team(&mut self, team: TeamId) -> StoreResult<Option<TeamRecord>>;
}

/// Writing teams.
#[async_trait]
pub trait TeamWrites: Send {
    /// Fails with `Duplicate` if the slug is taken.
    async fn insert_team(&mut self, team: &TeamRecord) -> StoreResult<()>;

    /// Fails with `Duplicate` if the person is a member already.
    async fn insert_member(&mut self, member: &MemberRecord) -> StoreResult<()>;

    /// Gives a member this role. Fails with `Stale` if the person is no member.
    async fn update_member(&mut self, member: &MemberRecord) -> StoreResult<()>;

    /// Puts a team on a plan. Fails with `Stale` if the team is gone.
    async fn set_plan(&mut self, team: TeamId, plan: &PlanName, now: Time) -> StoreResult<()>;

    /// Takes a person out of a team. Fails with `Stale` if they are not in it.
    async fn delete_member(&mut self, team: TeamId, user: UserId) -> StoreResult<()>;

    /// Deletes everything in a team: members, invitations, tokens, and its projects with their
    /// environments, secrets and keys. Of the projects remains that their slugs are taken, and of
    /// the team what those refer to.
    async fn delete_team(&mut self, team: TeamId, now: Time) -> StoreResult<()>;

    /// Holds the team's row until the end of the transaction, so that what is counted stays so.
    /// Fails with `Stale` if the team is gone.
    async fn lock_team(&mut self, team: TeamId) -> StoreResult<()>;
}
