//! Fatal errors of the program `secrets-http`, with their exit codes.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

/// Exit code of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Invalid command line.
    Usage = 64,
    /// Stored data was modified outside the service.
    Tampered = 65,
    /// The database holds data, but the keys to decrypt it are missing.
    OrphanData = 66,
    /// The database was replaced by an earlier state of it, or is not the database to which the
    /// copy of the epoch belongs.
    RolledBack = 67,
    /// The database is unavailable or unusable.
    Database = 69,
    /// The listen address is in use, or is not an address of this machine.
    Address = 73,
    /// The root key cannot be obtained or used now, for example because its key service does not
    /// answer.
    RootKeyUnavailable = 75,
    /// The root key does not match the stored data.
    RootKey = 77,
    /// Invalid configuration.
    Configuration = 78,
}

/// Error that ends the program, with a message for the operator. The message is one line, or one
/// line for each missing or unknown setting. It never contains the value of a setting.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// Exit code.
    pub code: Exit,
    /// Message for the operator.
    pub message: String,
}

impl Failure {
    /// Creates a failure with this exit code and message.
    pub fn new(code: Exit, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Exit::Configuration, message)
    }

    /// Writes the message to standard error and returns the exit code for `main`.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        // If standard error is closed, the exit code still reports the failure.
        let mut stderr = std::io::stderr();
        for line in self.message.lines() {
            let _ = writeln!(stderr, "secrets-http: {line}");
        }
        ExitCode::from(self.code as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
