//! Test support: fixtures, fakes, and the conformance tests for stores and rotators.
//!
//! Behind the feature `testing`, so that stores implemented in other crates can run the conformance
//! tests too.

#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "tests fail by panicking")]

pub mod conformance;
pub mod fixtures;
mod folder;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod rotator;
pub mod rotators;

pub use folder::folder;
