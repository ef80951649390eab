//! What signs deliveries to webhooks, as Standard Webhooks writes it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serializer;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{Undecryptable, random};
use crate::model::{Broken, Rule};

const PREFIX: &str = "whsec_";

/// What a signature begins with: the version of how it is made.
const VERSION: &str = "v1,";

/// The secret that a webhook shares with us: `whsec_` and bytes in base64, 32 random ones in those
/// that we draw. Shown once, when it is made.
pub struct WebhookSecret(Zeroizing<String>);

impl WebhookSecret {
    /// A new one.
    #[must_use]
    pub fn draw() -> Self {
        let key = Zeroizing::new(random::<32>());
        let encoded = Zeroizing::new(STANDARD.encode(key.as_slice()));
        Self(Zeroizing::new([PREFIX, &encoded].concat()))
    }

    /// The one of this text: `whsec_` and 24 to 64 bytes in base64, as Standard Webhooks has it.
    pub fn new(text: String) -> Result<Self, Broken> {
        const RULE: Rule = Rule::of("must be `whsec_` and 24 to 64 bytes in base64");
        let secret = Self(Zeroizing::new(text));
        if secret.key().is_some() { Ok(secret) } else { Err(RULE.broken()) }
    }

    /// The one that was kept as this text.
    pub(crate) fn kept(text: String) -> Result<Self, Undecryptable> {
        Self::new(text).map_err(|_| Undecryptable)
    }

    /// The text itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Writes the text into an answer; for `#[serde(serialize_with)]`.
    pub fn serialize_revealed<S: Serializer>(
        secret: &Option<Self>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.as_ref().map(Self::reveal).unwrap_or_default())
    }

    /// The signature of a message that is sent at this second: `v1,` and the base64 of
    /// HMAC-SHA256 over id, time and body, joined by dots.
    pub(crate) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mac = self.mac(id, seconds, body).finalize();
        format!("{VERSION}{}", STANDARD.encode(mac.into_bytes()))
    }

    /// Whether a signature is of this message; compared in constant time.
    pub(crate) fn signed(&self, signature: &str, id: &str, seconds: i64, body: &[u8]) -> bool {
        let mac = signature.strip_prefix(VERSION).and_then(|mac| STANDARD.decode(mac).ok());
        mac.is_some_and(|mac| self.mac(id, seconds, body).verify_slice(&mac).is_ok())
    }

    fn mac(&self, id: &str, seconds: i64, body: &[u8]) -> Hmac<Sha256> {
        // Looked at when it was made.
        let key = self.key().unwrap_or_default();
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        mac
    }

    /// The bytes; none where there are too few or too many.
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
        let secret = WebhookSecret::kept(format!("whsec_{key}")).unwrap();

        let signature = secret.sign("msg_1", 1_649_367_553, br#"{"type":"webhook.test"}"#);

        assert_eq!(signature, "v1,2JO+a7yBlrnJlpM8PrdJuNsks45vYH4e7q0ZLMl5tHw=");
    }

    #[test]
    fn what_is_no_secret_is_not_signed_with() {
        for text in ["", "whsec_", "whsec_AAAA", "whsec_!", "AAAA"] {
            assert!(WebhookSecret::kept(text.to_owned()).is_err(), "{text}");
        }
        let drawn = WebhookSecret::draw();
        assert!(WebhookSecret::kept(drawn.reveal().to_owned()).is_ok());
        assert_ne!(drawn.reveal(), WebhookSecret::draw().reveal());
    }
}
