//! Comparison of the secrets of several environments, as it is returned to callers.

use serde::Serialize;
use uuid::Uuid;

use crate::crypto::{Plaintext, Tag};
use crate::model::{EnvironmentId, EnvironmentName, MemberAccess, RotationName, SecretKey, Time};

/// Secrets of a project's environments side by side, without values.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Comparison {
    /// ETag of the comparison, without quotes.
    pub revision: Tag,
    /// Environments, in display order.
    pub environments: Vec<ComparedEnvironment>,
    /// Secret keys of these environments, sorted.
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
    /// ID of the environment this one inherits secrets from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherits_from: Option<EnvironmentId>,
    /// Position in lists.
    pub order: u32,
    /// The caller's access level. With `none`, all cells of the environment are `null`.
    pub role: MemberAccess,
    /// Number of secret keys without a cell here, for which another environment of the comparison
    /// has a value. Absent if the caller has no access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<usize>,
}

/// A secret key of a comparison.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ComparedKey {
    /// Secret key.
    pub key: SecretKey,
    /// Cells of the environments, in their order; `null` for an environment without a secret with
    /// this key.
    pub cells: Vec<Option<ComparedSecret>>,
}

/// A secret of a comparison, as one environment sees it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ComparedSecret {
    /// Origin of the secret.
    pub state: SecretState,
    /// Name of the ancestor environment that holds the inherited secret, or the value that the
    /// environment overrides or hides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<EnvironmentName>,
    /// Version number; of an inherited secret, the version in the environment that holds it.
    pub version: u32,
    /// Description of the secret.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub description: Option<Plaintext>,
    /// Name of the rotation of this environment that writes the secret key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationName>,
    /// True if the secret is inherited from an environment that the caller may not read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restricted: bool,
    /// Number of the group of equal values. Present if equal values were requested and the caller
    /// may read this one. Valid within this comparison only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Time of the last change to the secret.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub updated_at: Time,
    /// ID of the user or service token that last changed the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_by: Option<Uuid>,
}

/// Origin of a secret that an environment sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecretState {
    /// Value of the environment itself, where it would inherit none.
    Own,
    /// Value of the environment itself, instead of an inherited value.
    Override,
    /// Secret of the environment itself that hides the secret key.
    Hidden,
    /// Value of an ancestor environment.
    Inherited,
    /// Secret of an ancestor environment that hides the secret key.
    InheritedHidden,
}

impl SecretState {
    /// True if the environment has or inherits a value.
    pub(super) fn has_value(self) -> bool {
        !matches!(self, Self::Hidden | Self::InheritedHidden)
    }
}

impl ComparedKey {
    /// True if an environment of the comparison has a value.
    pub(super) fn has_value(&self) -> bool {
        self.cells.iter().flatten().any(|cell| cell.state.has_value())
    }
}
