//! Encryption and signing keys of bundles, and their text format: a prefix, base62 digits and a
//! checksum.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signer as _, VerifyingKey};
use hpke::kem::{Kem, X25519HkdfSha256};
use hpke::{Deserializable, Serializable};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::format::SIGNATURE;
use crate::crypto::{Key, checked};
use crate::model::{ValidationRule, Violation};

const BUNDLE_KEY: &str = "scbk_";
const PRIVATE_KEY: &str = "scbx_";
const PUBLIC_KEY: &str = "scbp_";
const SIGNER: &str = "scbs_";

/// A symmetric key that opens one bundle. As text: the prefix `scbk_` and 256 random bits. Shown
/// only once, when the bundle is created.
pub struct BundleKey(pub(super) Key);

/// A private key that opens bundles created for its public key. As text: the prefix `scbx_` and 256
/// random bits.
pub struct RecipientKey(Key);

/// Public key of a bundle's recipient, not secret. As text: the prefix `scbp_` and an X25519 key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^scbp_[0-9A-Za-z]{49}$"))]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

/// Public key that verifies bundle signatures. As text: the prefix `scbs_` and an Ed25519 key.
/// Every instance of the service has its own signing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^scbs_[0-9A-Za-z]{49}$"))]
#[serde(try_from = "String", into = "String")]
pub struct Signer([u8; 32]);

/// Private Ed25519 key that signs bundles.
pub struct SigningKey(ed25519_dalek::SigningKey);

/// Key encapsulation DHKEM(X25519, HKDF-SHA256) from HPKE (RFC 9180).
pub(super) type X25519 = X25519HkdfSha256;

impl BundleKey {
    /// Generates a random bundle key.
    #[must_use]
    pub fn generate() -> Self {
        Self(Key::generate())
    }

    /// Returns the bundle key as a string, which must be kept secret.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        checked::write(BUNDLE_KEY, self.0.as_bytes())
    }
}

crate::crypto::implement_revealed!(BundleKey);

impl RecipientKey {
    /// Generates a random private key.
    #[must_use]
    pub fn generate() -> Self {
        Self(Key::generate())
    }

    /// Returns the public key that belongs to this private key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        X25519::sk_to_pk(&self.secret()).write_exact(&mut bytes);
        PublicKey(bytes)
    }

    /// Returns the private key as a string, which must be kept secret.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        checked::write(PRIVATE_KEY, self.0.as_bytes())
    }

    pub(super) fn secret(&self) -> <X25519 as Kem>::PrivateKey {
        #[expect(clippy::expect_used, reason = "any 32 bytes are a private key, once clamped")]
        <X25519 as Kem>::PrivateKey::from_bytes(self.0.as_bytes())
            .expect("a private key is 32 bytes")
    }
}

impl PublicKey {
    pub(super) fn point(&self) -> <X25519 as Kem>::PublicKey {
        #[expect(clippy::expect_used, reason = "any 32 bytes are a public key")]
        <X25519 as Kem>::PublicKey::from_bytes(&self.0).expect("a public key is 32 bytes")
    }
}

impl Signer {
    pub(super) fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// True if `signature` is this signer's signature of `message`. Uses strict verification, which
    /// rejects weak public keys (points of low order).
    pub(super) fn has_signed(self, message: &[u8], signature: &[u8; SIGNATURE]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        VerifyingKey::from_bytes(&self.0)
            .is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
    }
}

impl SigningKey {
    /// Generates a random signing key.
    #[must_use]
    pub fn generate() -> Self {
        Self::of(&Key::generate())
    }

    /// Creates the signing key from the random seed that is stored for this instance of the
    /// service.
    pub(crate) fn of(seed: &Key) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed.as_bytes()))
    }

    /// Returns the public key that verifies this key's signatures.
    #[must_use]
    pub fn signer(&self) -> Signer {
        Signer(self.0.verifying_key().to_bytes())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE] {
        self.0.sign(message).to_bytes()
    }
}

impl FromStr for BundleKey {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        const RULE: ValidationRule =
            ValidationRule::of("must be a bundle key: scbk_ and 49 letters and digits");
        let bits = checked::read(BUNDLE_KEY, text).ok_or(RULE.violation())?;
        Ok(Self(Key::from_bytes(bits)))
    }
}

impl FromStr for RecipientKey {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        const RULE: ValidationRule =
            ValidationRule::of("must be a private key: scbx_ and 49 letters and digits");
        let bits = checked::read(PRIVATE_KEY, text).ok_or(RULE.violation())?;
        Ok(Self(Key::from_bytes(bits)))
    }
}

impl FromStr for PublicKey {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        const RULE: ValidationRule =
            ValidationRule::of("must be a public key: scbp_ and 49 letters and digits");
        let key = Self(*checked::read(PUBLIC_KEY, text).ok_or(RULE.violation())?);
        // A point of low order leads to the same shared secret for every private key.
        X25519::encap(&key.point(), None).map(|_| key).map_err(|_| RULE.violation())
    }
}

impl FromStr for Signer {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        const RULE: ValidationRule =
            ValidationRule::of("must be a signer: scbs_ and 49 letters and digits");
        let bytes = *checked::read(SIGNER, text).ok_or(RULE.violation())?;
        let key = VerifyingKey::from_bytes(&bytes).ok().filter(|key| !key.is_weak());
        key.map(|_| Self(bytes)).ok_or(RULE.violation())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&checked::write(PUBLIC_KEY, &self.0))
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&checked::write(SIGNER, &self.0))
    }
}

impl TryFrom<String> for PublicKey {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        text.parse()
    }
}

impl TryFrom<String> for Signer {
    type Error = Violation;

    fn try_from(text: String) -> Result<Self, Violation> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

impl From<Signer> for String {
    fn from(signer: Signer) -> Self {
        signer.to_string()
    }
}

impl fmt::Debug for BundleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BundleKey(…)")
    }
}

impl fmt::Debug for RecipientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecipientKey(…)")
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}
