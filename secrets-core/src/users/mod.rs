//! People: signing in, and seeing oneself.

mod me;
mod sync;

use serde::Serialize;

pub use me::{Me, ReadMe};
pub use sync::SyncUser;

use crate::engine::{Context, Write};
use crate::model::{DisplayName, Error, Result, Role, Slug, Subject, TeamId, Time, UserId};
use crate::store::{Membership, UserRecord};

/// A person and their teams.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    /// Which person.
    pub id: UserId,
    /// Their address.
    pub email: String,
    /// Their name.
    pub name: String,
    /// Their given name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Their family name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// An image of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_url: Option<String>,
    /// Who they are to their identity provider (`sub`).
    pub external_id: String,
    /// `user`.
    pub auth_type: &'static str,
    /// When they first signed in.
    pub created_at: Time,
    /// When something about them last changed.
    pub updated_at: Time,
    /// When they last signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_login_at: Option<Time>,
    /// Their teams.
    pub teams: Vec<UserTeam>,
}

/// A person's place in a team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserTeam {
    /// Which team.
    pub team_id: TeamId,
    /// The person.
    pub user_id: UserId,
    /// Their role.
    pub role: Role,
    /// When they joined.
    pub created_at: Time,
    /// The team's names.
    pub team: TeamName,
}

/// A team's names.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TeamName {
    /// Which team.
    pub id: TeamId,
    /// What people call it.
    pub name: DisplayName,
    /// Its name in addresses.
    pub slug: Slug,
}

impl Context<'_, Write> {
    /// A person as they are now, held until the end: what is written of them is made of this, and
    /// not of what was read before somebody else wrote.
    pub(crate) async fn locked_user(&mut self, user: UserId) -> Result<UserRecord> {
        self.tx().lock_user(user).await.map_err(|error| error.gone(Subject::User))?;
        let known = self.reads().user(user).await?;
        known.ok_or(Error::NotFound(Subject::User))
    }
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
            team: TeamName { id: team.id, name: team.name, slug: team.slug },
        })
    }
}
