//! Canary: a ciphertext that shows that an instance key and an instance record belong together.

use super::{Cipher, InstanceRecord, Key, KeyringError, purpose_key, random, tampered};
use crate::model::InstanceId;

/// Associated data of the canary.
const CANARY: &[u8] = b"SCv1\0canary";

/// Contents of a canary: the instance ID, the ID of the instance key, and the epoch.
type Contents = (InstanceId, u32, u64);

/// Derives the cipher of canaries from an instance key.
pub(super) fn cipher(kek: &Key, instance: InstanceId) -> Cipher {
    Cipher::new(&purpose_key(kek, instance, "canary"))
}

/// Encrypts a canary.
pub(super) fn seal(cipher: &Cipher, contents: Contents) -> Vec<u8> {
    let mut canary = Vec::new();
    cipher.seal_into(&mut canary, &random(), CANARY, &text(contents));
    canary
}

/// Fails if the canary cannot be decrypted, because the instance key is wrong or the canary was
/// changed, or if the canary does not match the record.
pub(super) fn check(cipher: &Cipher, record: &InstanceRecord) -> Result<(), KeyringError> {
    let canary = cipher.open(&record.canary, CANARY).map_err(tampered)?;
    let expected = text((record.id, record.kek_id, record.epoch));
    if *canary == expected { Ok(()) } else { Err(KeyringError::Tampered) }
}

/// Returns the contents of a canary as bytes.
pub(super) fn text((instance, kek_id, epoch): Contents) -> Vec<u8> {
    [instance.uuid().as_bytes().as_slice(), &kek_id.to_be_bytes(), &epoch.to_be_bytes()].concat()
}
