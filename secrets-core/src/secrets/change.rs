//! What a change to a secret may say, and what it means.

use serde::Deserialize;

use crate::crypto::{Description, Plaintext};
use crate::model::{Error, Result, Subject};
use crate::store::{Change, SecretRecord};

/// A change to a secret. At least one of value, description and hidden must be given.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SecretChange {
    /// A new value; the secret is then no longer hidden.
    pub value: Option<Plaintext>,
    /// What it is for.
    pub description: Option<Description>,
    /// `true` hides the key in this environment and goes without a value; `false` needs one.
    pub hidden: Option<bool>,
    /// The version the secret must have for the change to happen.
    pub expected_version: Option<u32>,
}

/// What a secret holds next.
pub(super) struct Content {
    pub(super) value: Plaintext,
    pub(super) hidden: bool,
}

/// Refuses a change to another version than the caller expects.
pub(super) fn check_version(known: &SecretRecord, expected: Option<u32>) -> Result<()> {
    if expected.is_some_and(|expected| expected != known.version) {
        return Err(Error::Stale(Subject::Secret));
    }
    Ok(())
}

impl Content {
    /// How a version that holds this came to be.
    pub(super) fn change(&self) -> Change {
        if self.hidden { Change::Hidden } else { Change::Updated }
    }

    /// What `value` and `hidden` say together; `None` if neither is there.
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
