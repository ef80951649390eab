//! What the operator wants: the command line, the environment and a file, read in one place.
//!
//! A flag goes before a variable, a variable before the file. Nothing secret is taken from the
//! command line, where every user of the machine could read it.

mod arguments;
mod bundle;
mod failure;
mod known;
mod layers;
mod plans;
mod settings;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;

pub use self::bundle::{Bundle, BundleOpening, UnlockFile};
pub use self::failure::{Exit, Failure};
pub use self::settings::{
    Database, Dev, DevToken, Doctor, Hidden, Logs, MailSettings, Migrate, ServiceSettings,
    Settings, TlsFiles, TokenIssuer,
};

use self::layers::Layers;

/// What to do.
#[derive(Debug)]
pub enum Command {
    /// Run everything from one folder, for development.
    Dev(Box<Dev>),
    /// Sign a token for the development service.
    DevToken(DevToken),
    /// Serve.
    Serve(Box<Settings>),
    /// Say whether `serve` would start.
    Check(Box<Settings>),
    /// Print the document of the interface.
    OpenApi,
    /// Look at everything that is stored.
    Doctor(Doctor),
    /// Bring the database up to date.
    Migrate(Migrate),
    /// Open a bundle, or make keys for some.
    Bundle(Box<Bundle>),
    /// Print this text, which was asked for: the help or the version.
    Print(String),
}

/// The outcome of reading the configuration.
#[derive(Debug)]
pub struct Configured {
    /// What to do.
    pub command: Command,
    /// Variables that begin with `SECRETS_` and mean nothing to this version: typing errors, or
    /// what another version offers. Worth a warning.
    pub unknown: Vec<String>,
}

/// Reads the configuration of this process.
pub fn read() -> Result<Configured, Failure> {
    read_from(std::env::args_os().collect(), std::env::vars_os().collect())
}

/// Reads a configuration from these arguments, the program's name first, and these variables.
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
    let (layers, unknown) = Layers::new(&given.flags, variables, given.file.as_deref())?;
    let command = settings::command(given, &layers)?;
    Ok(Configured { command, unknown })
}
