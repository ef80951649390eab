//! What the golden vectors publish and a service keeps to itself: its steps between the keys, one
//! by one and with given nonces.

use super::super::cipher::{Cipher, NONCE};
use super::{Key, Keyring, kek_context, wrap_with_nonce, wrapping_cipher};
use crate::model::{InstanceId, ProjectId};

/// The key that an instance key gives for one purpose.
#[must_use]
pub fn purpose_key(kek: &Key, instance: InstanceId, purpose: &str) -> Key {
    super::purpose_key(kek, instance, purpose)
}

/// What a wrapped instance key is bound to.
#[must_use]
pub fn instance_key_context(instance: InstanceId, kek_id: u32) -> Vec<u8> {
    kek_context(instance, kek_id)
}

/// An instance key, wrapped as a root key given as bytes wraps it.
#[must_use]
pub fn wrap_instance_key(root: &Key, context: &[u8], kek: &Key, nonce: &[u8; NONCE]) -> Vec<u8> {
    wrap_with_nonce(&Cipher::new(root), kek, context, nonce)
}

/// The keyring of an instance key, with a pepper of its own.
#[must_use]
pub fn keyring(kek: &Key, instance: InstanceId, kek_id: u32) -> Keyring {
    Keyring {
        instance,
        kek_id,
        wrapping: wrapping_cipher(kek, instance),
        pepper: Key::generate(),
        audit: Key::generate(),
        signing: Key::generate(),
    }
}

/// A project's key, wrapped as its keyring wraps it.
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
