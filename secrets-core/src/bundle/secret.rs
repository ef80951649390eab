//! A secret in a bundle.

use serde::{Deserialize, Serialize};

use super::format::{canonical_time, stated};
use crate::crypto::Plaintext;
use crate::model::{EnvironmentName, SecretKey, Time};

/// A secret in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledSecret {
    /// Secret key: the name of the secret, such as `DATABASE_URL`.
    pub key: SecretKey,
    /// Decrypted value of the secret.
    #[serde(serialize_with = "crate::crypto::revealed")]
    pub value: Plaintext,
    /// Description of the secret.
    #[serde(
        default,
        deserialize_with = "stated",
        serialize_with = "crate::crypto::revealed",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<Plaintext>,
    /// Version number of the secret, starting at 1.
    pub version: u32,
    /// Name of the ancestor environment that defines the secret; `None` if the bundle's own
    /// environment does.
    #[serde(default, deserialize_with = "stated", skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<EnvironmentName>,
    /// Time of the last change of the secret.
    #[serde(deserialize_with = "canonical_time")]
    pub updated_at: Time,
}
