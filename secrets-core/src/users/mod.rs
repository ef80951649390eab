//! Users: signing in, and reading the caller's own user record.

mod identify;
mod me;
mod sync;

use serde::Serialize;

pub(crate) use identify::identify;
pub use me::{Me, ReadMe};
pub use sync::SyncUser;

use crate::engine::{Context, Lock, Write};
use crate::model::{DisplayName, Error, Result, Role, Slug, Subject, TeamId, Time, UserId};
use crate::store::{Membership, UserRecord};

/// A user with the user's team memberships.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    /// User ID.
    pub id: UserId,
    /// E-mail address of the user.
    pub email: String,
    /// Name of the user.
    pub name: String,
    /// Given name of the user; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name of the user; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// URL of an image of the user; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_url: Option<String>,
    /// User's ID at the identity provider (`sub` claim).
    pub external_id: String,
    /// Type of credential: always `user`.
    pub auth_type: &'static str,
    /// Time of the first sign-in.
    pub created_at: Time,
    /// Time of the last change of the profile.
    pub updated_at: Time,
    /// Time of the last sign-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_login_at: Option<Time>,
    /// Team memberships of the user.
    pub teams: Vec<UserTeam>,
}

/// A user's membership in a team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserTeam {
    /// Team ID.
    pub team_id: TeamId,
    /// User ID.
    pub user_id: UserId,
    /// Role in the team.
    pub role: Role,
    /// Time at which the user joined the team.
    pub created_at: Time,
    /// ID and names of the team that the user is a member of.
    pub team: TeamName,
}

/// ID and names of a team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamName {
    /// Team ID.
    pub id: TeamId,
    /// Display name of the team.
    pub name: DisplayName,
    /// Short name of the team in URLs.
    pub slug: Slug,
    /// Creation time of the team.
    pub created_at: Time,
}

/// Locks the row of a user until the end of the transaction and loads the current record. Changes
/// must be based on this record: a record that was read before the lock may be out of date.
pub(crate) async fn locked_user(cx: &mut Context<'_, Write>, user: UserId) -> Result<UserRecord> {
    cx.lock(Lock::User(user)).await.map_err(|error| error.or_not_found(Subject::User))?;
    let known = cx.reads().user(user).await?;
    known.ok_or(Error::NotFound(Subject::User))
}

impl User {
    pub(crate) fn new(user: UserRecord, memberships: Vec<Membership>) -> Self {
        let user_id = user.id;
        let teams = memberships
            .into_iter()
            .filter_map(|membership| UserTeam::new(user_id, membership))
            .collect();
        Self {
            id: user.id,
            email: user.email,
            name: user.name,
            first_name: user.first_name,
            last_name: user.last_name,
            avatar_url: user.avatar_url,
            external_id: user.subject,
            auth_type: "user",
            created_at: user.created_at,
            updated_at: user.updated_at,
            last_login_at: user.last_login_at,
            teams,
        }
    }
}

impl UserTeam {
    fn new(user_id: UserId, membership: Membership) -> Option<Self> {
        let team = membership.team;
        Some(Self {
            team_id: team.id,
            user_id,
            role: membership.role?,
            created_at: membership.joined_at?,
            team: TeamName {
                id: team.id,
                name: team.name,
                slug: team.slug,
                created_at: team.created_at,
            },
        })
    }
}
