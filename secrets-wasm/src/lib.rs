//! The module for JavaScript. This crate only translates: what it does is secrets-core's.
//!
//! Without the features it opens bundles and records and nothing else, which is small enough for a
//! page. `formats` adds those in which secrets come and go, `full` the whole core.

mod arguments;
pub mod bundle;
mod clock;
mod failure;
#[cfg(feature = "formats")]
pub mod formats;
mod json;
pub mod record;
#[cfg(feature = "full")]
pub mod scan;
#[cfg(feature = "full")]
pub mod service;
#[cfg(feature = "full")]
pub mod webhook;
