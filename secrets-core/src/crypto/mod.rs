//! Keys and the only code that touches plaintext.
//!
//! ```text
//! root key        held outside the database: a file, a variable, a key service
//!   └─ instance key     one per installation, wrapped by the root key
//!        ├─ wrapping key     HKDF of the instance key; wraps the project keys and the instance's own
//!        │    ├─ project keys     one per project; seal its records
//!        │    └─ token pepper …   outlive an instance key, so they are wrapped, not derived
//!        └─ canary           HKDF of the instance key; opens at start or nothing starts
//! ```
//!
//! Everything is AES-256-GCM, in the XAES-256-GCM form (C2SP) that takes a random nonce of 192
//! bits: 2^80 records under one key stay within the 2^-32 risk that NIST SP 800-38D allows.
//! What a record belongs to (instance, project, environment, secret, key name, version, whether it
//! is hidden) is its associated data: a record that was moved, or is of another version, does not open.

mod archive;
mod chain;
pub(crate) mod checked;
mod cipher;
mod fingerprint;
mod key;
mod keyring;
pub(crate) mod message;
mod passphrase;
mod plaintext;
mod record;
mod tag;
mod token;
mod webhook;

pub use archive::{Archive, ArchiveKey};
pub(crate) use chain::{ChainMac, is_same};
pub use cipher::Undecryptable;
pub use fingerprint::Fingerprint;
pub(crate) use fingerprint::FingerprintKey;
pub use key::{Key, RootKeyError, RootKeyId, RootKeys, StaticRootKey};
#[cfg(feature = "testing")]
pub use keyring::published;
pub use keyring::{
    InstanceKeyPurpose, InstanceKeyRecord, InstanceRecord, Keyring, KeyringError, ProjectKey,
    ProjectKeyRecord,
};
pub(crate) use passphrase::Cost;
pub use passphrase::Passphrase;
pub use plaintext::{Description, Plaintext};
pub use record::{Purpose, RecordContext, Sealed};
pub use tag::Tag;
pub use token::{CodeText, InvitationToken, TokenMac, TokenText};
pub use webhook::WebhookSecret;

/// Random bytes from the operating system.
///
/// # Panics
///
/// When the operating system has none, which leaves nothing safe to do.
#[must_use]
#[expect(clippy::expect_used, reason = "without randomness every key and nonce would be unsafe")]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}
