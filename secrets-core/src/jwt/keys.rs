//! Public keys and shared secrets that verify tokens.

use std::fmt;
use std::sync::Arc;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::claims::TokenClaims;
use super::{JwtError, Parts, object};

/// Maximum number of keys in a key set. Known issuers publish far fewer.
const MAX_KEYS: usize = 50;

/// Minimum length of a shared secret in bytes. A shorter secret could be found by brute force from
/// one token.
const MIN_SECRET_LENGTH: usize = 32;

/// Minimum RSA modulus length in bytes: RSA keys of fewer than 2048 bits are rejected.
const MIN_MODULUS_LENGTH: usize = 256;

/// Expected number of tokens that a key set remembers.
const USUAL_TOKENS: usize = 10_000;

/// Maximum memory for the claims that a key set remembers, in bytes.
const MAX_CLAIMS_SIZE: u64 = 16 * 1024 * 1024;

/// Memory that the cache uses for each token in addition to its claims, in bytes (estimated).
const ENTRY_SIZE: u64 = 128;

/// Keys that verify the tokens of an issuer: the usable keys of a published key set (RFC 7517), or
/// a configured key.
///
/// Remembers the claims of tokens with a valid signature in up to 16 MiB of memory, so that they
/// are not verified and parsed again: names and e-mail addresses, but not the tokens themselves,
/// only their hashes. They are forgotten when the token is used after its end, when the memory is
/// needed for others, and with the key set.
pub struct KeySet {
    pub(super) keys: Vec<VerificationKey>,
    /// True if the key ID in a token is ignored, because there is one configured key.
    ignores_ids: bool,
    /// Claims of the tokens that were verified with one of the keys, by the SHA-256 hash of the
    /// token. The token's header, which selects the key, is part of the hash.
    pub(super) remembered: Cache<[u8; 32], Arc<TokenClaims>, BySize>,
}

/// Measure of the memory that a remembered token uses.
#[derive(Clone)]
pub(super) struct BySize;

impl Weighter<[u8; 32], Arc<TokenClaims>> for BySize {
    fn weight(&self, _: &[u8; 32], claims: &Arc<TokenClaims>) -> u64 {
        claims.size() as u64 + ENTRY_SIZE
    }
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
        Ok(Self::new(keys, false))
    }

    /// Creates a key set of one configured key. The key ID in a token is ignored.
    #[must_use]
    pub fn single(key: VerificationKey) -> Self {
        Self::new(vec![key], true)
    }

    fn new(keys: Vec<VerificationKey>, ignores_ids: bool) -> Self {
        let remembered = Cache::with_weighter(USUAL_TOKENS, MAX_CLAIMS_SIZE, BySize);
        Self { keys, ignores_ids, remembered }
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

    /// Returns the claims of a token. `verify` verifies the token with the keys of this set and
    /// parses its claims; it is called only for a token that is not remembered. All callers must
    /// accept the same types of tokens.
    pub(super) fn remembered(
        &self,
        token: &str,
        verify: impl FnOnce() -> Result<TokenClaims, JwtError>,
    ) -> Result<Arc<TokenClaims>, JwtError> {
        let hash = Sha256::digest(token).into();
        if let Some(claims) = self.remembered.get(&hash) {
            return Ok(claims);
        }
        let claims = Arc::new(verify()?);
        self.remembered.insert(hash, Arc::clone(&claims));
        Ok(claims)
    }

    /// Forgets the claims of a token.
    pub(super) fn forget(&self, token: &str) {
        self.remembered.remove(&<[u8; 32]>::from(Sha256::digest(token)));
    }

    /// Verifies the signature of a token. `algorithm` and `id` are those of the token's header.
    pub(super) fn check(
        &self,
        token: &Parts<'_>,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<(), JwtError> {
        self.pick(algorithm, id)?.check(token)
    }

    fn pick(&self, algorithm: Algorithm, id: Option<&str>) -> Result<&VerificationKey, JwtError> {
        if self.ignores_ids {
            let key = self.keys.iter().find(|key| key.algorithm == algorithm);
            return key.ok_or(JwtError::Invalid("its algorithm does not match the key"));
        }
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

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySet").field("keys", &self.keys).finish_non_exhaustive()
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
