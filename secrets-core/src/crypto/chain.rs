//! MAC for audit chains (HMAC-SHA256, RFC 2104).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{Key, Keyring};

/// Length in bytes that the messages of most audit entries do not exceed.
const USUAL_LENGTH: usize = 1_024;

/// MAC over a sequence of fields. The fields are collected first, because one update of the hash is
/// faster than one for each field. Each field is prefixed with its length, so that different
/// sequences never produce the same input.
pub(crate) struct ChainMac<'a> {
    key: &'a Key,
    /// Fields so far, each with its length.
    message: Vec<u8>,
}

impl<'a> ChainMac<'a> {
    /// Starts the computation of a MAC with the instance's key for audit chains. The first two
    /// fields are `purpose` and the ID of the instance.
    pub(crate) fn new(keyring: &'a Keyring, purpose: &str) -> Self {
        let message = Vec::with_capacity(USUAL_LENGTH);
        Self { key: keyring.audit(), message }
            .field(purpose.as_bytes())
            .field(keyring.instance().uuid().as_bytes())
    }

    pub(crate) fn field(mut self, bytes: &[u8]) -> Self {
        self.message.extend((bytes.len() as u64).to_be_bytes());
        self.message.extend(bytes);
        self
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.field(&number.to_be_bytes())
    }

    /// Adds an optional field to the MAC. `None` and an empty field give different MACs.
    pub(crate) fn optional(self, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.number(1).field(bytes),
            None => self.number(0),
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac = Hmac::<Sha256>::new_from_slice(self.key.as_bytes())
            .expect("HMAC accepts a 32-byte key");
        mac.chain_update(self.message).finalize().into_bytes().into()
    }
}

/// True if two MACs are equal. Compares in constant time.
pub(crate) fn is_same(left: &[u8; 32], right: &[u8; 32]) -> bool {
    left.ct_eq(right).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_mac_is_hmac_over_fields_with_their_lengths() {
        let keyring = Keyring::generate().await;
        let mut expected = Hmac::<Sha256>::new_from_slice(keyring.audit().as_bytes()).unwrap();
        expected.update(b"\0\0\0\0\0\0\0\x04seal");
        expected.update(b"\0\0\0\0\0\0\0\x10");
        expected.update(keyring.instance().uuid().as_bytes());
        expected.update(b"\0\0\0\0\0\0\0\x02ab");
        expected.update(b"\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x07");

        let mac = ChainMac::new(&keyring, "seal").field(b"ab").number(7).finish();

        assert_eq!(mac, <[u8; 32]>::from(expected.finalize().into_bytes()));
    }

    #[tokio::test]
    async fn an_absent_field_differs_from_an_empty_field() {
        let keyring = Keyring::generate().await;
        let of = |field| ChainMac::new(&keyring, "seal").optional(field).finish();

        let [absent, empty, full] = [None, Some(&b""[..]), Some(b"a")].map(of);

        assert!(is_same(&absent, &of(None)));
        assert!(!is_same(&absent, &empty));
        assert!(!is_same(&empty, &full));
    }
}
