//! One's own account: what is kept of a person, and its end.

mod archive;
mod delete;
mod export;
mod get;
mod update;

use serde::Serialize;

pub use archive::{AccountArchive, ExportAccountSecrets, NewArchive, TakeAccountSecrets};
pub use delete::{Confirmation, DeleteAccount};
pub use export::{AccountData, ExportAccount};
pub use get::GetAccount;
pub use update::{AccountChange, UpdateAccount};

use crate::engine::{Access, Context};
use crate::model::{DisplayName, Result, Role, TeamId, Time};
use crate::store::{Membership, UserRecord};
use crate::users::User;

/// A person's account.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Account {
    /// The person.
    pub user: User,
    /// Their teams.
    pub teams: Vec<AccountTeam>,
    /// When they first signed in.
    pub created_at: Time,
}

/// A person's place in a team.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountTeam {
    /// Which team.
    pub id: TeamId,
    /// What it is called.
    pub name: DisplayName,
    /// Their role.
    pub role: Role,
    /// Whether it came with their first sign-in, or that of whoever invited them.
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

impl<A: Access> Context<'_, A> {
    async fn account(&mut self, user: UserRecord) -> Result<Account> {
        let memberships = self.reads().memberships(user.id).await?;
        let created_at = user.created_at;
        let teams = memberships.iter().filter_map(AccountTeam::new).collect();
        Ok(Account { user: User::new(user, memberships), teams, created_at })
    }
}
