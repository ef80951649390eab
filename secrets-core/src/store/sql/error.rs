//! What databases answer instead of rows, told without anything that was bound or stored.

use std::fmt;

use sqlx::Error;
use sqlx::error::DatabaseError;
use sqlx::migrate::MigrateError;

use crate::store::StoreError;

/// A failure in words of our own: those of a database quote what it was given.
#[derive(Debug)]
struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Sorts a failed statement; `passes` knows the codes of failures that may be over soon.
pub(super) fn failed(error: Error, passes: fn(&str) -> bool) -> StoreError {
    match error {
        Error::Io(cause) => StoreError::Unavailable(cause.into()),
        Error::Tls(_) => unavailable("no secure connection to the database"),
        Error::PoolTimedOut => unavailable("no connection to the database in time"),
        Error::PoolClosed | Error::WorkerCrashed => {
            unavailable("the connection to the database is closed")
        }
        Error::BeginFailed | Error::InvalidSavePointStatement => {
            unavailable("no transaction began")
        }
        Error::Database(error) => {
            let code = error.code().unwrap_or_default().into_owned();
            let text = describe(&*error, &code);
            if passes(&code) { unavailable(text) } else { broken(text) }
        }
        Error::RowNotFound => broken("no row where there is always one"),
        Error::Encode(_) => broken("a value could not be encoded"),
        Error::Protocol(_) => broken("the database speaks another protocol"),
        _ => broken("the statement failed"),
    }
}

/// Sorts a failure to open a database. Nothing was bound yet, so its own words are the best.
pub(super) fn not_opened(error: Error, passes: fn(&str) -> bool) -> StoreError {
    let text = format!("cannot open the database: {error}");
    match failed(error, passes) {
        StoreError::Unavailable(_) => unavailable(text),
        _ => broken(text),
    }
}

/// Sorts a failure to bring the tables up to date.
pub(super) fn not_migrated(error: MigrateError, passes: fn(&str) -> bool) -> StoreError {
    let text = format!("cannot bring the tables up to date: {error}");
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

/// The store cannot be reached, or has no room.
pub(super) fn unavailable(text: impl Into<String>) -> StoreError {
    StoreError::Unavailable(Box::new(Failure(text.into())))
}

/// The store holds what it should not, or does what it should not.
pub(super) fn broken(text: impl Into<String>) -> StoreError {
    StoreError::Broken(Box::new(Failure(text.into())))
}

fn describe(error: &dyn DatabaseError, code: &str) -> String {
    let named = |what: &str, name: Option<&str>| {
        name.map(|name| format!(", {what} {name}")).unwrap_or_default()
    };
    let (table, constraint) =
        (named("table", error.table()), named("constraint", error.constraint()));
    format!("the database answered {code}{table}{constraint}")
}
