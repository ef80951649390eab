//! The file key of a bundle: keys derived from it, and its wrapping for recipients.

use hmac::{Hmac, Mac as _};
use hpke::aead::{AeadTag, AesGcm256};
use hpke::kdf::HkdfSha256;
use hpke::kem::Kem;
use hpke::{
    Deserializable, OpModeR, OpModeS, Serializable, single_shot_open_inout_detached,
    single_shot_seal_inout_detached,
};
use sha2::Sha256;
use xaes_256_gcm::aead::{AeadInOut, KeyInit};
use xaes_256_gcm::aes_gcm::{Aes256Gcm, Nonce, Tag};
use zeroize::Zeroizing;

use super::format::{MAC, WRAPPED};
use super::keys::{PublicKey, RecipientKey, X25519};
use crate::crypto::Key;

/// The file key of one bundle: 32 random bytes, from which the other keys of the bundle are
/// derived.
pub(super) struct FileKey(Key);

/// Kind of key that both the creator and the recipient of a bundle know: a raw random key, or a key
/// derived from a passphrase with Argon2id. The key that wraps (encrypts) the file key is derived
/// from this key.
#[derive(Clone, Copy)]
pub(super) enum Shared {
    Raw,
    Argon2id,
}

const AAD: &[u8] = b"scb1";
/// Fixed nonce: a wrapping key belongs to one bundle and encrypts only once.
const NONCE: [u8; 12] = [0; 12];

type HpkeTag = AeadTag<AesGcm256>;

impl FileKey {
    pub(super) fn generate() -> Self {
        Self(Key::generate())
    }

    /// Derives the cipher that encrypts the payload chunks.
    pub(super) fn cipher(&self, salt: &[u8; 16]) -> Aes256Gcm {
        cipher(&self.0.derive(Some(salt), b"scb1/payload"))
    }

    /// Computes the MAC of the header, which proves that the header's author knew this file key.
    pub(super) fn mac(&self, salt: &[u8; 16], head: &[u8]) -> [u8; MAC] {
        self.keyed(salt, head).finalize().into_bytes().into()
    }

    /// True if `mac` equals the MAC that [`mac`](Self::mac) computes for this salt and header.
    /// Compares in constant time.
    pub(super) fn has_made(&self, mac: &[u8; MAC], salt: &[u8; 16], head: &[u8]) -> bool {
        self.keyed(salt, head).verify_slice(mac).is_ok()
    }

    fn keyed(&self, salt: &[u8; 16], head: &[u8]) -> Hmac<Sha256> {
        let key = self.0.derive(Some(salt), b"scb1/header");
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac =
            Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC accepts a 32-byte key");
        mac.chain_update(head)
    }

    /// Wraps (encrypts) the file key with a key derived from a shared secret.
    pub(super) fn wrap(&self, secret: &Key, how: Shared, salt: &[u8; 16]) -> [u8; WRAPPED] {
        let mut wrapped = [0; WRAPPED];
        let (inner, outer) = wrapped.split_at_mut(32);
        inner.copy_from_slice(self.0.as_bytes());
        #[expect(clippy::expect_used, reason = "32 bytes are within the bounds of AES-GCM")]
        let tag = wrapping_cipher(secret, how, salt)
            .encrypt_inout_detached(&Nonce::from(NONCE), AAD, inner.into())
            .expect("AES-GCM can encrypt 32 bytes");
        outer.copy_from_slice(&tag);
        wrapped
    }

    /// Unwraps a file key that [`wrap`](Self::wrap) returned; `None` if the secret is wrong or the
    /// wrapped key was changed.
    pub(super) fn unwrap(
        wrapped: &[u8; WRAPPED],
        secret: &Key,
        how: Shared,
        salt: &[u8; 16],
    ) -> Option<Self> {
        let (mut key, tag) = split_tag(wrapped);
        wrapping_cipher(secret, how, salt)
            .decrypt_inout_detached(
                &Nonce::from(NONCE),
                AAD,
                key.as_mut_slice().into(),
                &Tag::from(tag),
            )
            .ok()?;
        Some(Self(Key::from_bytes(key)))
    }

    /// Wraps the file key for a public key, with HPKE (RFC 9180). Returns the encapsulated key
    /// (`enc`) and the wrapped file key; `None` if the public key is not valid.
    pub(super) fn wrap_for(
        &self,
        public: &PublicKey,
        salt: &[u8; 16],
    ) -> Option<([u8; 32], [u8; WRAPPED])> {
        let (mut enc, mut wrapped) = ([0; 32], [0; WRAPPED]);
        let (inner, outer) = wrapped.split_at_mut(32);
        inner.copy_from_slice(self.0.as_bytes());
        let (encapped, tag) = single_shot_seal_inout_detached::<AesGcm256, HkdfSha256, X25519>(
            &OpModeS::Base,
            &public.point(),
            &info(salt),
            inner.into(),
            AAD,
        )
        .ok()?;
        encapped.write_exact(&mut enc);
        tag.write_exact(outer);
        Some((enc, wrapped))
    }

    /// Unwraps a file key that [`wrap_for`](Self::wrap_for) returned; `None` if the private key is
    /// wrong or the wrapped key was changed.
    pub(super) fn unwrap_for(
        enc: &[u8; 32],
        wrapped: &[u8; WRAPPED],
        private: &RecipientKey,
        salt: &[u8; 16],
    ) -> Option<Self> {
        let (mut key, tag) = split_tag(wrapped);
        single_shot_open_inout_detached::<AesGcm256, HkdfSha256, X25519>(
            &OpModeR::Base,
            &private.secret(),
            &<X25519 as Kem>::EncappedKey::from_bytes(enc).ok()?,
            &info(salt),
            key.as_mut_slice().into(),
            AAD,
            &HpkeTag::from_bytes(&tag).ok()?,
        )
        .ok()?;
        Some(Self(Key::from_bytes(key)))
    }
}

fn split_tag(wrapped: &[u8; WRAPPED]) -> (Zeroizing<[u8; 32]>, [u8; 16]) {
    let (mut key, mut tag) = (Zeroizing::new([0; 32]), [0; 16]);
    key.copy_from_slice(&wrapped[..32]);
    tag.copy_from_slice(&wrapped[32..]);
    (key, tag)
}

fn wrapping_cipher(secret: &Key, how: Shared, salt: &[u8; 16]) -> Aes256Gcm {
    let info: &[u8] = match how {
        Shared::Raw => b"scb1/wrap/raw",
        Shared::Argon2id => b"scb1/wrap/argon2id",
    };
    cipher(&secret.derive(Some(salt), info))
}

fn info(salt: &[u8; 16]) -> Vec<u8> {
    [b"scb1/wrap/x25519\0".as_slice(), salt].concat()
}

fn cipher(key: &Key) -> Aes256Gcm {
    Aes256Gcm::new(key.as_bytes().into())
}
