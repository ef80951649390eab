//! Text formats for importing and exporting secrets. The same code runs in the service, in browsers
//! and in Python.
//!
//! Text that is written can be read back as exactly the same values, by every common reader of the
//! format. A key or value that a format cannot represent is an error that names the key and the
//! rule. The service never writes text that breaks when a shell sources it, or that another reader
//! understands differently.

mod documents;
pub mod dotenv;
mod form;
mod kubernetes;
mod lines;
mod table;

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

pub use documents::{BadDocument, parse_json, parse_yaml};
pub use form::Form;
pub use kubernetes::ObjectName;

use crate::crypto::Plaintext;
use crate::model::SecretKey;

/// Text format in which secrets are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.env` file that common readers and a POSIX shell read alike.
    Dotenv,
    /// File for `docker run --env-file`: unquoted values, one per line.
    Docker,
    /// `export` commands for a POSIX shell.
    Shell,
    /// JSON object (RFC 8259).
    Json,
    /// YAML mapping that YAML 1.1 and 1.2 readers read alike.
    Yaml,
    /// CSV with two columns, `key` and `value` (RFC 4180).
    Csv,
    /// Manifest of a Kubernetes Secret.
    Kubernetes,
}

/// Secret that a format cannot represent. Never contains a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Secret key; `None` if the problem concerns all secrets together.
    pub key: Option<SecretKey>,
    /// Rule of the format that the secret violates.
    pub rule: &'static str,
}

/// Function that writes one secret key and value, or returns the rule of the format that the key or
/// value violates.
type WriteOne = fn(&mut String, &str, &str) -> Result<(), &'static str>;

/// Maximum number of secrets in one error report.
const MAX_UNFIT_KEYS: usize = 100;

impl Format {
    /// All text formats in which secrets can be written.
    pub const ALL: [Self; 7] = [
        Self::Dotenv,
        Self::Docker,
        Self::Shell,
        Self::Json,
        Self::Yaml,
        Self::Csv,
        Self::Kubernetes,
    ];

    /// Returns the name of the format, as used in requests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dotenv => "dotenv",
            Self::Docker => "docker",
            Self::Shell => "shell",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Csv => "csv",
            Self::Kubernetes => "k8s",
        }
    }

    /// Writes the secrets as text. `name` is the name of a Kubernetes Secret; other formats ignore
    /// it.
    ///
    /// # Errors
    ///
    /// Returns the keys, at most 100, whose name or value cannot be represented in the format.
    pub fn write(
        self,
        secrets: &[(SecretKey, Plaintext)],
        name: &ObjectName,
    ) -> Result<Zeroizing<String>, Vec<Unfit>> {
        let text = match self {
            Self::Dotenv => write_each(secrets, dotenv::write)?,
            Self::Docker => write_each(secrets, lines::docker)?,
            Self::Shell => write_each(secrets, lines::shell)?,
            Self::Json => documents::json(secrets),
            Self::Yaml if secrets.is_empty() => "{}\n".to_owned(),
            Self::Yaml => write_each(secrets, documents::yaml)?,
            Self::Csv => table::csv(secrets),
            Self::Kubernetes => kubernetes::manifest(secrets, name)?,
        };
        Ok(Zeroizing::new(text))
    }
}

fn write_each(secrets: &[(SecretKey, Plaintext)], write: WriteOne) -> Result<String, Vec<Unfit>> {
    let mut text = String::with_capacity(room(secrets));
    let mut unfit = Vec::new();
    for (key, value) in secrets {
        if let Err(rule) = write(&mut text, key.as_str(), value.reveal()) {
            unfit.push(Unfit { key: Some(key.clone()), rule });
        }
    }
    if unfit.is_empty() {
        return Ok(text);
    }
    // The text written so far contains values, so wipe it.
    drop(Zeroizing::new(text));
    unfit.truncate(MAX_UNFIT_KEYS);
    Err(unfit)
}

/// Returns a size in bytes that the output does not exceed (Kubernetes: the output without its
/// metadata), to allocate the buffer once. If the buffer grew during writing, copies of values
/// would remain in freed memory. The libraries for shell quotes and CSV have buffers of their own,
/// which are not wiped.
fn room(secrets: &[(SecretKey, Plaintext)]) -> usize {
    let size = |(key, value): &(SecretKey, Plaintext)| {
        let escaped = value.reveal().chars().filter(|&c| is_escaped(c)).count();
        key.as_str().len() + 2 * value.reveal().len() + MAX_ESCAPED * escaped + 32
    };
    secrets.iter().map(size).sum()
}

/// Maximum length of an escaped character, such as `\U0001f511` in YAML, in bytes.
const MAX_ESCAPED: usize = 10;

/// True if a format may write the character with more than twice as many bytes as UTF-8 needs.
fn is_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '\'' | '^' | '\\') || !(c.is_ascii() || c.is_alphanumeric())
}

/// Names of variables that a shell sets itself or that are read-only: assigning one either stops
/// the script that sources the file, or has no effect.
const SHELL_VARIABLES: [&str; 24] = [
    "BASHOPTS",
    "BASHPID",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "BASH_SUBSHELL",
    "BASH_VERSINFO",
    "COLUMNS",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "LINES",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SRANDOM",
    "UID",
    "_",
];

/// Fails if a secret key is not a valid name of a shell variable, or is reserved by the shell. The
/// error is the violated rule.
fn is_variable(key: &str) -> Result<(), &'static str> {
    if SHELL_VARIABLES.contains(&key) {
        return Err("must not be a variable that shells set themselves, in this format");
    }
    if key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(());
    }
    Err("must be letters, digits and underscores in this format: no dots and no hyphens")
}

/// Returns a text without the byte order mark with which some editors begin a file.
fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|format| format.as_str() == text);
        known.ok_or("must be dotenv, docker, shell, json, yaml, csv or k8s")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
