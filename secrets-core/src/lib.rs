//! The secrets service without a framework.
#![warn(missing_docs)]

pub mod access;
pub mod caller;
pub mod clock;
pub mod crypto;
pub mod error;
pub mod ids;
#[cfg(feature = "jwt")]
pub mod jwt;
pub mod limits;
pub mod names;
pub mod rule;
pub mod store;

pub use error::{Error, Result};
