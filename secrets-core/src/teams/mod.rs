//! Teams.

mod create;
mod get;
mod list;

use serde::Serialize;
use uuid::Uuid;

pub use create::{CreateTeam, NewTeam};
pub use get::GetTeam;
pub use list::ListTeams;

use crate::crypto::random;
use crate::engine::{Context, Write};
use crate::model::{
    DisplayName, Error, InvitationId, PlanName, Result, Role, Slug, Subject, TeamId, Time, UserId,
};
use crate::store::{MemberRecord, StoreError, TeamRecord, UserRecord};

/// A team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Team {
    /// Which team.
    pub id: TeamId,
    /// What people call it.
    pub name: DisplayName,
    /// Its name in addresses.
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

/// A team as one of its members sees it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamWithMembers {
    /// The team.
    #[serde(flatten)]
    pub team: Team,
    /// The caller's role.
    pub role: Role,
    /// How many members there are.
    pub member_count: usize,
    /// The members, in the order they joined.
    pub members: Vec<TeamMember>,
}

/// Somebody's place in a team, or one that is kept for whoever was invited.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamMember {
    /// Names this place: the person's id, or the invitation's.
    pub id: Uuid,
    /// Which team.
    pub team_id: TeamId,
    /// Which person, once they have joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Their address.
    pub email: String,
    /// Their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// An image of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_url: Option<String>,
    /// Their role.
    pub role: Role,
    /// `active`, or `pending` while they have not joined.
    pub status: &'static str,
    /// The invitation that is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invitation_id: Option<InvitationId>,
    /// Where they accept it, for the inviter to pass on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_url: Option<String>,
    /// When they joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_at: Option<Time>,
    /// When they joined or were invited.
    pub created_at: Time,
    /// When their role last changed.
    pub updated_at: Time,
}

impl TeamWithMembers {
    fn new(team: TeamRecord, role: Role, members: Vec<MemberRecord>) -> Self {
        let members: Vec<TeamMember> = members.into_iter().map(Into::into).collect();
        Self { team: team.into(), role, member_count: members.len(), members }
    }
}

impl From<TeamRecord> for Team {
    fn from(team: TeamRecord) -> Self {
        Self {
            id: team.id,
            name: team.name,
            slug: team.slug,
            is_personal: team.is_personal,
            plan: team.plan,
            created_by: team.created_by,
            created_at: team.created_at,
            updated_at: team.updated_at,
        }
    }
}

impl From<MemberRecord> for TeamMember {
    fn from(member: MemberRecord) -> Self {
        Self {
            id: member.user.uuid(),
            team_id: member.team,
            user_id: Some(member.user),
            email: member.email,
            name: Some(member.name),
            avatar_url: member.avatar_url,
            role: member.role,
            status: "active",
            invitation_id: None,
            accept_url: None,
            joined_at: Some(member.created_at),
            created_at: member.created_at,
            updated_at: member.updated_at,
        }
    }
}

impl MemberRecord {
    pub(crate) fn new(team: TeamId, user: &UserRecord, role: Role, now: Time) -> Self {
        Self {
            team,
            user: user.id,
            role,
            email: user.email.clone(),
            name: user.name.clone(),
            avatar_url: user.avatar_url.clone(),
            created_at: now,
            updated_at: now,
        }
    }
}

/// How often another slug is drawn before giving up: with four letters, never.
const ATTEMPTS: usize = 8;

/// Keeps a new team under its slug, or under that with a suffix where it is taken.
pub(crate) async fn insert(
    cx: &mut Context<'_, Write>,
    mut team: TeamRecord,
) -> Result<TeamRecord> {
    let plain = team.slug.clone();
    if plain.is_uuid() {
        team.slug = plain.with_suffix(random());
    }
    for _ in 0..ATTEMPTS {
        match cx.tx().insert_team(&team).await {
            Err(StoreError::Duplicate(_)) => team.slug = plain.with_suffix(random()),
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(team),
        }
    }
    Err(Error::Conflict(Subject::Team))
}
