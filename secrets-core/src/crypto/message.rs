//! Messages between two that share a secret: signed, and readable by them alone.
//!
//! Every key is HKDF-SHA256 (RFC 5869) of the secret's bytes, for one purpose that its info names.
//! The cipher is AES-256-GCM with a random nonce of 96 bits, which goes before the ciphertext and
//! its tag: the other side may have nothing beyond it. A key is of one exchange, by its salt, so
//! that few messages are ever sealed under it.

use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use xaes_256_gcm::aead::{AeadInOut, KeyInit};
use xaes_256_gcm::aes_gcm::{Aes256Gcm, Nonce, Tag};
use zeroize::Zeroizing;

use super::{Plaintext, Undecryptable};

/// The length of the nonce before a ciphertext.
pub(crate) const IV: usize = 12;
const TAG: usize = 16;

/// What two share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a>(pub(crate) &'a Plaintext);

impl Shared<'_> {
    fn key(self, salt: Option<&[u8]>, info: &str) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        #[expect(clippy::expect_used, reason = "HKDF-SHA256 gives up to 8,160 bytes")]
        Hkdf::<Sha256>::new(salt, self.0.reveal().as_bytes())
            .expand(info.as_bytes(), key.as_mut_slice())
            .expect("32 bytes are within HKDF's bound");
        key
    }

    /// Names the secret without revealing anything of it.
    pub(crate) fn id(self, info: &str) -> [u8; 8] {
        let key = self.key(None, info);
        std::array::from_fn(|place| key[place])
    }

    /// The keyed hash of a message (HMAC-SHA256).
    pub(crate) fn sign(self, info: &str, message: &[u8]) -> [u8; 32] {
        let key = self.key(None, info);
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_slice()).expect("any length");
        mac.chain_update(message).finalize().into_bytes().into()
    }

    fn cipher(self, salt: &[u8], info: &str) -> Aes256Gcm {
        let key = self.key(Some(salt), info);
        Aes256Gcm::new((&*key).into())
    }

    /// The nonce, the ciphertext and its tag.
    pub(crate) fn seal(self, salt: &[u8], info: &str, text: &Sealing<'_>) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(IV + text.plaintext.len() + TAG);
        sealed.extend_from_slice(&text.iv);
        sealed.extend_from_slice(text.plaintext);
        let inner = sealed.split_at_mut(IV).1;
        #[expect(clippy::expect_used, reason = "a message is far below the 64 GiB of AES-GCM")]
        let tag = self
            .cipher(salt, info)
            .encrypt_inout_detached(&Nonce::from(text.iv), text.aad, inner.into())
            .expect("within the bounds of AES-GCM");
        sealed.extend_from_slice(&tag);
        sealed
    }

    /// Opens what [`seal`](Self::seal) made.
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

/// What is sealed, and what it is bound to.
pub(crate) struct Sealing<'a> {
    /// Drawn anew for each message.
    pub(crate) iv: [u8; IV],
    /// What must be the same to open it.
    pub(crate) aad: &'a [u8],
    /// What is hidden.
    pub(crate) plaintext: &'a [u8],
}
