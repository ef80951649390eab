//! Keychain of the operating system: Keychain of macOS, Credential Manager of Windows, Secret
//! Service of other systems.
//!
//! Each request runs in a thread of its own with a time limit, because a D-Bus service may never
//! answer. A locked keychain is an error: a command must not wait for a prompt.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use keyring::v1::Entry;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Credential, CredentialMetadata, KeychainError};

/// Service name of this program's entries in the keychain. The user name of an entry is the origin
/// of the server.
const SERVICE: &str = "secrets";

/// Time limit for a request to the keychain.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Contents of a keychain entry.
#[derive(Serialize, Deserialize)]
struct Contents {
    token: Zeroizing<String>,
    private_key: Option<Zeroizing<String>>,
}

/// Checks that the keychain responds and is unlocked.
pub(super) fn check() -> Result<(), KeychainError> {
    ask("", |_| Ok(()))
}

/// Loads the credential of an origin.
pub(super) fn load(
    origin: &str,
    metadata: CredentialMetadata,
) -> Result<Credential, KeychainError> {
    let bytes = ask(origin, |entry| entry.get_secret().map(Zeroizing::new))?;
    let Contents { token, private_key } =
        serde_json::from_slice(&bytes).map_err(|_| KeychainError::Refused)?;
    Ok(Credential { token, metadata, private_key })
}

/// Stores the credential of an origin.
pub(super) fn store(origin: &str, credential: &Credential) -> Result<(), KeychainError> {
    let Credential { token, private_key, .. } = credential.clone();
    let bytes = serde_json::to_vec(&Contents { token, private_key })
        .map(Zeroizing::new)
        .map_err(|_| KeychainError::Refused)?;
    ask(origin, move |entry| entry.set_secret(&bytes))
}

/// Deletes the credential of an origin.
pub(super) fn delete(origin: &str) -> Result<(), KeychainError> {
    match ask(origin, Entry::delete_credential) {
        Err(KeychainError::NoEntry) => Ok(()),
        result => result,
    }
}

/// Sends a request about the keychain entry of an origin, in a separate thread. When the time limit
/// is reached, the thread is abandoned.
fn ask<T: Send + 'static>(
    origin: &str,
    request: impl FnOnce(&Entry) -> keyring::v1::Result<T> + Send + 'static,
) -> Result<T, KeychainError> {
    let (sender, receiver) = mpsc::channel();
    let origin = origin.to_owned();
    let answer = move || {
        lock::check(&origin)?;
        let entry = Entry::new(SERVICE, &origin)?;
        Ok(request(&entry)?)
    };
    thread::Builder::new()
        // An error means that the time limit was reached and the receiver was dropped.
        .spawn(move || drop(sender.send(answer())))
        .map_err(|_| KeychainError::Refused)?;
    match receiver.recv_timeout(TIMEOUT) {
        Ok(answer) => answer,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(KeychainError::NoAnswer),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(KeychainError::Refused),
    }
}

impl From<keyring::v1::Error> for KeychainError {
    /// Converts an error of the keychain library. The messages of unknown errors are not used,
    /// because they may contain the secret.
    fn from(error: keyring::v1::Error) -> Self {
        match error {
            keyring::v1::Error::NoEntry => Self::NoEntry,
            keyring::v1::Error::NoDefaultStore => Self::Absent,
            _ => Self::Refused,
        }
    }
}

/// Check that the Secret Service is unlocked, so that a request does not show a prompt to the user.
#[cfg(all(unix, not(target_os = "macos")))]
mod lock {
    use std::collections::HashMap;

    use secret_service::EncryptionType;
    use secret_service::blocking::SecretService;

    use super::{KeychainError, SERVICE};

    pub(super) fn check(origin: &str) -> Result<(), KeychainError> {
        // No secret passes through this session.
        let service =
            SecretService::connect(EncryptionType::Plain).map_err(|_| KeychainError::Absent)?;
        let collection = service.get_default_collection().map_err(|_| KeychainError::Absent)?;
        let entry = HashMap::from([("service", SERVICE), ("username", origin)]);
        let found = service.search_items(entry).map_err(|_| KeychainError::Refused)?;
        let is_locked = collection.is_locked().map_err(|_| KeychainError::Refused)?;
        if is_locked || !found.locked.is_empty() {
            return Err(KeychainError::Locked);
        }
        Ok(())
    }
}

/// Substitute for the check that the keychain is unlocked, on systems without a Secret Service.
/// Always succeeds, because signing in to the desktop unlocks the keychain.
#[cfg(not(all(unix, not(target_os = "macos"))))]
mod lock {
    pub(super) fn check(_origin: &str) -> Result<(), super::KeychainError> {
        Ok(())
    }
}
