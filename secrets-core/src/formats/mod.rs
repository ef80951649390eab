//! Formats in which secrets come and go: the same here, in a browser and in Python.
//!
//! A text that is written is read back as exactly the values it was made of, by every reader the
//! format is for. What a format cannot carry is refused, by key and rule: a text that breaks where
//! it is sourced, or means something else to the next reader, is never written.

mod documents;
pub mod dotenv;
mod kubernetes;
mod lines;
mod table;
mod told;

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

pub use documents::{BadDocument, parse_json, parse_yaml};
pub use kubernetes::ObjectName;
pub use told::Form;

use crate::crypto::Plaintext;
use crate::model::SecretKey;

/// A format to write secrets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A `.env` file, which the common readers and a POSIX shell read alike.
    Dotenv,
    /// A file for `docker run --env-file`: bare values, one to a line.
    Docker,
    /// `export` commands for a POSIX shell.
    Shell,
    /// A JSON object (RFC 8259).
    Json,
    /// A YAML mapping, read alike by readers of YAML 1.1 and 1.2.
    Yaml,
    /// Two columns, `key` and `value` (RFC 4180).
    Csv,
    /// The manifest of a Kubernetes Secret.
    Kubernetes,
}

/// What a format cannot carry. Never holds a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Under which key; `None` where it is the secrets together.
    pub key: Option<SecretKey>,
    /// The rule that is broken.
    pub rule: &'static str,
}

/// Writes a key and its value, or names the rule that forbids it.
type WriteOne = fn(&mut String, &str, &str) -> Result<(), &'static str>;

/// The most refusals that are told at once.
const TOLD: usize = 100;

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Dotenv,
        Self::Docker,
        Self::Shell,
        Self::Json,
        Self::Yaml,
        Self::Csv,
        Self::Kubernetes,
    ];

    /// The name by which it is asked for.
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

    /// The text that holds these secrets. `name` is what a Kubernetes Secret is called.
    ///
    /// # Errors
    ///
    /// With every key (at most a hundred) that the format cannot carry, or whose value it cannot.
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
    // What was written so far holds values.
    drop(Zeroizing::new(text));
    unfit.truncate(TOLD);
    Err(unfit)
}

/// So much that a text seldom grows while it is written, which leaves copies behind.
fn room(secrets: &[(SecretKey, Plaintext)]) -> usize {
    secrets.iter().map(|(key, value)| key.as_str().len() + 2 * value.reveal().len() + 32).sum()
}

/// Variables that a shell does not let be set, or sets itself: assigning to them ends what sources
/// the file, or is forgotten.
const OF_THE_SHELL: [&str; 22] = [
    "BASHOPTS",
    "BASHPID",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "BASH_SUBSHELL",
    "BASH_VERSINFO",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SRANDOM",
    "UID",
    "_",
];

/// Whether a shell takes a key for a variable like any other.
fn is_variable(key: &str) -> Result<(), &'static str> {
    if OF_THE_SHELL.contains(&key) {
        return Err("must not be a variable that shells set themselves, in this format");
    }
    if key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(());
    }
    Err("must be letters, digits and underscores in this format: no dots and no hyphens")
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
