//! Test support: fixtures, fakes, and the conformance tests for stores and for rotators (drivers
//! that change the passwords of database users).
//!
//! The feature `testing` enables this module, so that stores in other crates can run the
//! conformance tests too.

#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "tests fail by panicking")]

pub mod conformance;
pub mod fixtures;
mod folder;
pub mod fuzz;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod rotator;
pub mod rotators;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod stuck;
pub mod targets;

use std::time::Duration;

pub use folder::folder;
pub use stuck::StuckStore;

use crate::store::{StoreOptions, Timeouts};

/// Returns store options with longer timeouts than in production, because tests run in parallel.
#[must_use]
pub fn patient() -> StoreOptions {
    let minute = Duration::from_mins(1);
    let timeouts = Timeouts { acquire: minute, read: minute, write: minute, ping: minute };
    StoreOptions { timeouts, ..StoreOptions::default() }
}
