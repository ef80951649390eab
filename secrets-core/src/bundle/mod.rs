//! Bundles: the secrets an environment sees, in a file that opens without a service (SCB1).
//!
//! ```text
//! "SCBUNDLE" 0x01 | header length u32 | header, JSON | mac 32 | signature 64 | chunks
//!
//! file key     32 random bytes, wrapped for each recipient that the header names
//! mac          HMAC-SHA256(HKDF(file key, salt, "scb1/header"), all that precedes)
//! signature    Ed25519("scb1/sig\0" || SHA-256(all up to the mac and with it) || SHA-256(chunks))
//! chunk        AES-256-GCM(HKDF(file key, salt, "scb1/payload")) of 64 KiB of the payload; the
//!              nonce is its number (11 bytes) and whether it is the last (1 byte): STREAM
//! payload      a JSON array of secrets, by key
//! ```
//!
//! Wrapping is AES-256-GCM under a key that is of this bundle alone (nonce 0, associated data
//! "scb1"): `HKDF(k, salt, "scb1/wrap/raw")` for a key, `HKDF(Argon2id(…), salt,
//! "scb1/wrap/argon2id")` for a passphrase, and for a public key what HPKE (RFC 9180, base mode,
//! X25519, HKDF-SHA256, AES-256-GCM) makes with the info "scb1/wrap/x25519\0" || salt.
//!
//! Whoever can open a bundle knows its file key and could make another with the same header. What
//! tells them apart is the signature, so a bundle for a public key, which anybody can make, is
//! opened only where the [`Signer`] is known. A passphrase or key proves that one of those who
//! know it made the bundle.
//!
//! ```
//! use crate::bundle::{self, About, BundleKey, Opener, Recipients, SigningKey, Unlock};
//! # use crate::model::Time;
//! # let now = Time::from_timestamp(1_767_225_600, 0).unwrap();
//! # let (project, environment) = (uuid::Uuid::nil().into(), uuid::Uuid::nil().into());
//!
//! let (key, signing) = (BundleKey::generate(), SigningKey::generate());
//! let about = About { project, environment, seq: 1, created_at: now, expires_at: None };
//! let recipients = Recipients::key(&key);
//! let file = bundle::seal(&about, &[], &recipients, &signing).unwrap();
//!
//! let signer = Some(signing.signer());
//! let opener = Opener { unlock: Unlock::Key(key), signer, at_least: 0, now };
//! let secrets: Result<Vec<_>, _> = opener.open_bytes(&file).unwrap().collect();
//! assert!(secrets.unwrap().is_empty());
//! ```

mod file_key;
mod format;
mod items;
mod keys;
mod open;
mod recipients;
mod refused;
mod seal;
mod secret;
mod stream;

pub use keys::{BundleKey, PublicKey, RecipientKey, Signer, SigningKey};
pub use open::{Opened, Opener, Unlock};
pub use recipients::{NewRecipient, Recipients};
pub use refused::Refused;
pub use seal::seal;
pub use secret::BundledSecret;

use crate::model::{EnvironmentId, ProjectId, Time};

/// What a bundle says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The project.
    pub project: ProjectId,
    /// The environment whose secrets it holds.
    pub environment: EnvironmentId,
    /// Grows with each bundle of an environment; at most 2^53 - 1. Ours are the microseconds since
    /// 1970 at which they were made.
    pub seq: u64,
    /// When it was made.
    pub created_at: Time,
    /// From when on it is not opened.
    pub expires_at: Option<Time>,
}

#[cfg(test)]
mod tests;
