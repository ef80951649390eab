//! How the program ends when it cannot go on.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

/// Why the program ended, as its exit code says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The command line is wrong.
    Usage = 64,
    /// Stored data was changed by somebody else (`E_TAMPERED`), or a bundle is not to be trusted.
    Tampered = 65,
    /// There is data and no key for it (`E_ORPHAN_DATA`).
    OrphanData = 66,
    /// The database cannot be used.
    Database = 69,
    /// The address to listen on is taken, or not ours.
    Address = 73,
    /// The root key is not the one of this data (`E_ROOT_KEY`), or what opens a bundle is another.
    RootKey = 77,
    /// The configuration is wrong.
    Configuration = 78,
}

/// A reason to end, in one line for the operator. It never holds a value of the configuration.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub code: Exit,
    /// The reason.
    pub message: String,
}

impl Failure {
    /// A reason of this kind.
    pub fn new(code: Exit, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Exit::Configuration, message)
    }

    /// Says so on standard error; returns what `main` is to return.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        // If nobody listens, the code remains.
        let _ = writeln!(std::io::stderr(), "secrets-http: {self}");
        ExitCode::from(self.code as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
