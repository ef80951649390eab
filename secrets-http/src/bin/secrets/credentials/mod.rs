//! Stored credentials, one for each origin (scheme, host and port).
//!
//! The file `credentials.toml` has an entry for each origin. The entry contains the credential, or
//! refers to the keychain of the operating system. The keychain is accessed only if the entry
//! refers to it.

mod expiry;
mod file;
mod keychain;

use std::fmt;

use chrono::{DateTime, Utc};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

pub(crate) use expiry::ends_soon;
use file::Entry;
pub(crate) use file::{CredentialFile, create_private_folder};

use crate::failure::Failure;

/// Credential of a server, with the keys that belong to it.
#[derive(Clone)]
pub(crate) struct Credential {
    /// Credential of a command-line session, service token, or token of the identity provider.
    pub(crate) token: Zeroizing<String>,
    /// Non-secret information about the credential.
    pub(crate) metadata: CredentialMetadata,
    /// Private key that opens offline copies (`scbx_…`).
    pub(crate) private_key: Option<Zeroizing<String>>,
}

/// Non-secret information about a credential.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CredentialMetadata {
    /// Address of the service, with its path prefix.
    pub(crate) address: Option<String>,
    /// E-mail address of the user, or name of the service token.
    pub(crate) user: Option<String>,
    /// Expiry time of the credential, if it is known.
    pub(crate) expires_at: Option<DateTime<Utc>>,
    /// Public key of the service's bundle signer, as the service reported it when the user signed
    /// in.
    pub(crate) signer: Option<String>,
}

/// Place where a credential is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreKind {
    /// Keychain of the operating system.
    Keychain,
    /// The file `credentials.toml`, readable by its owner only.
    File,
}

/// Place in which `login` stores the credential: the value of the option `--store`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum StoreChoice {
    /// Keychain if it is unlocked and responds within a second, otherwise a file.
    #[default]
    Auto,
    /// Keychain of the operating system, or an error if it cannot be used.
    Keychain,
    /// A file that only its owner can read.
    File,
}

/// Place where a credential was stored, with the reason if it is a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Stored in the keychain.
    Keychain,
    /// Stored in a file, because the user has chosen the file.
    File,
    /// Stored in a file, because the keychain cannot be used.
    FileBecause(KeychainError),
}

/// Reason why the keychain cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeychainError {
    /// There is no keychain, or the keychain has no default collection.
    Absent,
    /// The keychain is locked.
    Locked,
    /// The keychain has not responded within the time limit.
    NoAnswer,
    /// The keychain has no entry for the origin.
    NoEntry,
    /// The keychain has refused the request.
    Refused,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

impl fmt::Display for KeychainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "there is no keychain",
            Self::Locked => "the keychain is locked",
            Self::NoAnswer => "the keychain did not answer within a second",
            Self::NoEntry => "the keychain has no credential of this server",
            Self::Refused => "the keychain refused the request",
        })
    }
}

impl CredentialFile {
    /// Loads the credential of an origin; `None` if no credential is stored for it.
    pub(crate) fn get(&self, origin: &str) -> Result<Option<Credential>, Failure> {
        let Some(entry) = self.entry(origin)? else { return Ok(None) };
        match entry.store {
            StoreKind::File => entry.into_credential().map(Some),
            StoreKind::Keychain => keychain::load(origin, entry.metadata).map(Some).map_err(|error| {
                let message = format!(
                    "the credential of {origin} is in the keychain: {error}; unlock it, or sign in \
                     again with `secrets login --store file {origin}`"
                );
                Failure::configuration(message)
            }),
        }
    }

    /// Stores the credential of an origin in the chosen place, and removes an earlier credential of
    /// this origin.
    pub(crate) fn put(
        &self,
        origin: &str,
        credential: &Credential,
        choice: StoreChoice,
    ) -> Result<Stored, Failure> {
        let stored = match choice {
            StoreChoice::File => Stored::File,
            StoreChoice::Keychain => keychain::store(origin, credential)
                .map(|()| Stored::Keychain)
                .map_err(|error| Failure::configuration(format!("--store keychain: {error}")))?,
            StoreChoice::Auto => keychain::store(origin, credential)
                .map_or_else(Stored::FileBecause, |()| Stored::Keychain),
        };
        let previous = self.set(origin, Some(Entry::new(credential, stored.kind())))?;
        if stored.kind() == StoreKind::File {
            // An entry that stays behind in the keychain is not used any more.
            let _ = remove_from_keychain(origin, previous);
        }
        Ok(stored)
    }

    /// Deletes the credential of an origin. If the keychain refuses the deletion, the credential
    /// remains in the keychain but is no longer used, and the inner result is the keychain's error.
    pub(crate) fn forget(&self, origin: &str) -> Result<Result<(), KeychainError>, Failure> {
        let previous = self.set(origin, None)?;
        Ok(remove_from_keychain(origin, previous))
    }
}

fn remove_from_keychain(origin: &str, previous: Option<Entry>) -> Result<(), KeychainError> {
    match previous {
        Some(entry) if entry.store == StoreKind::Keychain => keychain::delete(origin),
        _ => Ok(()),
    }
}

impl Stored {
    /// Returns the kind of storage.
    pub(crate) fn kind(self) -> StoreKind {
        match self {
            Self::Keychain => StoreKind::Keychain,
            Self::File | Self::FileBecause(_) => StoreKind::File,
        }
    }
}

/// Checks that the keychain can be used.
pub(crate) fn check_keychain() -> Result<(), KeychainError> {
    keychain::check()
}
