//! The keys tokens are checked with.

use std::fmt;
use std::sync::Arc;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use serde::Deserialize;
use serde_json::Value;

use super::{Refusal, object};

/// More than any issuer has.
const MOST_KEYS: usize = 50;

/// A shorter secret can be guessed from one token.
const SHORTEST_SECRET: usize = 32;

/// In bytes: RSA of fewer than 2048 bits is not accepted.
const SHORTEST_MODULUS: usize = 256;

/// What an issuer's tokens are checked with.
#[derive(Debug, Clone)]
pub enum Keys {
    /// The keys an issuer publishes; a token names its key.
    Set(Arc<KeySet>),
    /// One key known beforehand; what a token says about it is ignored.
    One(Key),
}

/// The usable keys of a published set (RFC 7517).
#[derive(Debug)]
pub struct KeySet(Vec<Key>);

/// A key and the only algorithm it may be used with.
#[derive(Clone)]
pub struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    material: DecodingKey,
}

/// Why a document is not a key set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadKeySet {
    /// It is not JSON of that shape.
    Malformed,
    /// It holds more than fifty keys.
    TooMany,
}

/// A shared secret of fewer than 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakSecret;

impl Keys {
    pub(super) fn pick(&self, algorithm: Algorithm, id: Option<&str>) -> Result<&Key, Refusal> {
        match self {
            Self::Set(set) => set.pick(algorithm, id),
            Self::One(key) if key.algorithm == algorithm => Ok(key),
            Self::One(_) => Err(Refusal::Invalid("its algorithm is not the key's")),
        }
    }
}

impl KeySet {
    /// Reads a published set. Keys that are of no use here (symmetric, for encryption, of another
    /// algorithm, unreadable) are left out; one odd key does not spoil the others.
    pub fn parse(json: &[u8]) -> Result<Self, BadKeySet> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }

        let Document { keys } = object(json).ok_or(BadKeySet::Malformed)?;
        if keys.len() > MOST_KEYS {
            return Err(BadKeySet::TooMany);
        }
        Ok(Self(keys.into_iter().filter_map(Key::published).collect()))
    }

    /// How many keys can be used.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key can be used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn pick(&self, algorithm: Algorithm, id: Option<&str>) -> Result<&Key, Refusal> {
        // Before the key is looked for: no other key of the issuer could help such a token.
        if !matches!(algorithm, Algorithm::RS256 | Algorithm::ES256 | Algorithm::EdDSA) {
            return Err(Refusal::Invalid("its algorithm is not accepted"));
        }
        let mut suitable = self.0.iter().filter(|key| key.algorithm == algorithm);
        let Some(id) = id else {
            return match (suitable.next(), suitable.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(Refusal::Invalid("names no key")),
            };
        };
        match suitable.find(|key| key.has_id(id)) {
            Some(key) => Ok(key),
            None if self.0.iter().any(|key| key.has_id(id)) => {
                Err(Refusal::Invalid("its algorithm is not the key's"))
            }
            None => Err(Refusal::UnknownKey),
        }
    }
}

impl Key {
    /// A secret shared with the issuer (HS256).
    pub fn shared(secret: &[u8]) -> Result<Self, WeakSecret> {
        if secret.len() < SHORTEST_SECRET {
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
            // `oct` above all: a published secret is none.
            _ => return None,
        };
        let about = &jwk.common;
        let for_it = about.key_algorithm.is_none_or(|declared| declared == algorithm.into());
        let signs = matches!(about.public_key_use, None | Some(PublicKeyUse::Signature));
        let verifies =
            about.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        if !(for_it && signs && verifies) {
            return None;
        }
        let material = DecodingKey::from_jwk(&jwk).ok()?;
        if let DecodingKeyKind::RsaModulusExponent { n, .. } = material.kind()
            && n.len() < SHORTEST_MODULUS
        {
            return None;
        }
        Some(Self::new(jwk.common.key_id, algorithm, material))
    }

    fn has_id(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    pub(super) fn check(&self, signed: &str, signature: &str) -> Result<(), Refusal> {
        let genuine = jsonwebtoken::crypto::verify(
            signature,
            signed.as_bytes(),
            &self.material,
            self.algorithm,
        );
        match genuine {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(Refusal::Invalid("the signature is not the key's")),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for BadKeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("not a JSON Web Key Set"),
            Self::TooMany => write!(f, "a key set of more than {MOST_KEYS} keys"),
        }
    }
}

impl std::error::Error for BadKeySet {}

impl fmt::Display for WeakSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a shared secret must have {SHORTEST_SECRET} bytes or more")
    }
}

impl std::error::Error for WeakSecret {}
