//! Conversion of database errors to [`StoreError`], whose messages contain no bound or stored
//! values.

use std::fmt;

use sqlx::Error;
use sqlx::error::DatabaseError;
use sqlx::migrate::MigrateError;

use crate::store::StoreError;

/// Error message that replaces the message of the database, which may contain bound values.
#[derive(Debug)]
struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Converts the error of a failed SQL statement. `passes` returns true for the error codes of
/// failures that may be temporary.
pub(super) fn failed(error: Error, passes: fn(&str) -> bool) -> StoreError {
    match error {
        Error::Io(cause) => StoreError::Unavailable(cause.into()),
        Error::Tls(_) => unavailable("no TLS connection to the database"),
        Error::PoolTimedOut => unavailable("timeout while waiting for a database connection"),
        Error::PoolClosed | Error::WorkerCrashed => {
            unavailable("the connection to the database is closed")
        }
        Error::BeginFailed | Error::InvalidSavePointStatement => {
            unavailable("the transaction could not be started")
        }
        Error::Database(error) => {
            let code = error.code().unwrap_or_default().into_owned();
            let text = describe(&*error, &code);
            if passes(&code) { unavailable(text) } else { broken(text) }
        }
        Error::RowNotFound => broken("the statement returned no row"),
        Error::Encode(_) => broken("a value could not be encoded"),
        Error::Protocol(_) => broken("unexpected response from the database"),
        _ => broken("the statement failed"),
    }
}

/// Converts an error of opening a database. No value has been bound at that time, so the message of
/// the database is safe to show.
pub(super) fn not_opened(error: Error, passes: fn(&str) -> bool) -> StoreError {
    // The text of the error itself ends with a line of the database server's source.
    let reason = error.as_database_error().map(|error| error.message().to_owned());
    let reason = reason.unwrap_or_else(|| error.to_string());
    let text = format!("cannot open the database: {reason}");
    match failed(error, passes) {
        StoreError::Unavailable(_) => unavailable(text),
        _ => broken(text),
    }
}

/// Converts an error of migrating the tables.
pub(super) fn not_migrated(error: MigrateError, passes: fn(&str) -> bool) -> StoreError {
    let text = format!("cannot migrate the database: {error}");
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            match failed(error, passes) {
                StoreError::Unavailable(_) => unavailable(text),
                _ => broken(text),
            }
        }
        _ => broken(text),
    }
}

/// Creates a [`StoreError::Unavailable`] with this error message.
pub(super) fn unavailable(text: impl Into<String>) -> StoreError {
    StoreError::Unavailable(Box::new(Failure(text.into())))
}

/// Creates a [`StoreError::Corrupt`] with this error message.
pub(super) fn broken(text: impl Into<String>) -> StoreError {
    StoreError::Corrupt(Box::new(Failure(text.into())))
}

fn describe(error: &dyn DatabaseError, code: &str) -> String {
    let named = |what: &str, name: Option<&str>| {
        name.map(|name| format!(", {what} {name}")).unwrap_or_default()
    };
    let (table, constraint) =
        (named("table", error.table()), named("constraint", error.constraint()));
    format!("the database returned error {code}{table}{constraint}")
}
