//! Teams: creating and reading them.

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
    Code, DisplayName, Error, InvitationId, PlanName, Result, Role, Slug, Subject, TeamId, Time,
    UserId,
};
use crate::store::{MemberRecord, StoreError, TeamRecord, UserRecord};

/// A team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Team {
    /// Team ID.
    pub id: TeamId,
    /// Display name of the team.
    pub name: DisplayName,
    /// Short name of the team in URLs.
    pub slug: Slug,
    /// True for a personal team, created at its owner's first sign-in.
    pub is_personal: bool,
    /// Name of the team's plan.
    pub plan: PlanName,
    /// ID of the user who created the team.
    pub created_by: UserId,
    /// Creation time of the team.
    pub created_at: Time,
    /// Time of the last change of the team.
    pub updated_at: Time,
}

/// A team with its members, as returned to a member of the team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamWithMembers {
    /// Team without its members.
    #[serde(flatten)]
    pub team: Team,
    /// Role of the caller in the team.
    pub role: Role,
    /// Number of members of the team.
    pub member_count: usize,
    /// Members of the team, in the order in which they joined.
    pub members: Vec<TeamMember>,
}

/// A member of a team, or a person with a pending invitation to it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamMember {
    /// User ID of a member, or ID of a pending invitation.
    pub id: Uuid,
    /// ID of the team.
    pub team_id: TeamId,
    /// User ID; absent until the invitation is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// E-mail address of the person.
    pub email: String,
    /// Name of the person; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// URL of an image of the person; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_url: Option<String>,
    /// Role in the team.
    pub role: Role,
    /// Status: `active` for a member, or `pending` for a person whose invitation is not accepted
    /// yet.
    pub status: &'static str,
    /// ID of the pending invitation; absent for a member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invitation_id: Option<InvitationId>,
    /// URL of the page to accept the invitation. Present only in the response that creates an
    /// invitation for which no e-mail is sent; the inviter must then send the URL to the invited
    /// person. No e-mail is sent if the service is not configured for it, or if the address has
    /// received 10 invitations today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_url: Option<String>,
    /// Time at which the person joined the team; absent until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_at: Option<Time>,
    /// Time at which the person joined the team or was invited.
    pub created_at: Time,
    /// Time of the last change of the role; for a pending invitation, the time at which it was last
    /// sent.
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
            email: user.verified_email().to_owned(),
            name: user.name.clone(),
            avatar_url: user.avatar_url.clone(),
            created_at: now,
            updated_at: now,
        }
    }
}

/// Maximum number of teams of a user. The deletion of an account leaves or deletes all its teams in
/// one transaction, which has to be short.
const MAX_MEMBERSHIPS: usize = 250;

/// Checks that a user is a member of at most 250 teams after they were added to one. The caller
/// must have locked the user, so that they join no other team at the same time.
pub(crate) async fn check_memberships(cx: &mut Context<'_, Write>, user: UserId) -> Result<()> {
    if cx.reads().memberships(user).await?.len() > MAX_MEMBERSHIPS {
        let reason = "an account can be a member of at most 250 teams".into();
        return Err(Error::Refused { code: Code::InvalidRequest, reason });
    }
    Ok(())
}

/// Maximum number of attempts to find a free slug. Each retry uses a new random suffix of four
/// letters, so it is practically impossible that all attempts fail.
const MAX_ATTEMPTS: usize = 8;

/// Inserts a new team. If its slug is reserved or used by another team, appends a random suffix.
pub(crate) async fn insert(
    cx: &mut Context<'_, Write>,
    mut team: TeamRecord,
) -> Result<TeamRecord> {
    let plain = team.slug.clone();
    if plain.is_reserved() {
        team.slug = plain.with_suffix(random());
    }
    for _ in 0..MAX_ATTEMPTS {
        match cx.tx().insert_team(&team).await {
            Err(StoreError::Duplicate(_)) => team.slug = plain.with_suffix(random()),
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(team),
        }
    }
    Err(Error::Conflict(Subject::Team))
}
