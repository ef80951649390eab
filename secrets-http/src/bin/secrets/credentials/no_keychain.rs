//! Substitute for the keychain in a build without the feature `keychain`.

use super::{Credential, CredentialMetadata, KeychainError};

/// Fails with [`KeychainError::NotBuilt`].
pub(super) fn check() -> Result<(), KeychainError> {
    Err(KeychainError::NotBuilt)
}

/// Fails with [`KeychainError::NotBuilt`].
pub(super) fn load(
    _origin: &str,
    _metadata: CredentialMetadata,
) -> Result<Credential, KeychainError> {
    Err(KeychainError::NotBuilt)
}

/// Fails with [`KeychainError::NotBuilt`].
pub(super) fn store(_origin: &str, _credential: &Credential) -> Result<(), KeychainError> {
    Err(KeychainError::NotBuilt)
}

/// Fails with [`KeychainError::NotBuilt`].
pub(super) fn delete(_origin: &str) -> Result<(), KeychainError> {
    Err(KeychainError::NotBuilt)
}
