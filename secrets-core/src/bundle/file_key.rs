//! The key of one bundle: what it gives, and how it is wrapped.

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

/// The key of one bundle.
pub(super) struct FileKey(Key);

/// What wraps a file key where both sides know a secret.
#[derive(Clone, Copy)]
pub(super) enum Shared {
    Raw,
    Argon2id,
}

const AAD: &[u8] = b"scb1";
/// A wrapping key is of one bundle, and wraps once.
const NONCE: [u8; 12] = [0; 12];

type HpkeTag = AeadTag<AesGcm256>;

impl FileKey {
    pub(super) fn generate() -> Self {
        Self(Key::generate())
    }

    /// The cipher of the chunks.
    pub(super) fn cipher(&self, salt: &[u8; 16]) -> Aes256Gcm {
        cipher(&self.0.derive(Some(salt), b"scb1/payload"))
    }

    /// What proves that whoever wrote the header knew this key.
    pub(super) fn mac(&self, salt: &[u8; 16], head: &[u8]) -> [u8; MAC] {
        self.keyed(salt, head).finalize().into_bytes().into()
    }

    /// Whether [`mac`](Self::mac) gives this.
    pub(super) fn has_made(&self, mac: &[u8; MAC], salt: &[u8; 16], head: &[u8]) -> bool {
        self.keyed(salt, head).verify_slice(mac).is_ok()
    }

    fn keyed(&self, salt: &[u8; 16], head: &[u8]) -> Hmac<Sha256> {
        let key = self.0.derive(Some(salt), b"scb1/header");
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("a key of 32 bytes");
        mac.chain_update(head)
    }

    /// Wraps it under a secret that is shared.
    pub(super) fn wrap(&self, secret: &Key, how: Shared, salt: &[u8; 16]) -> [u8; WRAPPED] {
        let mut wrapped = [0; WRAPPED];
        let (inner, outer) = wrapped.split_at_mut(32);
        inner.copy_from_slice(self.0.as_bytes());
        #[expect(clippy::expect_used, reason = "32 bytes are within the bounds of AES-GCM")]
        let tag = wrapping(secret, how, salt)
            .encrypt_inout_detached(&Nonce::from(NONCE), AAD, inner.into())
            .expect("32 bytes");
        outer.copy_from_slice(&tag);
        wrapped
    }

    /// Opens what [`wrap`](Self::wrap) made; `None` if the secret is another.
    pub(super) fn unwrap(
        wrapped: &[u8; WRAPPED],
        secret: &Key,
        how: Shared,
        salt: &[u8; 16],
    ) -> Option<Self> {
        let (mut key, tag) = parts(wrapped);
        wrapping(secret, how, salt)
            .decrypt_inout_detached(
                &Nonce::from(NONCE),
                AAD,
                key.as_mut_slice().into(),
                &Tag::from(tag),
            )
            .ok()?;
        Some(Self(Key::from_bytes(key)))
    }

    /// Wraps it for a public key; `None` for a key that is none. The first is HPKE's `enc`.
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

    /// Opens what [`wrap_for`](Self::wrap_for) made; `None` if it is for another.
    pub(super) fn unwrap_for(
        enc: &[u8; 32],
        wrapped: &[u8; WRAPPED],
        private: &RecipientKey,
        salt: &[u8; 16],
    ) -> Option<Self> {
        let (mut key, tag) = parts(wrapped);
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

fn parts(wrapped: &[u8; WRAPPED]) -> (Zeroizing<[u8; 32]>, [u8; 16]) {
    let (mut key, mut tag) = (Zeroizing::new([0; 32]), [0; 16]);
    key.copy_from_slice(&wrapped[..32]);
    tag.copy_from_slice(&wrapped[32..]);
    (key, tag)
}

fn wrapping(secret: &Key, how: Shared, salt: &[u8; 16]) -> Aes256Gcm {
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
