//! Public keys and shared secrets that verify tokens.

use std::fmt;
use std::sync::Arc;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use quick_cache::sync::Cache;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{JwtError, Parts, object};

/// Maximum number of keys in a key set. Known issuers publish far fewer.
const MAX_KEYS: usize = 50;

/// Minimum length of a shared secret in bytes. A shorter secret could be found by brute force from
/// one token.
const MIN_SECRET_LENGTH: usize = 32;

/// Minimum RSA modulus length in bytes: RSA keys of fewer than 2048 bits are rejected.
const MIN_MODULUS_LENGTH: usize = 256;

/// Approximate maximum number of tokens that a key set remembers, because it has verified their
/// signatures.
const MAX_VERIFIED: usize = 10_000;

/// Public keys or a shared secret that verify an issuer's tokens.
#[derive(Debug, Clone)]
pub enum Keys {
    /// Key set published by the issuer. The key ID in a token's header selects the key.
    Set(Arc<KeySet>),
    /// Single configured key; the key ID in a token is ignored.
    One(VerificationKey),
}

/// Usable keys of a published key set (RFC 7517). Remembers about 10,000 tokens with a valid
/// signature, as hashes, so that their signatures are not verified again.
#[derive(Debug)]
pub struct KeySet {
    pub(super) keys: Vec<VerificationKey>,
    /// SHA-256 hashes of the tokens whose signatures were verified with one of the keys. The
    /// token's header, which selects the key, is part of the hash.
    verified: Cache<[u8; 32], ()>,
}

/// Verification key, with the only algorithm that it may be used with.
#[derive(Clone)]
pub struct VerificationKey {
    id: Option<String>,
    algorithm: Algorithm,
    material: DecodingKey,
}

/// Error: a document is not a valid key set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadKeySet {
    /// The document is not JSON of the expected structure.
    Malformed,
    /// The key set has more than 50 keys.
    TooMany,
}

/// Error: a shared secret has fewer than 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakSecret;

impl Keys {
    /// Verifies the signature of a token. `algorithm` and `id` are those of the token's header.
    pub(super) fn check(
        &self,
        token: &Parts<'_>,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<(), JwtError> {
        match self {
            Self::Set(set) => set.check(token, algorithm, id),
            Self::One(key) if key.algorithm == algorithm => key.check(token),
            Self::One(_) => Err(JwtError::Invalid("its algorithm does not match the key")),
        }
    }
}

impl KeySet {
    /// Parses a published key set. Keys that cannot be used (symmetric, for encryption, of an
    /// unsupported algorithm, malformed) are skipped, so that one bad key does not disable the
    /// others.
    pub fn parse(json: &[u8]) -> Result<Self, BadKeySet> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }

        let Document { keys } = object(json).ok_or(BadKeySet::Malformed)?;
        if keys.len() > MAX_KEYS {
            return Err(BadKeySet::TooMany);
        }
        let keys = keys.into_iter().filter_map(VerificationKey::published).collect();
        Ok(Self { keys, verified: Cache::new(MAX_VERIFIED) })
    }

    /// Returns the number of usable keys in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if the set has no usable keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn check(
        &self,
        token: &Parts<'_>,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<(), JwtError> {
        let key = self.pick(algorithm, id)?;
        let hash = Sha256::new_with_prefix(token.signed).chain_update(".");
        let hash = hash.chain_update(token.signature).finalize().into();
        if self.verified.get(&hash).is_none() {
            key.check(token)?;
            self.verified.insert(hash, ());
        }
        Ok(())
    }

    fn pick(&self, algorithm: Algorithm, id: Option<&str>) -> Result<&VerificationKey, JwtError> {
        // Check before looking up the key: a newer key set would not make such a token valid.
        if !matches!(algorithm, Algorithm::RS256 | Algorithm::ES256 | Algorithm::EdDSA) {
            return Err(JwtError::Invalid("its algorithm is not accepted"));
        }
        let mut suitable = self.keys.iter().filter(|key| key.algorithm == algorithm);
        let Some(id) = id else {
            return match (suitable.next(), suitable.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(JwtError::Invalid("has no key ID")),
            };
        };
        match suitable.find(|key| key.has_id(id)) {
            Some(key) => Ok(key),
            None if self.keys.iter().any(|key| key.has_id(id)) => {
                Err(JwtError::Invalid("its algorithm does not match the key"))
            }
            None => Err(JwtError::UnknownKey),
        }
    }
}

impl VerificationKey {
    /// Creates a verification key from a secret shared with the issuer (HS256).
    pub fn shared(secret: &[u8]) -> Result<Self, WeakSecret> {
        if secret.len() < MIN_SECRET_LENGTH {
            return Err(WeakSecret);
        }
        Ok(Self::new(None, Algorithm::HS256, DecodingKey::from_secret(secret)))
    }

    pub(super) fn new(id: Option<String>, algorithm: Algorithm, material: DecodingKey) -> Self {
        Self { id, algorithm, material }
    }

    fn published(jwk: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(jwk).ok()?;
        let algorithm = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => Algorithm::RS256,
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                Algorithm::ES256
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                Algorithm::EdDSA
            }
            // This includes `oct`: a published symmetric key is not secret.
            _ => return None,
        };
        let common = &jwk.common;
        let for_it = common.key_algorithm.is_none_or(|declared| declared == algorithm.into());
        let signs = matches!(common.public_key_use, None | Some(PublicKeyUse::Signature));
        let verifies =
            common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        if !(for_it && signs && verifies) {
            return None;
        }
        let material = DecodingKey::from_jwk(&jwk).ok()?;
        if let DecodingKeyKind::RsaModulusExponent { n, .. } = material.kind()
            && n.len() < MIN_MODULUS_LENGTH
        {
            return None;
        }
        Some(Self::new(jwk.common.key_id, algorithm, material))
    }

    fn has_id(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    fn check(&self, token: &Parts<'_>) -> Result<(), JwtError> {
        let genuine = jsonwebtoken::crypto::verify(
            token.signature,
            token.signed.as_bytes(),
            &self.material,
            self.algorithm,
        );
        match genuine {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(JwtError::Invalid("the signature is not valid")),
        }
    }
}

impl fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerificationKey")
            .field("id", &self.id)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for BadKeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("not a JSON Web Key Set"),
            Self::TooMany => write!(f, "a key set of more than {MAX_KEYS} keys"),
        }
    }
}

impl std::error::Error for BadKeySet {}

impl fmt::Display for WeakSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a shared secret must be at least {MIN_SECRET_LENGTH} bytes long")
    }
}

impl std::error::Error for WeakSecret {}
