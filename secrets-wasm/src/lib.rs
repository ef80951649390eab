//! The module for JavaScript. This crate only translates: what it does is secrets-core's.
//!
//! Without the features it opens bundles and records and nothing else, which is small enough for a
//! page. The features add the rest; `full` is all of it.

mod arguments;
pub mod bundle;
mod clock;
mod failure;
#[cfg(feature = "formats")]
pub mod formats;
mod json;
pub mod record;
#[cfg(feature = "scan")]
pub mod scan;
#[cfg(feature = "service")]
pub mod service;
#[cfg(feature = "webhook")]
pub mod webhook;
