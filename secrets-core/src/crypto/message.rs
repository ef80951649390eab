//! Signed and encrypted messages between two parties that share a secret.
//!
//! Every key is derived with HKDF-SHA256 (RFC 5869) from the secret's bytes, for one purpose named
//! by `info`. The cipher is plain AES-256-GCM, because the other side may support nothing else. Its
//! random 96-bit nonce precedes the ciphertext and the tag. The salt limits an encryption key to
//! one exchange, so that only a few messages are ever encrypted with it.

use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use xaes_256_gcm::aead::{AeadInOut, KeyInit};
use xaes_256_gcm::aes_gcm::{Aes256Gcm, Nonce, Tag};
use zeroize::Zeroizing;

use super::{Plaintext, Undecryptable};

/// Length of the nonce before the ciphertext, in bytes.
pub(crate) const IV: usize = 12;
const TAG: usize = 16;

/// A secret that two parties share. The keys for their messages are derived from it.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a>(pub(crate) &'a Plaintext);

impl Shared<'_> {
    fn key(self, salt: Option<&[u8]>, info: &str) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        #[expect(clippy::expect_used, reason = "HKDF-SHA256 can output up to 8,160 bytes")]
        Hkdf::<Sha256>::new(salt, self.0.reveal().as_bytes())
            .expand(info.as_bytes(), key.as_mut_slice())
            .expect("32 bytes are within HKDF's limit");
        key
    }

    /// Computes an identifier of the shared secret that reveals nothing about the secret.
    pub(crate) fn id(self, info: &str) -> [u8; 8] {
        let key = self.key(None, info);
        std::array::from_fn(|place| key[place])
    }

    /// Computes the MAC of a message (HMAC-SHA256).
    pub(crate) fn sign(self, info: &str, message: &[u8]) -> [u8; 32] {
        let key = self.key(None, info);
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_slice())
            .expect("HMAC accepts any key");
        mac.chain_update(message).finalize().into_bytes().into()
    }

    fn cipher(self, salt: &[u8], info: &str) -> Aes256Gcm {
        let key = self.key(Some(salt), info);
        Aes256Gcm::new((&*key).into())
    }

    /// Encrypts a message. Returns the nonce, the ciphertext and the tag.
    pub(crate) fn seal(self, salt: &[u8], info: &str, text: &Sealing<'_>) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(IV + text.plaintext.len() + TAG);
        sealed.extend_from_slice(&text.iv);
        sealed.extend_from_slice(text.plaintext);
        let inner = sealed.split_at_mut(IV).1;
        #[expect(clippy::expect_used, reason = "a message is far below AES-GCM's limit of 64 GiB")]
        let tag = self
            .cipher(salt, info)
            .encrypt_inout_detached(&Nonce::from(text.iv), text.aad, inner.into())
            .expect("AES-GCM can encrypt a message of this size");
        sealed.extend_from_slice(&tag);
        sealed
    }

    /// Decrypts a message that [`seal`](Self::seal) returned.
    pub(crate) fn open(
        self,
        salt: &[u8],
        info: &str,
        aad: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Undecryptable> {
        let (iv, rest) = sealed.split_first_chunk::<IV>().ok_or(Undecryptable)?;
        let (ciphertext, tag) = rest.split_last_chunk::<TAG>().ok_or(Undecryptable)?;
        let mut buffer = Zeroizing::new(ciphertext.to_vec());
        self.cipher(salt, info)
            .decrypt_inout_detached(
                &Nonce::from(*iv),
                aad,
                buffer.as_mut_slice().into(),
                &Tag::from(*tag),
            )
            .map_err(|_| Undecryptable)?;
        Ok(buffer)
    }
}

/// Parts of a message that [`Shared::seal`] encrypts.
pub(crate) struct Sealing<'a> {
    /// Nonce; must be random for each message.
    pub(crate) iv: [u8; IV],
    /// Associated data. The same data is required for decryption.
    pub(crate) aad: &'a [u8],
    /// Text to encrypt.
    pub(crate) plaintext: &'a [u8],
}
