//! Changes to a secret, and the rules for combining their fields.

use serde::Deserialize;

use crate::crypto::{Description, Plaintext};
use crate::model::{Error, Result, Subject, whole};
use crate::store::{Change, SecretRecord};

/// A change to a secret. At least one of `value`, `description` and `hidden` is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SecretChange {
    /// New value; the secret is then no longer hidden.
    pub value: Option<Plaintext>,
    /// New description.
    pub description: Option<Description>,
    /// `true` hides the secret key in this environment and does not allow a value; `false` requires
    /// a value.
    pub hidden: Option<bool>,
    /// Version that the secret must have; any other version is a conflict.
    #[serde(default, deserialize_with = "whole::optional")]
    pub expected_version: Option<u32>,
}

/// Content of a secret's next version.
pub(crate) struct Content {
    pub(super) value: Plaintext,
    pub(super) hidden: bool,
}

/// Returns an error if the secret's version is not the expected one.
pub(super) fn check_version(known: &SecretRecord, expected: Option<u32>) -> Result<()> {
    if expected.is_some_and(|expected| expected != known.version) {
        return Err(Error::Stale(Subject::Secret));
    }
    Ok(())
}

impl Content {
    /// Returns the kind of change that a version with this content is recorded as.
    pub(super) fn change(&self) -> Change {
        if self.hidden { Change::Hidden } else { Change::Updated }
    }

    /// Combines `value` and `hidden` into content; `None` if neither is given.
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
