//! Stores on SQL databases: SQLite and PostgreSQL.
//!
//! The table code is written once, in `tables`, against a type alias `Db`, and compiled once per
//! database: the modules `sqlite` and `postgres` include it and add their own constants and setup.
//! The SQL uses only what both databases support: `$n`, `RETURNING`, `ON CONFLICT`, `WITH
//! RECURSIVE`. Times are bound as parameters, lists are built as text, and a row is locked by
//! updating it, except where several rows are locked in one order (`LOCK_ROWS`).

mod cache;
mod error;
mod migrations;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use error::Failure;
#[cfg(feature = "testing")]
pub(crate) use migrations::fingerprint;

/// Number of connections for queries of the audit log.
const AUDIT_READERS: u32 = 1;

/// Number of connections for health checks and for queries for changes of cached records.
const RESERVED: u32 = 2;

/// Returns the string if it can be used as a search value. Returns `None` if it contains NUL:
/// PostgreSQL strings cannot contain NUL, so no row would match.
fn findable(text: &str) -> Option<&str> {
    (!text.contains('\0')).then_some(text)
}
