//! The built-in issuer of the development mode: one key, and tokens signed with it.

use std::fmt;

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use serde_json::json;
use zeroize::Zeroizing;

use super::{Expectations, Key, Keys};
use crate::model::Time;

/// `iss` of the tokens a [`DevKey`] signs.
pub const DEV_ISSUER: &str = "secrets-dev";

/// `aud` of the tokens a [`DevKey`] signs.
pub const DEV_AUDIENCE: &str = "secrets";

/// A day, in seconds.
const LIFETIME: i64 = 24 * 60 * 60;

/// What stands before the 32 bytes of a seed in a PKCS#8 document (RFC 8410, section 7).
const PKCS8_PREFIX: [u8; 16] =
    [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// An Ed25519 key that signs for whoever asks: for development only.
pub struct DevKey {
    seed: Zeroizing<[u8; 32]>,
    private: EncodingKey,
    public: Key,
}

/// The cryptographic library would not take the key, or there was no randomness for one.
#[derive(Debug)]
pub struct UnusableKey(Box<dyn std::error::Error + Send + Sync>);

impl DevKey {
    /// Draws a new key.
    pub fn generate() -> Result<Self, UnusableKey> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut_slice()).map_err(|error| UnusableKey(error.into()))?;
        Self::from_seed(seed)
    }

    /// The key that was drawn earlier and kept as its seed.
    pub fn from_seed(seed: Zeroizing<[u8; 32]>) -> Result<Self, UnusableKey> {
        let mut pkcs8 = Zeroizing::new([0; 48]);
        let (prefix, rest) = pkcs8.split_at_mut(PKCS8_PREFIX.len());
        prefix.copy_from_slice(&PKCS8_PREFIX);
        rest.copy_from_slice(seed.as_slice());

        let private = EncodingKey::from_ed_der(pkcs8.as_slice());
        let public = Jwk::from_encoding_key(&private, Algorithm::EdDSA)
            .and_then(|jwk| DecodingKey::from_jwk(&jwk))
            .map_err(|error| UnusableKey(error.into()))?;
        Ok(Self { seed, private, public: Key::new(None, Algorithm::EdDSA, public) })
    }

    /// What [`DevKey::from_seed`] takes: to be kept like a password.
    #[must_use]
    pub fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    /// What the tokens are checked with.
    #[must_use]
    pub fn keys(&self) -> Keys {
        Keys::One(self.public.clone())
    }

    /// What the tokens say.
    #[must_use]
    pub fn expectations() -> Expectations {
        Expectations { issuer: DEV_ISSUER.to_owned(), audience: DEV_AUDIENCE.to_owned() }
    }

    /// A token for a person of this address, valid for 24 hours from now.
    pub fn sign(&self, email: &str, now: Time) -> Result<String, UnusableKey> {
        let issued = now.timestamp();
        let claims = json!({
            "iss": DEV_ISSUER,
            "aud": DEV_AUDIENCE,
            "sub": email,
            "email": email,
            "email_verified": true,
            "iat": issued,
            "exp": issued + LIFETIME,
        });
        jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims, &self.private)
            .map_err(|error| UnusableKey(error.into()))
    }
}

impl fmt::Debug for DevKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevKey").finish_non_exhaustive()
    }
}

impl fmt::Display for UnusableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signing key of the development mode cannot be used")
    }
}

impl std::error::Error for UnusableKey {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.as_ref())
    }
}
