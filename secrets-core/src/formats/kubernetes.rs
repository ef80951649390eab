//! Manifest of a Kubernetes Secret: a YAML document that creates the Secret.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::{MAX_UNFIT_KEYS, Unfit, room};
use crate::crypto::Plaintext;
use crate::model::{EnvironmentName, SecretKey, ValidationRule, Violation};

/// Name of a Kubernetes object: a DNS subdomain (RFC 1123) of at most 253 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName(String);

const OBJECT_NAME: ValidationRule = ValidationRule::of(
    "must be 1 to 253 lower-case letters, digits, hyphens and dots, and each part between dots begin and end with a letter or digit",
);

/// Maximum length of a key in the `data` field of a Kubernetes Secret, in characters.
const MAX_KEY_LENGTH: usize = 253;

/// Maximum total size of the values of one Kubernetes Secret, in bytes: 1 MiB.
const MAX_TOTAL_BYTES: usize = 1024 * 1024;

/// Writes the manifest of a Kubernetes Secret, with the values in base64, as the `data` field of a
/// manifest requires.
pub(super) fn manifest(
    secrets: &[(SecretKey, Plaintext)],
    name: &ObjectName,
) -> Result<String, Vec<Unfit>> {
    let long = secrets.iter().map(|(key, _)| key).filter(|key| key.as_str().len() > MAX_KEY_LENGTH);
    let rule = "must be at most 253 characters in this format";
    let mut unfit: Vec<_> =
        long.map(|key| Unfit { key: Some(key.clone()), rule }).take(MAX_UNFIT_KEYS).collect();
    let total: usize = secrets.iter().map(|(_, value)| value.reveal().len()).sum();
    if total > MAX_TOTAL_BYTES {
        let rule = "k8s holds at most 1048576 bytes of values in one Secret";
        unfit.push(Unfit { key: None, rule });
    }
    if !unfit.is_empty() {
        return Err(unfit);
    }
    let mut text = String::with_capacity(room(secrets) + 512);
    text.push_str("apiVersion: v1\nkind: Secret\nmetadata:\n  name: \"");
    text.push_str(&name.0);
    text.push_str("\"\ntype: Opaque\n");
    text.push_str(if secrets.is_empty() { "data: {}\n" } else { "data:\n" });
    for (key, value) in secrets {
        let value = Zeroizing::new(STANDARD.encode(value.reveal()));
        for piece in ["  \"", key.as_str(), "\": \"", &value, "\"\n"] {
            text.push_str(piece);
        }
    }
    Ok(text)
}

impl FromStr for ObjectName {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fits = text.len() <= 253
            && text.split('.').all(|part| {
                part.starts_with(edge)
                    && part.ends_with(edge)
                    && part.chars().all(|c| edge(c) || c == '-')
            });
        if fits { Ok(Self(text.to_owned())) } else { Err(OBJECT_NAME.violation()) }
    }
}

impl From<&EnvironmentName> for ObjectName {
    /// Converts an environment name to lower case, replaces underscores by hyphens, and removes
    /// trailing hyphens.
    fn from(name: &EnvironmentName) -> Self {
        let name = name.as_str().to_ascii_lowercase().replace('_', "-");
        Self(name.trim_end_matches('-').to_owned())
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
