//! Stores over SQL databases.
//!
//! The tables are written once, in `tables`, over an alias `Db`, and compiled for each database by
//! the two modules here, which hold what is theirs alone. The text stays within what both
//! understand: `$n`, `RETURNING`, `ON CONFLICT`, `WITH RECURSIVE`; times are passed in, lists are
//! built, a row is locked by updating it.

mod error;
mod migrations;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(all(feature = "postgres", feature = "testing"))]
pub(crate) use migrations::fingerprint;

/// A text to look something up by. PostgreSQL keeps no NUL in a text, so nothing is found by one.
fn findable(text: &str) -> Option<&str> {
    (!text.contains('\0')).then_some(text)
}
