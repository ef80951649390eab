//! What people may do in environments.

mod defaults;
mod delete;
mod list;
mod mine;
mod put;

use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

pub use defaults::{
    DeletePermissionDefault, GetPermissionDefault, ProjectPermission, PutPermissionDefault,
};
pub use delete::DeletePermission;
pub use list::ListPermissions;
pub use mine::{GetMyPermissions, MyPermissions};
pub use put::{Granted, NewPermission, NewPermissions, PutPermission, PutPermissions};

use crate::model::{EnvironmentId, EnvironmentName, MemberAccess, Time, UserId};
use crate::store::{EnvironmentRecord, PermissionRecord};

/// What a person may do in an environment.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentPermission {
    /// Names the pair of environment and person: always the same for the same two (RFC 9562,
    /// version 8, of their SHA-256).
    pub id: Uuid,
    /// In which environment.
    pub environment_id: EnvironmentId,
    /// Its name.
    pub environment_name: EnvironmentName,
    /// Who.
    pub user_id: UserId,
    /// Their address.
    pub user_email: String,
    /// Their name.
    pub user_name: String,
    /// What they may do.
    pub role: MemberAccess,
    /// Whether that includes reading.
    pub can_read: bool,
    /// Whether it includes writing.
    pub can_write: bool,
    /// Whether it includes saying who may.
    pub can_admin: bool,
    /// Who said so, where somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_by: Option<Uuid>,
    /// When it was first said; where nobody said it, when the environment was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// When it was last said; likewise.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Time,
}

/// Somebody whose permission is told: id, address, name.
type Introduced<'a> = (UserId, &'a str, &'a str);

impl EnvironmentPermission {
    /// What `access` means for somebody in an environment; `said` is what was said of them there.
    fn new(
        environment: &EnvironmentRecord,
        (user, email, name): Introduced<'_>,
        access: MemberAccess,
        said: Option<&PermissionRecord>,
    ) -> Self {
        Self {
            id: pair(environment.id, user),
            environment_id: environment.id,
            environment_name: environment.name.clone(),
            user_id: user,
            user_email: email.to_owned(),
            user_name: name.to_owned(),
            role: access,
            can_read: access >= MemberAccess::Read,
            can_write: access >= MemberAccess::Write,
            can_admin: access >= MemberAccess::Admin,
            granted_by: said.and_then(|said| said.granted_by),
            created_at: said.map_or(environment.created_at, |said| said.created_at),
            updated_at: said.map_or(environment.created_at, |said| said.updated_at),
        }
    }
}

fn pair(environment: EnvironmentId, user: UserId) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(environment.uuid());
    hash.update(user.uuid());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}
