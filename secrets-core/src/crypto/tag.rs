//! ETags of responses.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use sha2::Sha256;

use super::Keyring;

/// ETag of a response: a MAC of its contents, which reveals nothing about them (the first 128 bits
/// of HMAC-SHA256, in base64url). All nodes of the service compute the same ETag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tag(String);

impl Tag {
    /// Computes the ETag of a response from its parts, in this order.
    pub(crate) fn of<'a>(keyring: &Keyring, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(keyring.pepper().as_bytes())
            .expect("HMAC accepts a 32-byte key");
        mac.update(b"secrets-core/v1/tag\0");
        for part in parts {
            // The length prefix keeps different lists of parts from producing the same input.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Self(URL_SAFE_NO_PAD.encode(&mac.finalize().into_bytes()[..16]))
    }

    /// Returns the ETag without quotes: letters, digits, `-` and `_`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
