//! The caller's own account: reading, changing, exporting and deleting it.

mod anonymize;
mod archive;
mod delete;
mod export;
mod get;
mod update;

use serde::Serialize;

pub use anonymize::{ANONYMIZATION, anonymize};
pub use archive::{AccountArchive, ExportAccountSecrets, NewArchive};
pub use delete::{Confirmation, DeleteAccount};
pub use export::{AccountData, ExportAccount};
pub use get::GetAccount;
pub use update::{AccountChange, UpdateAccount};

use crate::engine::{Access, Context};
use crate::model::{DisplayName, Result, Role, TeamId, Time};
use crate::store::{Membership, UserRecord};
use crate::users::User;

/// A user's account.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Account {
    /// User, with profile and team memberships.
    pub user: User,
    /// Team memberships of the user.
    pub teams: Vec<AccountTeam>,
    /// Time of the first sign-in.
    pub created_at: Time,
}

/// A user's membership in a team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountTeam {
    /// Team ID.
    pub id: TeamId,
    /// Name of the team.
    pub name: DisplayName,
    /// Role of the user in the team.
    pub role: Role,
    /// True for a personal team: the user's own, or one of another user that this user has joined.
    pub is_personal: bool,
}

impl AccountTeam {
    fn new(membership: &Membership) -> Option<Self> {
        let team = &membership.team;
        Some(Self {
            id: team.id,
            name: team.name.clone(),
            role: membership.role?,
            is_personal: team.is_personal,
        })
    }
}

async fn account<A: Access>(cx: &mut Context<'_, A>, user: UserRecord) -> Result<Account> {
    let memberships = cx.reads().memberships(user.id).await?;
    let created_at = user.created_at;
    let teams = memberships.iter().filter_map(AccountTeam::new).collect();
    Ok(Account { user: User::new(user, memberships), teams, created_at })
}
