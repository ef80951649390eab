//! Replacement of encryption keys.
//!
//! The root key encrypts the instance key, the instance key encrypts the key of each project, and a
//! project key encrypts the records of its project. [`rotate_root()`] replaces the root key.
//! [`request_project_keys`] requests a new key for every project: the worker [`PROJECT_KEYS`] then
//! creates the new keys and encrypts all records again.
//!
//! The worker [`EPOCH`] keeps a copy of the database's epoch, with which the service detects that
//! the database was replaced by a backup. After [`accept_restore`], the service can use such a
//! database again.

mod epoch;
mod rotate_data;
mod rotate_root;

pub use epoch::{AcceptedRestore, EPOCH, accept_restore, check_epoch};
pub use rotate_data::{
    KeyStatus, PROJECT_KEYS, replace_project_keys, request_project_keys, status,
};
pub use rotate_root::{RootRotation, rotate_root};
