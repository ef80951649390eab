//! Roles, and what each may.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::{Broken, Rule};

/// A person's role in a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum Role {
    /// Works in projects.
    Member,
    /// Runs the team.
    Admin,
    /// Runs the team and who owns it.
    Owner,
}

/// What a person may do in an environment. Owners and admins of the team may everything.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase", try_from = "String")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum MemberAccess {
    /// Nothing.
    None,
    /// See keys and values.
    Read,
    /// Change them as well.
    #[default]
    Write,
    /// And say who may.
    Admin,
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Know that it is there.
    See,
    /// Read secrets.
    Read,
    /// Change secrets.
    Write,
    /// Say who may, in an environment: owners, admins, and who was made its admin.
    Grant,
    /// Add to a project or team: any member.
    Contribute,
    /// Rename, delete, give access: owners and admins.
    Manage,
}

impl Role {
    /// The name under which it is kept and told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// The role kept under this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Member, Self::Admin, Self::Owner].into_iter().find(|role| role.as_str() == name)
    }

    /// Whether the role runs the team.
    #[must_use]
    pub fn manages(self) -> bool {
        self >= Self::Admin
    }
}

impl TryFrom<String> for Role {
    type Error = Broken;

    fn try_from(text: String) -> Result<Self, Broken> {
        const ROLE: Rule = Rule::of("must be owner, admin or member");
        Self::from_name(&text).ok_or(ROLE.broken())
    }
}

impl MemberAccess {
    /// The name under which it is kept and told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// What a member with this role may do: what was `granted`, or `otherwise` where nothing was.
    #[must_use]
    pub fn of(role: Role, granted: Option<Self>, otherwise: Self) -> Self {
        if role.manages() { Self::Admin } else { granted.unwrap_or(otherwise) }
    }

    /// Whether it is enough for what somebody wants in an environment.
    pub(super) fn allows(self, wanted: Permission) -> bool {
        match wanted {
            Permission::See | Permission::Read | Permission::Contribute => self >= Self::Read,
            Permission::Write => self >= Self::Write,
            Permission::Grant => self >= Self::Admin,
            Permission::Manage => false,
        }
    }
}

impl FromStr for MemberAccess {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::None),
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            "admin" => Ok(Self::Admin),
            _ => Err(ACCESS),
        }
    }
}

const ACCESS: &str = "must be none, read, write or admin";

impl TryFrom<String> for MemberAccess {
    type Error = Broken;

    fn try_from(text: String) -> Result<Self, Broken> {
        text.parse().map_err(|_| Rule::of(ACCESS).broken())
    }
}
