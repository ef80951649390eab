//! Replacement of encryption keys.
//!
//! The root key encrypts the instance key, which encrypts the key of each project, which encrypts the
//! project's records. [`rotate_root`] replaces the root key. [`request_project_keys`] requests new keys
//! for all projects: the worker [`PROJECT_KEYS`] adds them, and encrypts the records again.

mod rotate_data;
mod rotate_root;

pub use rotate_data::{
    KeyStatus, PROJECT_KEYS, replace_project_keys, request_project_keys, status,
};
pub use rotate_root::{RootRotation, rotate_root};
