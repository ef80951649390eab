//! Roles and permissions.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::{ValidationRule, Violation};

/// Role of a user in a team. A higher role includes the rights of the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum Role {
    /// Member of the team: works in the team's projects.
    Member,
    /// Admin of the team: manages the team.
    Admin,
    /// Owner of the team: manages the team and its owners.
    Owner,
}

/// Access level of a team member in an environment. Team owners and admins always have full access.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase", try_from = "String")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum MemberAccess {
    /// No access to the environment.
    None,
    /// Permission to read secrets.
    Read,
    /// Permission to read and change secrets.
    #[default]
    Write,
    /// Permission to read and change secrets, and to manage the permissions of others.
    Admin,
}

/// Permission that an action requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Permission to know that the project or environment exists.
    See,
    /// Permission to read secrets.
    Read,
    /// Permission to change secrets.
    Write,
    /// Permission to manage permissions of an environment. Team owners, team admins and admins of
    /// the environment have this permission.
    Grant,
    /// Permission to create resources in a project or team. All members have this permission.
    Contribute,
    /// Permission to rename, delete and manage a project or team. Team owners and admins have this
    /// permission.
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

    /// Returns the role with this name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Member, Self::Admin, Self::Owner].into_iter().find(|role| role.as_str() == name)
    }

    /// True for the roles that may manage the team: admin and owner.
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
