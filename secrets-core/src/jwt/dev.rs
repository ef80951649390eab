//! Built-in token issuer of the development mode, with one signing key.

use std::fmt;

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use serde_json::json;
use zeroize::Zeroizing;

use super::{Expectations, KeySet, VerificationKey};
use crate::model::{Identity, Time};

/// `iss` claim of the tokens that a [`DevKey`] signs.
pub const DEV_ISSUER: &str = "secrets-dev";

/// `aud` claim of the tokens that a [`DevKey`] signs.
pub const DEV_AUDIENCE: &str = "secrets";

/// Lifetime of a token in seconds: one day.
const LIFETIME: i64 = 24 * 60 * 60;

/// PKCS#8 prefix of a 32 byte Ed25519 seed (RFC 8410, section 7).
const PKCS8_PREFIX: [u8; 16] =
    [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// Ed25519 key that signs tokens for any e-mail address without a check. For development only.
pub struct DevKey {
    seed: Zeroizing<[u8; 32]>,
    private: EncodingKey,
    public: VerificationKey,
}

/// Error: the cryptographic library rejected the signing key, or the operating system provided no
/// random bytes.
#[derive(Debug)]
pub struct UnusableKey(Box<dyn std::error::Error + Send + Sync>);

impl DevKey {
    /// Generates a new signing key.
    pub fn generate() -> Result<Self, UnusableKey> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut_slice()).map_err(|error| UnusableKey(error.into()))?;
        Self::from_seed(seed)
    }

    /// Restores a signing key from its seed.
    pub fn from_seed(seed: Zeroizing<[u8; 32]>) -> Result<Self, UnusableKey> {
        let mut pkcs8 = Zeroizing::new([0; 48]);
        let (prefix, rest) = pkcs8.split_at_mut(PKCS8_PREFIX.len());
        prefix.copy_from_slice(&PKCS8_PREFIX);
        rest.copy_from_slice(seed.as_slice());

        let private = EncodingKey::from_ed_der(pkcs8.as_slice());
        let public = Jwk::from_encoding_key(&private, Algorithm::EdDSA)
            .and_then(|jwk| DecodingKey::from_jwk(&jwk))
            .map_err(|error| UnusableKey(error.into()))?;
        Ok(Self { seed, private, public: VerificationKey::new(None, Algorithm::EdDSA, public) })
    }

    /// Returns the seed for [`DevKey::from_seed`]. The seed must be kept secret like a password.
    #[must_use]
    pub fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    /// Returns the public keys that verify the tokens of the development issuer.
    #[must_use]
    pub fn keys(&self) -> KeySet {
        KeySet::single(self.public.clone())
    }

    /// Returns the issuer and audience in the tokens of the development issuer.
    #[must_use]
    pub fn expectations() -> Expectations {
        Expectations { issuer: DEV_ISSUER.to_owned(), audience: DEV_AUDIENCE.to_owned() }
    }

    /// Returns the identity that a token for the user with this e-mail address contains.
    #[must_use]
    pub fn identity(email: &str) -> Identity {
        Identity::new(DEV_ISSUER, email, email)
    }

    /// Signs a token for a user with this e-mail address, valid for 24 hours from `now`.
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
        f.write_str("the signing key of the development mode is not usable")
    }
}

impl std::error::Error for UnusableKey {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.as_ref())
    }
}
