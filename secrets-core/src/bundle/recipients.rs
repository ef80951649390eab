//! Recipients of a bundle.

use std::fmt;

use serde::Deserialize;

use super::file_key::{FileKey, Shared};
use super::format::{Binary, RECIPIENTS, Slot};
use super::keys::{BundleKey, PublicKey};
use crate::crypto::{Cost, Key, Passphrase, random};
use crate::model::{Error, Result, ValidationRule, Violation};

/// Recipient of a new bundle.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "lowercase", try_from = "Submitted")]
pub enum NewRecipient {
    /// A random key, generated for this bundle and shown once.
    Raw {},
    /// A passphrase, from which the key that opens the bundle is derived.
    Passphrase {
        /// Passphrase, 12 to 1,024 characters.
        #[cfg_attr(feature = "openapi", schema(
            value_type = String, min_length = 12, max_length = 1_024,
            example = "correct horse battery staple",
        ))]
        passphrase: Passphrase,
    },
    /// An X25519 public key. The bundle can be opened with the corresponding private key.
    X25519 {
        /// X25519 public key of the recipient, `scbp_…`.
        public_key: PublicKey,
    },
}

/// A recipient, as in the JSON of a request. Separate from [`NewRecipient`], so that validation
/// errors name the invalid field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Submitted {
    #[serde(rename = "type")]
    kind: Kind,
    passphrase: Option<Passphrase>,
    public_key: Option<PublicKey>,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
enum Kind {
    Raw,
    Passphrase,
    X25519,
}

/// Recipients of a bundle: 1 to 16, with at most one raw key, at most one passphrase, and no public
/// key twice. The encryption key of the passphrase is already derived.
pub struct Recipients {
    key: Option<Key>,
    passphrase: Option<Derived>,
    public: Vec<PublicKey>,
}

/// Encryption key derived from a passphrase, with the parameters needed to derive it again.
struct Derived {
    key: Key,
    cost: Cost,
    salt: [u8; 16],
}

impl Recipients {
    /// Creates a recipient list with one raw key, for a bundle that everyone with this key can
    /// open.
    #[must_use]
    pub fn key(key: &BundleKey) -> Self {
        Self { key: Key::from_slice(key.0.as_bytes()), passphrase: None, public: Vec::new() }
    }

    /// Creates a recipient list with one passphrase. Key derivation takes 64 MiB of memory and up
    /// to about a second; call this function on a thread that may block.
    #[must_use]
    pub fn passphrase(passphrase: &Passphrase) -> Self {
        Self { key: None, passphrase: Derived::new(passphrase), public: Vec::new() }
    }

    /// Creates a recipient list with one public key.
    #[must_use]
    pub fn public_key(public: PublicKey) -> Self {
        Self { key: None, passphrase: None, public: vec![public] }
    }

    /// Validates the requested recipients, generates a raw key if one is requested, and derives the
    /// encryption key from the passphrase if there is one. The derivation takes 64 MiB of memory
    /// and up to about a second.
    pub fn prepare(wanted: Vec<NewRecipient>) -> Result<(Self, Option<BundleKey>)> {
        if !(1..=RECIPIENTS).contains(&wanted.len()) {
            return Err(Error::invalid("recipients", "must be 1 to 16"));
        }
        let (mut drawn, mut phrase, mut public) = (None, None, Vec::new());
        for (place, recipient) in wanted.into_iter().enumerate() {
            let is_twice = match recipient {
                NewRecipient::Raw {} => drawn.replace(BundleKey::generate()).is_some(),
                NewRecipient::Passphrase { passphrase } => phrase.replace(passphrase).is_some(),
                NewRecipient::X25519 { public_key } => {
                    let is_twice = public.contains(&public_key);
                    public.push(public_key);
                    is_twice
                }
            };
            if is_twice {
                let rule = "must not repeat the raw recipient, the passphrase or a public key";
                return Err(Error::invalid(format!("recipients[{place}]"), rule));
            }
        }
        let key = drawn.as_ref().and_then(|drawn| Key::from_slice(drawn.0.as_bytes()));
        let passphrase = phrase.as_ref().and_then(Derived::new);
        Ok((Self { key, passphrase, public }, drawn))
    }

    /// Wraps the file key for every recipient; `None` if a public key is not valid.
    pub(super) fn slots(&self, file_key: &FileKey, salt: &[u8; 16]) -> Option<Vec<Slot>> {
        let raw = self.key.as_ref().map(|key| {
            let w = Binary(file_key.wrap(key, Shared::Raw, salt));
            Slot::Raw { w }
        });
        let phrase = self.passphrase.as_ref().map(|Derived { key, cost, salt: s }| {
            let w = Binary(file_key.wrap(key, Shared::Argon2id, salt));
            let Cost { memory: m, passes: it, lanes: p } = *cost;
            Slot::Argon2id { s: Binary(*s), m, it, p, w }
        });
        let public = self.public.iter().map(|public| {
            let (enc, w) = file_key.wrap_for(public, salt)?;
            Some(Slot::X25519 { enc: Binary(enc), w: Binary(w) })
        });
        raw.into_iter().chain(phrase).map(Some).chain(public).collect()
    }
}

impl TryFrom<Submitted> for NewRecipient {
    type Error = Violation;

    fn try_from(submitted: Submitted) -> std::result::Result<Self, Violation> {
        const RULE: ValidationRule = ValidationRule::of(
            "must have a `passphrase` if the type is passphrase, a `public_key` if it is x25519, and no other field",
        );
        match (submitted.kind, submitted.passphrase, submitted.public_key) {
            (Kind::Raw, None, None) => Ok(Self::Raw {}),
            (Kind::Passphrase, Some(passphrase), None) => Ok(Self::Passphrase { passphrase }),
            (Kind::X25519, None, Some(public_key)) => Ok(Self::X25519 { public_key }),
            _ => Err(RULE.violation()),
        }
    }
}

impl TryFrom<String> for Kind {
    type Error = Violation;

    fn try_from(text: String) -> std::result::Result<Self, Violation> {
        const RULE: ValidationRule = ValidationRule::of("must be raw, passphrase or x25519");
        match text.as_str() {
            "raw" => Ok(Self::Raw),
            "passphrase" => Ok(Self::Passphrase),
            "x25519" => Ok(Self::X25519),
            _ => Err(RULE.violation()),
        }
    }
}

impl Derived {
    fn new(passphrase: &Passphrase) -> Option<Self> {
        let (cost, salt) = (Cost::NEW, random());
        Some(Self { key: passphrase.derive(cost, &salt)?, cost, salt })
    }
}

impl fmt::Debug for Recipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recipients(…)")
    }
}
