//! Bundles: an environment's resolved secrets in an encrypted file for offline use (format SCB1).
//!
//! ```text
//! "SCBUNDLE" 0x01 | header length u32 | header, JSON | mac 32 | signature 64 | chunks
//!
//! file key     32 random bytes, wrapped for each recipient listed in the header
//! mac          HMAC-SHA256(HKDF(file key, salt, "scb1/header"), all bytes before the mac)
//! signature    Ed25519("scb1/sig\0" || SHA-256(all bytes through the mac) || SHA-256(chunks))
//! chunk        AES-256-GCM(HKDF(file key, salt, "scb1/payload")) of 64 KiB of the payload; the
//!              nonce is the chunk number (11 bytes) and a last-chunk flag (1 byte): STREAM
//! payload      a JSON array of secrets, sorted by key
//! ```
//!
//! The file key is wrapped with AES-256-GCM (nonce 0, associated data "scb1") under a wrapping key
//! that is used for one bundle only: `HKDF(key, salt, "scb1/wrap/raw")` for a raw key,
//! `HKDF(Argon2id(passphrase), salt, "scb1/wrap/argon2id")` for a passphrase, and the HPKE key
//! (RFC 9180, base mode, X25519, HKDF-SHA256, AES-256-GCM) with the info
//! "scb1/wrap/x25519\0" || salt for a public key.
//!
//! Everyone who can open a bundle knows the file key and could create another bundle with the same
//! header. Only the signature rules this out. Anyone can create a bundle for a public key, so such
//! a bundle is opened only if the expected [`Signer`] is given. A raw key or passphrase proves that
//! the bundle was created by someone who knows that key or passphrase.
//!
//! ```
//! use secrets_core::bundle::{
//!     self, BundleKey, BundleMetadata, Opener, Recipients, SigningKey, Unlock,
//! };
//! # use secrets_core::model::Time;
//! # let now = Time::from_timestamp(1_767_225_600, 0).unwrap();
//! # let (project, environment) = (uuid::Uuid::nil().into(), uuid::Uuid::nil().into());
//!
//! let (key, signing) = (BundleKey::generate(), SigningKey::generate());
//! let (seq, created_at) = (1, now);
//! let metadata = BundleMetadata { project, environment, seq, created_at, expires_at: None };
//! let recipients = Recipients::key(&key);
//! let file = bundle::seal(&metadata, &[], &recipients, &signing).unwrap();
//!
//! let signer = Some(signing.signer());
//! let opener = Opener { unlock: Unlock::Key(key), signer, at_least: 0, now };
//! let secrets: Result<Vec<_>, _> = opener.open_bytes(&file).unwrap().collect();
//! assert!(secrets.unwrap().is_empty());
//! ```

mod error;
mod file_key;
mod format;
#[cfg(feature = "testing")]
pub(crate) mod fuzz;
mod items;
mod keys;
mod open;
mod recipients;
mod seal;
mod secret;
mod stream;

pub use error::BundleError;
pub use keys::{BundleKey, PublicKey, RecipientKey, Signer, SigningKey};
pub use open::{Opened, Opener, Unlock};
pub use recipients::{NewRecipient, Recipients};
pub use seal::seal;
pub use secret::BundledSecret;

use crate::model::{EnvironmentId, ProjectId, Time};

/// Metadata from a bundle's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleMetadata {
    /// Project ID.
    pub project: ProjectId,
    /// Environment ID.
    pub environment: EnvironmentId,
    /// Sequence number. Each bundle of an environment has a higher number than the bundles before
    /// it; at most 2^53 - 1. Bundles created by this service use the creation time as Unix time in
    /// microseconds.
    pub seq: u64,
    /// Creation time.
    pub created_at: Time,
    /// Expiry time; `None` if the bundle never expires. The bundle cannot be opened at or after
    /// this time.
    pub expires_at: Option<Time>,
}

#[cfg(test)]
mod tests;
