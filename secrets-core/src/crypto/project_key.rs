//! Project keys, which encrypt the records of a project.

use std::fmt;

use super::Undecryptable;
use super::cipher::Cipher;
use super::key::Key;
use crate::model::ProjectId;

/// Stored record of a project key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectKeyRecord {
    /// Project ID.
    pub project: ProjectId,
    /// Version of the project key. Each encrypted record names this version in its header.
    pub version: u32,
    /// ID of the instance key that wrapped this key.
    pub kek_id: u32,
    /// Project key, wrapped (encrypted) by the instance key. Empty if the key was destroyed.
    pub wrapped: Vec<u8>,
}

impl ProjectKeyRecord {
    /// True if the key was destroyed, which is the first step of the purge of its project. Records
    /// that are encrypted with a destroyed key cannot be decrypted any more.
    #[must_use]
    pub fn is_destroyed(&self) -> bool {
        self.wrapped.is_empty()
    }
}

/// Error from unwrapping a project key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectKeyError {
    /// The key was destroyed by the purge of its project.
    Destroyed,
    /// The key cannot be decrypted: it was changed or moved.
    Undecryptable,
}

/// An unwrapped project key, which encrypts and decrypts the project's records.
pub struct ProjectKey {
    pub(super) version: u32,
    pub(super) cipher: Cipher,
}

impl ProjectKey {
    /// Creates a project key from its bytes, for decrypting records without a service.
    #[must_use]
    pub fn new(key: &Key, version: u32) -> Self {
        Self { version, cipher: Cipher::new(key) }
    }

    /// Returns the version of the project key.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }
}

impl fmt::Display for ProjectKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Destroyed => {
                f.write_str("the project key was destroyed by the purge of its project")
            }
            Self::Undecryptable => Undecryptable.fmt(f),
        }
    }
}

impl std::error::Error for ProjectKeyError {}
