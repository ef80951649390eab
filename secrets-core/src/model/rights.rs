//! Roles and permissions.

use serde::{Deserialize, Serialize};

use super::named_enum::named_enum;
use super::{ValidationRule, Violation};

named_enum! {
    /// Role of a user in a team. A higher role includes the rights of the lower ones.
    Role, "must be owner, admin or member",
    /// Member of the team: works in the team's projects.
    Member = "member",
    /// Admin of the team: manages the team.
    Admin = "admin",
    /// Owner of the team: manages the team and its owners.
    Owner = "owner",
}

named_enum! {
    /// Access level of a team member in an environment. Team owners and admins always have full
    /// access.
    #[derive(Default)]
    MemberAccess, "must be none, read, write or admin",
    /// No access to the environment.
    None = "none",
    /// Permission to read secrets.
    Read = "read",
    /// Permission to read and change secrets.
    #[default]
    Write = "write",
    /// Permission to read and change secrets, and to manage the permissions of others.
    Admin = "admin",
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
    /// True for the roles that may manage the team: admin and owner.
    #[must_use]
    pub fn manages(self) -> bool {
        self >= Self::Admin
    }
}

impl MemberAccess {
    /// Returns the effective access level of a member: full access for team owners and admins;
    /// otherwise the granted level, or the level `otherwise` if none is granted.
    #[must_use]
    pub fn of(role: Role, granted: Option<Self>, otherwise: Self) -> Self {
        if role.manages() { Self::Admin } else { granted.unwrap_or(otherwise) }
    }

    /// True if this access level includes the permission in an environment.
    pub(crate) fn allows(self, permission: Permission) -> bool {
        match permission {
            Permission::See | Permission::Read | Permission::Contribute => self >= Self::Read,
            Permission::Write => self >= Self::Write,
            Permission::Grant => self >= Self::Admin,
            Permission::Manage => false,
        }
    }
}
