//! Changes of a secret, and the rules for combining the fields of a change.

use serde::Deserialize;

use crate::crypto::{Description, Plaintext};
use crate::model::{Error, Result, Subject, whole};
use crate::store::{Change, SecretRecord};

/// Changes of a secret's fields. At least one of `value`, `description` and `hidden` is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SecretChange {
    /// New value of the secret. A hidden secret is then no longer hidden.
    pub value: Option<Plaintext>,
    /// New description of the secret.
    pub description: Option<Description>,
    /// `true` hides the secret: reads of this environment then return no value for the key, not
    /// even an inherited one, so `value` must be absent. `false` requires `value`.
    pub hidden: Option<bool>,
    /// Version that the secret is expected to have. If the stored version differs, the change fails
    /// with a conflict. If absent, any version is accepted.
    #[serde(default, deserialize_with = "whole::optional")]
    pub expected_version: Option<u32>,
}

/// Content of a new version of a secret: a value, or the mark that the secret is hidden.
pub(crate) struct Content {
    pub(super) value: Plaintext,
    pub(super) hidden: bool,
}

/// Fails with a version conflict if the stored version differs from the expected version.
pub(super) fn check_version(known: &SecretRecord, expected: Option<u32>) -> Result<()> {
    if expected.is_some_and(|expected| expected != known.version) {
        return Err(Error::Stale(Subject::Secret));
    }
    Ok(())
}

impl Content {
    /// Returns the kind of change that the secret's history shows for a version with this content.
    pub(super) fn change(&self) -> Change {
        if self.hidden { Change::Hidden } else { Change::Updated }
    }

    /// Combines the fields `value` and `hidden` of a request into the content of a new version;
    /// `None` if neither is given.
    pub(super) fn of(value: Option<Plaintext>, hidden: Option<bool>) -> Result<Option<Self>> {
        match (value, hidden) {
            (Some(_), Some(true)) => {
                Err(Error::invalid("value", "must be absent where hidden is true"))
            }
            (None, Some(false)) => {
                Err(Error::invalid("value", "must be given where hidden is false"))
            }
            (None, Some(true)) => Ok(Some(Self { value: Plaintext::nothing(), hidden: true })),
            (Some(value), _) => Ok(Some(Self { value, hidden: false })),
            (None, None) => Ok(None),
        }
    }
}
