//! Conversion of database errors to [`StoreError`], whose messages contain no bound or stored
//! values.

use std::fmt;
use std::io;

use sqlx::Error;
use sqlx::error::DatabaseError;
use sqlx::migrate::MigrateError;

use crate::model::Cause;
use crate::store::StoreError;

/// Maximum length of a database error code in bytes: an SQLSTATE, or an SQLite result code.
const MAX_CODE: usize = 5;

/// Maximum length of the name of a table or constraint in bytes, which is the limit of PostgreSQL.
const MAX_NAME: usize = 63;

/// Error message that this library has written. It replaces the message of the database, which may
/// contain bound values. If the database could not be opened or migrated, the message of the
/// database or of another library is the source of this error. Show the source to operators only: a
/// database server can put any text into it.
#[derive(Debug)]
pub struct Failure {
    text: String,
    source: Option<Cause>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.source.as_ref()?;
        Some(source.as_ref())
    }
}

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
        Error::Configuration(_) => broken("the settings of the connection are invalid"),
        Error::RowNotFound => broken("the statement returned no row"),
        Error::Encode(_) => broken("a value could not be encoded"),
        Error::Protocol(_) => broken("unexpected response from the database"),
        _ => broken("the statement failed"),
    }
}

/// Converts an error of opening a database. No value has been bound at that time, so operators may
/// see the message of the database, which is the source of the [`Failure`].
pub(super) fn not_opened(error: Error, passes: fn(&str) -> bool) -> StoreError {
    let database = error.as_database_error();
    // The text of the error itself ends with a line of the database server's source.
    let message = database.map_or_else(|| error.to_string(), |error| error.message().to_owned());
    // Names of tables and constraints are not shown, because this may be another server.
    let code = database.map(|error| with_code(&error.code().unwrap_or_default()));
    let error = match (failed(error, passes), code) {
        (StoreError::Unavailable(_), Some(text)) => unavailable(text),
        (StoreError::Corrupt(_), Some(text)) => broken(text),
        (error, _) => error,
    };
    with_source("cannot open the database", error, message)
}

/// Converts an error of migrating the tables. The message of the database is the source of the
/// [`Failure`].
pub(super) fn not_migrated(error: MigrateError, passes: fn(&str) -> bool) -> StoreError {
    let message = error.to_string();
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            with_source("cannot migrate the database", failed(error, passes), message)
        }
        // The message has only the numbers of migrations.
        _ => broken(format!("cannot migrate the database: {message}")),
    }
}

/// Adds the failed action and the message of the database to an error.
fn with_source(action: &str, error: StoreError, message: String) -> StoreError {
    let failure = |cause: &(dyn std::error::Error + Send + Sync + 'static)| {
        let kind = cause.downcast_ref::<io::Error>().map(|error| error.kind().to_string());
        let kind = kind.unwrap_or_else(|| cause.to_string());
        Box::new(Failure { text: format!("{action}: {kind}"), source: Some(message.into()) })
    };
    match error {
        StoreError::Unavailable(cause) => StoreError::Unavailable(failure(cause.as_ref())),
        StoreError::Corrupt(cause) => StoreError::Corrupt(failure(cause.as_ref())),
        other => other,
    }
}

/// Creates a [`StoreError::Unavailable`] with this error message.
pub(super) fn unavailable(text: impl Into<String>) -> StoreError {
    StoreError::Unavailable(Box::new(Failure { text: text.into(), source: None }))
}

/// Creates a [`StoreError::Corrupt`] with this error message.
pub(super) fn broken(text: impl Into<String>) -> StoreError {
    StoreError::Corrupt(Box::new(Failure { text: text.into(), source: None }))
}

fn describe(error: &dyn DatabaseError, code: &str) -> String {
    let named = |what: &str, name: Option<&str>| {
        let name = name.filter(|name| is_name(name));
        name.map(|name| format!(", {what} {name}")).unwrap_or_default()
    };
    let (table, constraint) =
        (named("table", error.table()), named("constraint", error.constraint()));
    format!("{}{table}{constraint}", with_code(code))
}

fn with_code(code: &str) -> String {
    let code = if code.len() <= MAX_CODE && is_name(code) { code } else { "unknown" };
    format!("the database returned error {code}")
}

/// True if the string has the form of the table and constraint names of this library. A database
/// server can return any text as a name.
fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_another_library_is_only_the_source() {
        let said = io::Error::new(io::ErrorKind::ConnectionRefused, "said by a server");

        let error = not_opened(Error::Io(said), |_| false);

        let StoreError::Unavailable(cause) = error else { panic!("{error:?}") };
        assert_eq!(cause.to_string(), "cannot open the database: connection refused");
        let source = std::error::Error::source(cause.as_ref()).unwrap().to_string();
        assert!(source.contains("said by a server"), "{source}");
    }

    #[test]
    fn only_names_are_repeated() {
        for (text, expected) in [
            ("secrets_environment_id_fkey", true),
            ("28P01", true),
            ("", false),
            ("two words", false),
            ("postgres://user:password@host", false),
            ("\u{1b}[2J", false),
        ] {
            assert_eq!(is_name(text), expected, "{text:?}");
        }
        assert!(!is_name(&"a".repeat(MAX_NAME + 1)));
    }
}
