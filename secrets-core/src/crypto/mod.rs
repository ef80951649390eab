//! Cryptography: keys, sealed records, tokens, passphrases and MACs.
//!
//! ```text
//! root key        held outside the database: a file, an environment variable, a key service
//!   └─ instance key     one per instance, wrapped by the root key
//!        ├─ wrapping key     HKDF of the instance key; wraps project keys and instance-wide keys
//!        │    ├─ project keys     one per project; encrypt its records
//!        │    └─ token pepper …   outlive an instance key, so they are wrapped, not derived
//!        └─ canary key       HKDF of the instance key; startup fails unless it opens the canary
//! ```
//!
//! Keys and records are encrypted with XAES-256-GCM (C2SP), a variant of AES-256-GCM with a random
//! 192-bit nonce: 2^80 records under one key stay within the 2^-32 risk that NIST SP 800-38D
//! allows. The location of a record (instance, project, environment, secret, key name, version,
//! hidden flag) is its associated data, so a record that was moved or replaced by another version
//! does not decrypt.

mod archive;
mod buffer;
mod chain;
pub(crate) mod checked;
mod cipher;
mod client_state;
mod failures;
mod fingerprint;
#[cfg(feature = "testing")]
pub(crate) mod fuzz;
mod key;
mod keyring;
mod manifest;
pub(crate) mod message;
mod passphrase;
mod plaintext;
mod project_key;
mod record;
mod revealed;
mod tag;
mod token;
mod webhook;

pub use archive::{Archive, ArchiveKey};
pub use buffer::WipedBuffer;
pub(crate) use buffer::{to_json, to_json_text};
pub(crate) use chain::{ChainMac, is_same};
pub use cipher::Undecryptable;
pub(crate) use client_state::ClientState;
pub use failures::DecryptionFailure;
pub use fingerprint::Fingerprint;
pub(crate) use fingerprint::FingerprintKey;
pub use key::{Key, RootKeyError, RootKeyId, RootKeys, StaticRootKey};
#[cfg(feature = "testing")]
pub use keyring::published;
pub use keyring::{InstanceKeyPurpose, InstanceKeyRecord, InstanceRecord, Keyring, KeyringError};
pub use manifest::{MANIFEST_BYTES, ManifestEntry};
pub(crate) use manifest::{ManifestKey, ManifestSum};
pub(crate) use passphrase::Cost;
pub use passphrase::Passphrase;
pub use plaintext::{Description, Plaintext};
pub use project_key::{ProjectKey, ProjectKeyError, ProjectKeyRecord};
pub use record::{Purpose, RecordContext, Sealed};
pub(crate) use revealed::implement_revealed;
pub use revealed::{Revealed, revealed};
pub use tag::Tag;
pub use token::{CodeText, InvitationToken, TokenMac, TokenText};
pub use webhook::WebhookSecret;

/// Returns random bytes from the operating system.
///
/// # Panics
///
/// Panics if the operating system provides no random bytes, because no safe fallback exists.
#[must_use]
#[expect(clippy::expect_used, reason = "without randomness every key and nonce would be unsafe")]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}
