//! XAES-256-GCM encryption of byte strings.

use std::fmt;

use xaes_256_gcm::aead::{AeadInOut, KeyInit};
use xaes_256_gcm::{Nonce, Tag, Xaes256Gcm};
use zeroize::Zeroizing;

use super::Key;

pub(super) const NONCE: usize = 24;
pub(super) const TAG: usize = 16;

/// Decryption error: the data was moved, changed or truncated, or the encryption key is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undecryptable;

impl fmt::Display for Undecryptable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("decryption failed")
    }
}

impl std::error::Error for Undecryptable {}

/// Cipher XAES-256-GCM, initialized with one encryption key. The expanded key is boxed, so that
/// moving a cipher does not copy it to further places in memory.
pub(super) struct Cipher(Box<Xaes256Gcm>);

impl Cipher {
    pub(super) fn new(key: &Key) -> Self {
        Self(Box::new(Xaes256Gcm::new(key.as_bytes().into())))
    }

    /// Encrypts `plaintext` and appends nonce, ciphertext and tag to `out`.
    pub(super) fn seal_into(
        &self,
        out: &mut Vec<u8>,
        nonce: &[u8; NONCE],
        aad: &[u8],
        plaintext: &[u8],
    ) {
        out.extend_from_slice(nonce);
        let start = out.len();
        out.extend_from_slice(plaintext);
        #[expect(clippy::expect_used, reason = "sizes are far below AES-GCM's limit of 64 GiB")]
        let tag = self
            .0
            .encrypt_inout_detached(&Nonce::from(*nonce), aad, out.split_at_mut(start).1.into())
            .expect("AES-GCM can encrypt data of this size");
        out.extend_from_slice(&tag);
    }

    /// Decrypts the nonce, ciphertext and tag that [`seal_into`](Self::seal_into) appended. Fails
    /// if they or the associated data were changed.
    pub(super) fn open(
        &self,
        sealed: &[u8],
        aad: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Undecryptable> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE>().ok_or(Undecryptable)?;
        let (ciphertext, tag) = rest.split_last_chunk::<TAG>().ok_or(Undecryptable)?;
        let mut buffer = Zeroizing::new(ciphertext.to_vec());
        self.0
            .decrypt_inout_detached(
                &Nonce::from(*nonce),
                aad,
                buffer.as_mut_slice().into(),
                &Tag::from(*tag),
            )
            .map_err(|_| Undecryptable)?;
        Ok(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decryption_error_has_a_text() {
        assert_eq!(Undecryptable.to_string(), "decryption failed");
    }
}
