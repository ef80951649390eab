//! Comparison of the secrets of several environments, as returned to callers.

use serde::Serialize;
use uuid::Uuid;

use crate::crypto::{Plaintext, Tag};
use crate::model::{EnvironmentId, EnvironmentName, MemberAccess, RotationName, SecretKey, Time};

/// Secrets of several environments of a project side by side, without values.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comparison {
    /// ETag of the comparison, without quotes.
    pub revision: Tag,
    /// Compared environments, in display order.
    pub environments: Vec<ComparedEnvironment>,
    /// All secret keys of the compared environments, sorted, each with one cell per environment.
    pub keys: Vec<ComparedKey>,
}

/// An environment of a comparison.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ComparedEnvironment {
    /// Environment ID.
    pub id: EnvironmentId,
    /// Environment name.
    pub name: EnvironmentName,
    /// ID of the environment from which this environment inherits secrets; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherits_from: Option<EnvironmentId>,
    /// Position of the environment in lists of the project's environments.
    pub order: u32,
    /// Caller's access level in this environment. With `none`, all cells of the environment are
    /// `null`.
    pub role: MemberAccess,
    /// Number of secret keys for which another compared environment has a value, but this
    /// environment has no secret. Absent if the caller has no access to this environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<usize>,
}

/// Row of a comparison: a secret key with one cell for each environment.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ComparedKey {
    /// Key (name) of the secrets in this row.
    pub key: SecretKey,
    /// Cells of the compared environments, in the order of `environments`; `null` for an
    /// environment that neither has nor inherits a secret with this key.
    pub cells: Vec<Option<ComparedSecret>>,
}

/// Cell of a comparison: a secret that one environment has or inherits.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ComparedSecret {
    /// Origin of the secret: the environment itself or an ancestor.
    pub state: SecretState,
    /// Name of the ancestor environment from which the secret is inherited, or whose secret this
    /// environment overrides or hides; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<EnvironmentName>,
    /// Version number of the secret, in the environment that defines it.
    pub version: u32,
    /// Description of the secret; absent if there is none, or if the caller may not read the
    /// secret.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub description: Option<Plaintext>,
    /// Name of the rotation that writes this secret; absent if no rotation of this environment
    /// does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationName>,
    /// True if the secret is inherited from an environment that the caller may not read. Absent if
    /// false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restricted: bool,
    /// Number that identifies the group of secrets with the same value. Present if groups
    /// were requested and the caller may read this value. Valid only within this comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Time of the last change of the secret.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Time,
    /// ID of the user or service token that last changed the secret; absent for a restricted
    /// secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<Uuid>,
}

/// Origin of a secret that an environment has or inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecretState {
    /// The environment defines the value, and would inherit none.
    Own,
    /// The environment defines the value, which replaces an inherited value.
    Override,
    /// The environment hides the key, so that there is no value.
    Hidden,
    /// The value is inherited from an ancestor environment.
    Inherited,
    /// An ancestor environment hides the key, so that there is no value.
    InheritedHidden,
}

impl SecretState {
    /// True if the secret has a value, which means that it is not hidden.
    pub(super) fn has_value(self) -> bool {
        !matches!(self, Self::Hidden | Self::InheritedHidden)
    }
}

impl ComparedKey {
    /// True if at least one compared environment has a value for this key.
    pub(super) fn has_value(&self) -> bool {
        self.cells.iter().flatten().any(|cell| cell.state.has_value())
    }
}
