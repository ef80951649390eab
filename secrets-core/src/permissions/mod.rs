//! Permissions: access of team members to environments.

mod defaults;
mod delete;
mod list;
mod mine;
mod put;

use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

pub use defaults::{
    DefaultPermission, DefaultScope, DeletePermissionDefaults, GetPermissionDefaults, NewDefault,
    NewDefaults, PutPermissionDefaults,
};
pub use delete::DeletePermission;
pub use list::ListPermissions;
pub use mine::{GetMyPermissions, MyPermissions};
pub use put::{Granted, NewPermission, NewPermissions, PutPermission, PutPermissions};

use crate::access::LockedRow;
use crate::model::{EnvironmentId, EnvironmentName, MemberAccess, Time, UserId};
use crate::store::{EnvironmentRecord, PermissionRecord};

/// Access of a member to an environment.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentPermission {
    /// ID of the permission, stable across requests: a UUID of version 8 (RFC 9562), derived from
    /// the IDs of the environment and the user with SHA-256.
    pub id: Uuid,
    /// Environment ID.
    pub environment_id: EnvironmentId,
    /// Environment name.
    pub environment_name: EnvironmentName,
    /// User ID; for a service token, the ID of the token.
    pub user_id: UserId,
    /// E-mail address of the user; empty for a service token.
    pub user_email: String,
    /// Name of the user or the service token.
    pub user_name: String,
    /// Access level of the user.
    pub role: MemberAccess,
    /// True if the user may read secrets.
    pub can_read: bool,
    /// True if the user may change secrets.
    pub can_write: bool,
    /// True if the user may set the permissions of others in the environment.
    pub can_admin: bool,
    /// ID of the user who set the permission; absent if no permission is set for this user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_by: Option<Uuid>,
    /// Time at which the permission was first set or, if none is set, the creation time of the
    /// environment.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// Time at which the permission was last set or, if none is set, the creation time of the
    /// environment.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Time,
}

/// Rows that a change of permissions locks, so that neither members of the team nor the environment
/// are deleted at the same time. The environment's own row is not locked: revoking access must not
/// wait for writes of the user who loses access.
const LOCKED: [LockedRow; 2] = [LockedRow::Team, LockedRow::Project];

/// ID, e-mail address and name of a user.
type UserSummary<'a> = (UserId, &'a str, &'a str);

impl EnvironmentPermission {
    /// Builds the permission of a user with access level `access` in an environment, for the
    /// response. `record` is the stored permission of the user, if one was set.
    fn new(
        environment: &EnvironmentRecord,
        (user, email, name): UserSummary<'_>,
        access: MemberAccess,
        record: Option<&PermissionRecord>,
    ) -> Self {
        Self {
            id: derived_id(environment.id.uuid(), user.uuid()),
            environment_id: environment.id,
            environment_name: environment.name.clone(),
            user_id: user,
            user_email: email.to_owned(),
            user_name: name.to_owned(),
            role: access,
            can_read: access >= MemberAccess::Read,
            can_write: access >= MemberAccess::Write,
            can_admin: access >= MemberAccess::Admin,
            granted_by: record.and_then(|record| record.granted_by),
            created_at: record.map_or(environment.created_at, |record| record.created_at),
            updated_at: record.map_or(environment.created_at, |record| record.updated_at),
        }
    }
}

/// Derives a stable ID from two other IDs (UUID version 8, RFC 9562).
fn derived_id(first: Uuid, second: Uuid) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(first);
    hash.update(second);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}
