//! Roles and permissions.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::{ValidationRule, Violation};

/// Role of a user in a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum Role {
    /// Works in the projects of the team.
    Member,
    /// Manages the team.
    Admin,
    /// Manages the team and its owners.
    Owner,
}

/// Access level of a team member in an environment. Team owners and admins always have full access.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase", try_from = "String")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum MemberAccess {
    /// No access.
    None,
    /// Read secrets.
    Read,
    /// Read and change secrets.
    #[default]
    Write,
    /// Read and change secrets, and manage permissions.
    Admin,
}

/// Permission required for an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Know that the project or environment exists.
    See,
    /// Read secrets.
    Read,
    /// Change secrets.
    Write,
    /// Manage permissions of an environment: team owners and admins, and admins of the environment.
    Grant,
    /// Create resources in a project or team: all members.
    Contribute,
    /// Rename, delete and manage: team owners and admins.
    Manage,
}

impl Role {
    /// Returns the role name, as stored and as used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// Parses a role name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Member, Self::Admin, Self::Owner].into_iter().find(|role| role.as_str() == name)
    }

    /// True for roles that manage the team: admin and owner.
    #[must_use]
    pub fn manages(self) -> bool {
        self >= Self::Admin
    }
}

impl TryFrom<String> for Role {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        const ROLE: ValidationRule = ValidationRule::of("must be owner, admin or member");
        Self::from_name(&text).ok_or(ROLE.violation())
    }
}

impl MemberAccess {
    /// Returns the name of the access level, as stored and as used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// Returns the effective access level of a member: full access for team owners and admins;
    /// otherwise the granted level, or the level `otherwise` if none is granted.
    #[must_use]
    pub fn of(role: Role, granted: Option<Self>, otherwise: Self) -> Self {
        if role.manages() { Self::Admin } else { granted.unwrap_or(otherwise) }
    }

    /// True if this access level includes the permission in an environment.
    pub(crate) fn allows(self, wanted: Permission) -> bool {
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
            _ => Err(INVALID_ACCESS),
        }
    }
}

const INVALID_ACCESS: &str = "must be none, read, write or admin";

impl TryFrom<String> for MemberAccess {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        text.parse().map_err(|_| ValidationRule::of(INVALID_ACCESS).violation())
    }
}
