//! Teams and their members.

use async_trait::async_trait;

use super::StoreResult;
use crate::model::{DisplayName, PlanName, Role, Slug, TeamId, Time, UserId};

/// A team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamRecord {
    /// Team ID.
    pub id: TeamId,
    /// Display name.
    pub name: DisplayName,
    /// Name in URLs, unique among teams.
    pub slug: Slug,
    /// True if the team was created at its owner's first sign-in.
    pub is_personal: bool,
    /// Billing plan.
    pub plan: PlanName,
    /// ID of the user who created the team.
    pub created_by: UserId,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// A member of a team, with the user's profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRecord {
    /// Team ID.
    pub team: TeamId,
    /// User ID.
    pub user: UserId,
    /// Role in the team.
    pub role: Role,
    /// E-mail address of the user; empty if it is not verified; ignored on writes.
    pub email: String,
    /// Name of the user; ignored on writes.
    pub name: String,
    /// URL of the user's avatar; ignored on writes.
    pub avatar_url: Option<String>,
    /// Time at which the user joined the team.
    pub created_at: Time,
    /// Time of the last change of the role.
    pub updated_at: Time,
}

impl TeamRecord {
    /// Returns the slug that a team gets when it is deleted. Unique, because the team's row stays.
    pub(crate) fn deleted_slug(team: TeamId) -> String {
        format!("deleted-{}", team.uuid().simple())
    }
}

/// Name that a deleted team or a purged project gets.
pub(crate) const DELETED: &str = "deleted";

/// A team and a user's membership in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The team.
    pub team: TeamRecord,
    /// Role of the user in the team; `None` if the user is not a member.
    pub role: Option<Role>,
    /// Time at which the user joined the team; `None` if the user is not a member.
    pub joined_at: Option<Time>,
}

/// Number of resources of a team, without deleted projects. Plans limit some resources per project
/// or environment; for these, a `most_…` field holds the highest number in a single project or
/// environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TeamUsage {
    /// Members.
    pub members: u64,
    /// Projects.
    pub projects: u64,
    /// Number of environments in all projects.
    pub environments: u64,
    /// Number of environments in the project that has the most.
    pub most_environments: u64,
    /// Number of secrets in all environments, including hidden secrets.
    pub secrets: u64,
    /// Number of secrets in the environment that has the most.
    pub most_secrets: u64,
    /// Size of all secrets and their previous versions, in bytes.
    pub bytes: u64,
    /// Size of the secrets of the environment that has the largest, in bytes.
    pub most_bytes: u64,
    /// Size of all secrets and their previous versions, including those of deleted projects that
    /// are not purged yet, in bytes.
    pub stored_bytes: u64,
    /// Number of service tokens, including expired tokens.
    pub service_tokens: u64,
    /// Number of rotations in all projects.
    pub rotations: u64,
}

impl Membership {
    /// True if the team is the one created at this user's first sign-in. A user may be a member of
    /// other users' personal teams as well.
    pub(crate) fn is_personal_of(&self, user: UserId) -> bool {
        self.team.is_personal && self.team.created_by == user
    }
}

/// Read access to teams.
#[async_trait]
pub trait TeamReads: Send {
    /// Returns the team with the user's role in it; `None` if the team does not exist. The role is
    /// `None` if the user is not a member.
    async fn membership(&mut self, team: TeamId, user: UserId) -> StoreResult<Option<Membership>>;

    /// Lists the teams of a user, oldest first.
    async fn memberships(&mut self, user: UserId) -> StoreResult<Vec<Membership>>;

    /// Lists the members of these teams, ordered by team, then by the time they joined.
    async fn members(&mut self, teams: &[TeamId]) -> StoreResult<Vec<MemberRecord>>;

    /// Counts the resources of a team.
    async fn team_usage(&mut self, team: TeamId) -> StoreResult<TeamUsage>;

    /// Returns the size of all secrets of a team and of their previous versions, including those of
    /// deleted projects that are not purged yet, in bytes.
    async fn stored_bytes(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Returns the team with this ID.
    async fn team(&mut self, team: TeamId) -> StoreResult<Option<TeamRecord>>;

    /// Returns the first team whose ID is `from` or higher.
    async fn next_team(&mut self, from: TeamId) -> StoreResult<Option<TeamRecord>>;
}

/// Write access to teams.
#[async_trait]
pub trait TeamWrites: Send {
    /// Inserts a team. Fails with `Duplicate` if the slug is taken.
    async fn insert_team(&mut self, team: &TeamRecord) -> StoreResult<()>;

    /// Adds a member. Fails with `Duplicate` if the user is a member already.
    async fn insert_member(&mut self, member: &MemberRecord) -> StoreResult<()>;

    /// Updates the role of a member. Fails with `Stale` if the user is not a member.
    async fn update_member(&mut self, member: &MemberRecord) -> StoreResult<()>;

    /// Sets the plan of a team. Fails with `Stale` if the team does not exist.
    async fn set_plan(&mut self, team: TeamId, plan: &PlanName, now: Time) -> StoreResult<()>;

    /// Removes a user from a team, with the permissions granted to the user there. Fails with
    /// `Stale` if the user is not a member.
    async fn delete_member(&mut self, team: TeamId, user: UserId) -> StoreResult<()>;

    /// Deletes everything in a team: members, invitations, tokens, rotations, and scans without a
    /// project. Its projects become deleted as of 1970, so that they cannot be restored, and
    /// [`purge_project`](super::ProjectWrites::purge_project) deletes their environments, secrets,
    /// scans and encryption keys in short transactions. The rows of the projects remain, to keep
    /// their slugs taken, and so does the team's row, which they refer to.
    async fn delete_team(&mut self, team: TeamId, now: Time) -> StoreResult<()>;

    /// Locks the team's row until the end of the transaction, so that counts of its resources stay
    /// valid. Fails with `Stale` if the team does not exist.
    async fn lock_team(&mut self, team: TeamId) -> StoreResult<()>;

    /// Locks the size of the team's secrets until the end of the transaction, so that
    /// [`stored_bytes`](TeamReads::stored_bytes) stays valid among the transactions that lock it.
    /// Not the team's row: a change of its members waits for no write of secrets.
    async fn lock_team_size(&mut self, team: TeamId) -> StoreResult<()>;
}
