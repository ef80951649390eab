//! Configuration, read from the command line, environment variables and a file.
//!
//! A flag overrides a variable, and a variable overrides the file. Secrets are not accepted on the
//! command line, where every user of the machine could read them.

mod arguments;
mod failure;
mod hidden;
mod layers;
mod plans;
mod root_key;
mod settings;
mod settings_table;
mod sign_in;
#[cfg(test)]
mod tests;
mod types;
mod values;

use std::ffi::OsString;

pub use self::arguments::DEV_USER;
pub use self::failure::{Exit, Failure};
pub use self::hidden::Hidden;
pub use self::root_key::printed as printed_root_key;
pub use self::types::{
    AcceptRestore, Backup, DatabaseAndKeys, DatabaseSettings, Dev, DevToken, Logs, MailSettings,
    Migrate, Restore, RootKeySettings, RootKeySource, ServiceSettings, Settings, SizeReport,
    TeamOwner, TlsFiles, TokenIssuer,
};

use self::layers::Layers;

/// Command to run, with its settings.
#[derive(Debug)]
pub enum Command {
    /// Run the service for development, with all its data in one directory.
    Dev(Box<Dev>),
    /// Sign a user token for the development service.
    DevToken(DevToken),
    /// Print a link that signs a browser in to the running development service.
    DevLink(DevToken),
    /// Run the service.
    Serve(Box<Settings>),
    /// Check whether `serve` would start.
    Check(Box<Settings>),
    /// Print the OpenAPI document.
    OpenApi,
    /// Verify all stored data.
    Doctor(DatabaseAndKeys),
    /// Print the sizes of the database.
    Sizes(SizeReport),
    /// Replace the root key.
    RotateRoot(DatabaseAndKeys),
    /// Request new project keys.
    RotateData(Migrate),
    /// Print the state of the encryption keys.
    KeyStatus(Migrate),
    /// Migrate the database schema to the current version.
    Migrate(Migrate),
    /// Copy a database.
    Backup(Backup),
    /// Replace a database with a backup.
    Restore(Restore),
    /// Return a restored database to service.
    AcceptRestore(AcceptRestore),
    /// Give a team an owner.
    TeamOwner(TeamOwner),
    /// Print this help or version text.
    Print(String),
}

/// Configuration that was read: the command and the unknown variables.
#[derive(Debug)]
pub struct Configured {
    /// Command to run, with its settings.
    pub command: Command,
    /// Environment variables that begin with `SECRETS_` but are not settings of this version:
    /// misspelled names, or settings of another version. The program logs a warning for each.
    pub unknown: Vec<String>,
}

/// Reads the configuration from the arguments and environment variables of this process, and from
/// the configuration file.
pub fn read() -> Result<Configured, Failure> {
    read_from(std::env::args_os().collect(), std::env::vars_os().collect())
}

/// Reads the configuration from the given arguments (program name first) and environment variables,
/// and from the configuration file.
pub fn read_from(
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
) -> Result<Configured, Failure> {
    let given = match arguments::parse(arguments)? {
        arguments::Parsed::Given(given) => given,
        arguments::Parsed::Complete(command) => {
            return Ok(Configured { command, unknown: Vec::new() });
        }
    };
    let (variables, unknown) = layers::split_variables(variables);
    let layers = Layers::new(&given.flags, variables, given.file.as_deref());
    match layers.and_then(|layers| settings::command(given, &layers)) {
        Ok(command) => Ok(Configured { command, unknown }),
        Err(failure) => Err(after_unknown(&unknown, failure)),
    }
}

/// Returns the warning for an environment variable that begins with `SECRETS_` but is not a
/// setting.
#[must_use]
pub fn describe_unknown(variable: &str) -> String {
    let hint = layers::similar(variable);
    let hint = hint.map(|hint| format!(": did you mean {hint}?")).unwrap_or_default();
    format!("{variable} is not a setting of this version{hint}")
}

/// Adds warnings about unknown environment variables before the message of a failure, because a
/// misspelled variable may be the cause of the failure.
fn after_unknown(unknown: &[String], failure: Failure) -> Failure {
    let lines = unknown.iter().map(|variable| describe_unknown(variable));
    let lines: Vec<_> = lines.chain([failure.message]).collect();
    Failure { message: lines.join("\n"), ..failure }
}
