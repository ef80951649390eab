//! What tests are made of: a small world to test in, and the rules every store passes.
//!
//! Behind the feature `testing`, so that a store elsewhere can prove itself as well.

#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test stops where it fails")]

pub mod conformance;
pub mod fixtures;
mod folder;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod rotator;
pub mod rotators;

pub use folder::folder;
