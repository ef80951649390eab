//! WebAssembly module for JavaScript. This crate only translates between JavaScript and
//! secrets-core.
//!
//! Without features the module only opens bundles and records, and is small enough for a web page.
//! The features add the rest; `full` enables all of them.

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
