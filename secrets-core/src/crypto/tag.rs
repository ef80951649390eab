//! Tags by which an answer is known again.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use sha2::Sha256;

use super::Keyring;

/// Names what an answer was made of, and tells nothing of it: a keyed hash (HMAC-SHA256, its first
/// 128 bits, in base64url). Alike on all nodes of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tag(String);

impl Tag {
    /// The tag of an answer that was made of these parts, in this order.
    pub(crate) fn of<'a>(keyring: &Keyring, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut mac =
            Hmac::<Sha256>::new_from_slice(keyring.pepper().as_bytes()).expect("a key of 32 bytes");
        mac.update(b"secrets-core/v1/tag\0");
        for part in parts {
            // With its length, so that no two lists of parts run together.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Self(URL_SAFE_NO_PAD.encode(&mac.finalize().into_bytes()[..16]))
    }

    /// The tag as it is written in an answer: letters, digits, `-` and `_`.
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
