//! MAC for audit chains (HMAC-SHA256, RFC 2104).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::Keyring;

/// MAC over a sequence of fields. Each field is prefixed with its length, so that different
/// sequences never produce the same input.
pub(crate) struct ChainMac(Hmac<Sha256>);

impl ChainMac {
    /// Starts a MAC for one purpose, with the instance's MAC key for audit chains.
    pub(crate) fn new(keyring: &Keyring, purpose: &str) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac =
            Hmac::new_from_slice(keyring.audit().as_bytes()).expect("HMAC accepts a 32-byte key");
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

    /// Adds an optional field. `None` and an empty field give different MACs.
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

/// True if two MACs are equal. Compares in constant time.
pub(crate) fn is_same(left: &[u8; 32], right: &[u8; 32]) -> bool {
    left.ct_eq(right).into()
}
