//! Webhook signatures according to Standard Webhooks.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{Undecryptable, random};
use crate::model::{ValidationRule, Violation};

const PREFIX: &str = "whsec_";

/// Prefix of a signature: the version of the signature scheme.
const SIGNATURE_PREFIX: &str = "v1,";

/// Signing secret shared with a webhook's receiver: `whsec_`, followed by a MAC key in base64. The
/// service generates MAC keys of 32 random bytes. Shown only once, on creation.
pub struct WebhookSecret(Zeroizing<String>);

impl WebhookSecret {
    /// Generates a random signing secret.
    #[must_use]
    pub fn draw() -> Self {
        let key = Zeroizing::new(random::<32>());
        let encoded = Zeroizing::new(STANDARD.encode(key.as_slice()));
        Self(Zeroizing::new([PREFIX, &encoded].concat()))
    }

    /// Validates a signing secret: `whsec_` and 24 to 64 bytes in base64, as Standard Webhooks
    /// requires.
    pub fn new(text: String) -> Result<Self, Violation> {
        const RULE: ValidationRule =
            ValidationRule::of("must be `whsec_` and 24 to 64 bytes in base64");
        let secret = Self(Zeroizing::new(text));
        if secret.key().is_some() { Ok(secret) } else { Err(RULE.violation()) }
    }

    /// Recreates a webhook secret from its stored string. Fails if the string is not a valid
    /// secret.
    pub(crate) fn from_stored(text: String) -> Result<Self, Undecryptable> {
        Self::new(text).map_err(|_| Undecryptable)
    }

    /// Returns the signing secret as a string.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Signs a message for a webhook. Returns `v1,` and the base64 of the HMAC-SHA256 over the
    /// message ID, the send time (`seconds`, Unix time) and the body, joined by dots.
    pub(crate) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mac = self.mac(id, seconds, body).finalize();
        format!("{SIGNATURE_PREFIX}{}", STANDARD.encode(mac.into_bytes()))
    }

    /// True if `signature` is a valid signature of this message. Compares in constant time.
    pub(crate) fn signed(&self, signature: &str, id: &str, seconds: i64, body: &[u8]) -> bool {
        let mac =
            signature.strip_prefix(SIGNATURE_PREFIX).and_then(|mac| STANDARD.decode(mac).ok());
        mac.is_some_and(|mac| self.mac(id, seconds, body).verify_slice(&mac).is_ok())
    }

    fn mac(&self, id: &str, seconds: i64, body: &[u8]) -> Hmac<Sha256> {
        // The key was validated when the secret was created.
        let key = self.key().unwrap_or_default();
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC accepts any key");
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        mac
    }

    /// Decodes the MAC key from the signing secret; `None` if the secret is not `whsec_` and 24 to
    /// 64 bytes in base64.
    fn key(&self) -> Option<Zeroizing<Vec<u8>>> {
        let encoded = self.0.strip_prefix(PREFIX)?;
        let key = Zeroizing::new(STANDARD.decode(encoded).ok()?);
        (24..=64).contains(&key.len()).then_some(key)
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_signed_as_published() {
        // Computed with another implementation of HMAC.
        let key = STANDARD.encode([7; 32]);
        let secret = WebhookSecret::from_stored(format!("whsec_{key}")).unwrap();

        let signature = secret.sign("msg_1", 1_649_367_553, br#"{"type":"webhook.test"}"#);

        assert_eq!(signature, "v1,2JO+a7yBlrnJlpM8PrdJuNsks45vYH4e7q0ZLMl5tHw=");
    }

    #[test]
    fn an_invalid_signing_secret_is_refused() {
        for text in ["", "whsec_", "whsec_AAAA", "whsec_!", "AAAA"] {
            assert!(WebhookSecret::from_stored(text.to_owned()).is_err(), "{text}");
        }
        let drawn = WebhookSecret::draw();
        assert!(WebhookSecret::from_stored(drawn.reveal().to_owned()).is_ok());
        assert_ne!(drawn.reveal(), WebhookSecret::draw().reveal());
    }
}
