//! The keyed hash that holds the audit log together (HMAC-SHA256, RFC 2104).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::Keyring;

/// A hash over a sequence of fields, each with its length, so that no two sequences are alike.
pub(crate) struct ChainMac(Hmac<Sha256>);

impl ChainMac {
    /// A hash of fields for one purpose, under the installation's audit key.
    pub(crate) fn new(keyring: &Keyring, purpose: &str) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac = Hmac::new_from_slice(keyring.audit().as_bytes()).expect("a key of 32 bytes");
        Self(mac).field(purpose.as_bytes()).field(keyring.instance().uuid().as_bytes())
    }

    pub(crate) fn field(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.field(&number.to_be_bytes())
    }

    /// A field that may be absent, which is not the same as empty.
    pub(crate) fn optional(self, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.number(1).field(bytes),
            None => self.number(0),
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }
}

/// Whether two hashes are the same, in constant time.
pub(crate) fn is_same(left: &[u8; 32], right: &[u8; 32]) -> bool {
    left.ct_eq(right).into()
}
