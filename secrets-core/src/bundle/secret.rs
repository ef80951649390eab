//! A secret in a bundle.

use serde::{Deserialize, Serialize, Serializer};

use super::format::{canonical_time, stated};
use crate::crypto::Plaintext;
use crate::model::{EnvironmentName, SecretKey, Time};

/// A secret in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledSecret {
    /// Its key.
    pub key: SecretKey,
    /// The value.
    #[serde(serialize_with = "Plaintext::serialize_revealed")]
    pub value: Plaintext,
    /// What it is for.
    #[serde(
        default,
        deserialize_with = "stated",
        serialize_with = "revealed",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<Plaintext>,
    /// Counts the values it has had, from 1.
    pub version: u32,
    /// The name of the environment that held it, where that is an ancestor of the bundle's.
    #[serde(default, deserialize_with = "stated", skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<EnvironmentName>,
    /// When anything of it last changed.
    #[serde(deserialize_with = "canonical_time")]
    pub updated_at: Time,
}

#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn revealed<S: Serializer>(text: &Option<Plaintext>, serializer: S) -> Result<S::Ok, S::Error> {
    match text {
        Some(text) => Plaintext::serialize_revealed(text, serializer),
        None => serializer.serialize_none(),
    }
}
