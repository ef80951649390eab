//! Teams and their members.

use async_trait::async_trait;

use super::StoreResult;
use crate::model::{DisplayName, PlanName, Role, Slug, TeamId, Time, UserId};

/// A team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamRecord {
    /// Team ID.
    pub id: TeamId,
    /// Display name of the team.
    pub name: DisplayName,
    /// Name of the team in URLs, unique among all teams.
    pub slug: Slug,
    /// True if this is the personal team that was created at a user's first sign-in.
    pub is_personal: bool,
    /// Name of the team's plan.
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
    /// Role of the user in the team.
    pub role: Role,
    /// E-mail address of the user, or empty if the address is not verified. Ignored when a member
    /// is written.
    pub email: String,
    /// Name of the user. Ignored when a member is written.
    pub name: String,
    /// URL of the user's avatar image. Ignored when a member is written.
    pub avatar_url: Option<String>,
    /// Time at which the user joined the team.
    pub created_at: Time,
    /// Time of the last change of the member's role.
    pub updated_at: Time,
}

/// A team and a user's membership in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Team, whether or not the user is a member.
    pub team: TeamRecord,
    /// Role of the user in the team; `None` if the user is not a member.
    pub role: Option<Role>,
    /// Time at which the user joined the team; `None` if the user is not a member.
    pub joined_at: Option<Time>,
}

/// Numbers and sizes of a team's resources. Only `stored_bytes` includes those of deleted projects.
/// Plans limit some resources per project or environment; for these, a field `most_…` contains the
/// highest number or size in a single project or environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TeamUsage {
    /// Number of members of the team.
    pub members: u64,
    /// Number of projects of the team.
    pub projects: u64,
    /// Number of environments in all projects.
    pub environments: u64,
    /// Number of environments in the project with the most environments.
    pub most_environments: u64,
    /// Number of secrets in all environments, including hidden secrets.
    pub secrets: u64,
    /// Number of secrets in the environment with the most secrets.
    pub most_secrets: u64,
    /// Total size of all secrets and their previous versions, in bytes.
    pub bytes: u64,
    /// Total size of the secrets in the environment with the highest total size, in bytes; previous
    /// versions are not included.
    pub most_bytes: u64,
    /// Total size of all secrets and their previous versions, in bytes, including those of deleted
    /// projects that are not purged yet.
    pub stored_bytes: u64,
    /// Number of service tokens, including expired tokens.
    pub service_tokens: u64,
    /// Number of rotations in all projects.
    pub rotations: u64,
}

impl Membership {
    /// True if this is the personal team that was created at this user's first sign-in. The user
    /// may also be a member of other users' personal teams.
    pub(crate) fn is_personal_of(&self, user: UserId) -> bool {
        self.team.is_personal && self.team.created_by == user
    }
}

/// Read access to teams.
#[async_trait]
pub trait TeamReads: Send {
    /// Returns a team with the role that the user has in it. The role is `None` if the user is not
    /// a member. Returns `None` if the team does not exist.
    async fn membership(&mut self, team: TeamId, user: UserId) -> StoreResult<Option<Membership>>;

    /// Lists the teams of a user, oldest first.
    async fn memberships(&mut self, user: UserId) -> StoreResult<Vec<Membership>>;

    /// Lists the members of these teams, ordered by team, then by the time they joined.
    async fn members(&mut self, teams: &[TeamId]) -> StoreResult<Vec<MemberRecord>>;

    /// Returns the numbers and sizes of a team's resources.
    async fn team_usage(&mut self, team: TeamId) -> StoreResult<TeamUsage>;

    /// Returns the total size in bytes of all secrets of a team and of their previous versions,
    /// including those of deleted projects that are not purged yet, and without those of deleted
    /// environments.
    async fn stored_bytes(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Returns the team with this ID.
    async fn team(&mut self, team: TeamId) -> StoreResult<Option<TeamRecord>>;

    /// Returns the first team whose ID is `from` or higher.
    async fn next_team(&mut self, from: TeamId) -> StoreResult<Option<TeamRecord>>;
}

/// Write access to teams.
#[async_trait]
pub trait TeamWrites: Send {
    /// Inserts a team. Fails with `Duplicate` if another team has the same slug.
    async fn insert_team(&mut self, team: &TeamRecord) -> StoreResult<()>;

    /// Adds a member to a team. Fails with `Duplicate` if the user is already a member.
    async fn insert_member(&mut self, member: &MemberRecord) -> StoreResult<()>;

    /// Updates the role of a team member. Fails with `Stale` if the user is not a member.
    async fn update_member(&mut self, member: &MemberRecord) -> StoreResult<()>;

    /// Sets the plan of a team. Fails with `Stale` if the team does not exist.
    async fn set_plan(&mut self, team: TeamId, plan: &PlanName, now: Time) -> StoreResult<()>;

    /// Removes a user from a team, together with the permissions that were granted to the user in
    /// the team's environments. Fails with `Stale` if the user is not a member.
    async fn delete_member(&mut self, team: TeamId, user: UserId) -> StoreResult<()>;

    /// Deletes everything in a team: members, invitations, tokens, rotations, and scans without a
    /// project. Its projects are marked as deleted with a time in 1970, so that they cannot be
    /// restored, and [`purge_project`](super::ProjectWrites::purge_project) deletes their
    /// environments, secrets, scans and encryption keys in short transactions. The rows of the
    /// projects remain, so that their slugs cannot be used again; the team's row remains because
    /// these rows refer to it.
    async fn delete_team(&mut self, team: TeamId, now: Time) -> StoreResult<()>;

    /// Locks the row of a team until the end of the transaction, so that the numbers of its
    /// resources do not change. Fails with `Stale` if the team does not exist.
    async fn lock_team(&mut self, team: TeamId) -> StoreResult<()>;

    /// Locks the stored size of a team's secrets until the end of the transaction: no other
    /// transaction that takes this lock can then change the result of
    /// [`stored_bytes`](TeamReads::stored_bytes). The team's row itself is not locked, so that
    /// changes of members do not wait for writes of secrets.
    async fn lock_team_size(&mut self, team: TeamId) -> StoreResult<()>;
}
