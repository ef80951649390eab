//! Symmetric encryption keys, and the interface to the root key.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use hkdf::Hkdf;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::cipher::Cipher;
use super::random;

/// A 256-bit symmetric key. Wiped on drop; `Debug` does not print it.
pub struct Key(Zeroizing<[u8; 32]>);

impl Key {
    /// Generates a random key.
    #[must_use]
    pub fn generate() -> Self {
        Self(Zeroizing::new(random()))
    }

    /// Creates a key from its bytes.
    #[must_use]
    pub fn from_bytes(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        Some(Self(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// Returns the bytes of the key, so that an implementation of [`RootKeys`] can wrap it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives a key for one purpose, named by `info` (HKDF-SHA256, RFC 5869).
    #[must_use]
    pub fn derive(&self, salt: Option<&[u8]>, info: &[u8]) -> Self {
        let mut derived = Zeroizing::new([0; 32]);
        #[expect(clippy::expect_used, reason = "HKDF-SHA256 can output up to 8,160 bytes")]
        Hkdf::<Sha256>::new(salt, self.as_bytes())
            .expand(info, derived.as_mut_slice())
            .expect("32 bytes are within HKDF's limit");
        Self(derived)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Identifier of a root key. Reveals nothing about the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RootKeyId(pub [u8; 8]);

impl RootKeyId {
    /// Derives the ID of a root key from `name`. Used for a root key that a key service holds: the
    /// name identifies the key service and the key.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let mut digest = Sha256::new_with_prefix(b"secrets-core/v1/root-name\0");
        digest.update(name);
        let mut id = [0; 8];
        id.copy_from_slice(&digest.finalize()[..8]);
        Self(id)
    }
}

impl fmt::Display for RootKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for RootKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootKeyId({self})")
    }
}

/// A root key, which wraps (encrypts) the instance key. Used at startup and on key rotation, never
/// per request.
#[async_trait]
pub trait RootKeys: Send + Sync {
    /// Returns the root key's ID.
    fn id(&self) -> RootKeyId;

    /// Wraps an encryption key. Unwrapping requires the same `context`.
    async fn wrap(&self, key: &Key, context: &[u8]) -> Result<Vec<u8>, RootKeyError>;

    /// Unwraps (decrypts) an encryption key.
    async fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Key, RootKeyError>;
}

/// Error from wrapping or unwrapping a key with a root key.
#[derive(Debug)]
pub enum RootKeyError {
    /// The wrapped key or its context was changed, or another root key wrapped it.
    Refused,
    /// The root key is unavailable, for example because the key service cannot be reached.
    Unavailable(crate::model::Cause),
}

/// A root key held in memory as 32 bytes.
pub struct StaticRootKey {
    id: RootKeyId,
    cipher: Cipher,
}

impl StaticRootKey {
    /// Creates a root key from a symmetric key.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        let mut id = [0; 8];
        id.copy_from_slice(&key.derive(None, b"secrets-core/v1/root-id").as_bytes()[..8]);
        Self { id: RootKeyId(id), cipher: Cipher::new(key) }
    }
}

impl From<&Key> for Arc<dyn RootKeys> {
    fn from(key: &Key) -> Self {
        Arc::new(StaticRootKey::new(key))
    }
}

#[async_trait]
impl RootKeys for StaticRootKey {
    fn id(&self) -> RootKeyId {
        self.id
    }

    async fn wrap(&self, key: &Key, context: &[u8]) -> Result<Vec<u8>, RootKeyError> {
        let mut wrapped = Vec::new();
        self.cipher.seal_into(&mut wrapped, &random(), context, key.as_bytes());
        Ok(wrapped)
    }

    async fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Key, RootKeyError> {
        let bytes = self.cipher.open(wrapped, context).map_err(|_| RootKeyError::Refused)?;
        Key::from_slice(&bytes).ok_or(RootKeyError::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_key_id_is_printed_in_hexadecimal() {
        let id = RootKeyId([0, 1, 0x0f, 0x10, 0x7f, 0x80, 0xfe, 0xff]);

        assert_eq!(id.to_string(), "00010f107f80feff");
        assert_eq!(format!("{id:?}"), "RootKeyId(00010f107f80feff)");
    }
}
