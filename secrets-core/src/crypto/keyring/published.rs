//! Steps of the key hierarchy with nonces that the caller chooses, instead of random ones. Used to
//! compute the published test vectors.

use super::super::cipher::{Cipher, NONCE};
use super::{
    DecryptionFailures, Key, Keyring, canary, kek_context, wrap_with_nonce, wrapping_cipher,
};
use crate::model::{InstanceId, ProjectId};

/// Derives a key for one purpose from an instance key.
#[must_use]
pub fn purpose_key(kek: &Key, instance: InstanceId, purpose: &str) -> Key {
    super::purpose_key(kek, instance, purpose)
}

/// Returns the associated data of a wrapped instance key.
#[must_use]
pub fn instance_key_context(instance: InstanceId, kek_id: u32) -> Vec<u8> {
    kek_context(instance, kek_id)
}

/// Wraps an instance key with a root key, like [`StaticRootKey`](crate::crypto::StaticRootKey), but
/// with the given nonce.
#[must_use]
pub fn wrap_instance_key(root: &Key, context: &[u8], kek: &Key, nonce: &[u8; NONCE]) -> Vec<u8> {
    wrap_with_nonce(&Cipher::new(root), kek, context, nonce)
}

/// Creates a keyring from an instance key. The other keys of the instance are random.
#[must_use]
pub fn keyring(kek: &Key, instance: InstanceId, kek_id: u32) -> Keyring {
    Keyring {
        instance,
        kek_id,
        wrapping: wrapping_cipher(kek, instance),
        canary: canary::cipher(kek, instance),
        pepper: Key::generate(),
        audit: Key::generate(),
        manifest: Key::generate(),
        signing: Key::generate(),
        failures: DecryptionFailures::default(),
    }
}

/// Wraps a project key with the instance key, like [`Keyring`], but with the given nonce.
#[must_use]
pub fn wrap_project_key(
    keyring: &Keyring,
    project: ProjectId,
    version: u32,
    key: &Key,
    nonce: &[u8; NONCE],
) -> Vec<u8> {
    let context = super::dek_context(keyring.instance, project, version);
    wrap_with_nonce(&keyring.wrapping, key, &context, nonce)
}
