//! Functions of the fuzz targets, like those in [`secrets_core::testing::fuzz`].

mod client_address;
mod config;
mod request;
mod target;

pub use client_address::forwarded_for;
pub use config::config;
pub use request::request;
use secrets_core::testing::fuzz::FuzzTarget;
pub use target::{path, query};

/// Fuzz targets of this crate.
pub const TARGETS: &[FuzzTarget] = &[
    ("config", config),
    ("forwarded_for", forwarded_for),
    ("path", path),
    ("query", query),
    ("request", request),
];
