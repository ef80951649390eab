//! Reading secrets from files, and from exports of other secrets managers.
//!
//! Dotenv, JSON and YAML are read by `secrets_core::formats`, as in the service. Each other format
//! has a file in this module. The user exports secrets from another secrets manager with that
//! manager's own program, so that its credentials never pass through this program.

mod bws;
mod csv;
mod detect;
mod docker;
mod doppler;
mod infisical;
mod keyenv;
mod kubernetes;
mod onepassword;
mod shell;
mod sops;
mod vault;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use clap::ValueEnum;
use secrets_core::crypto::Plaintext;
use secrets_core::formats::Form;
use secrets_core::model::Error;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::failure::{Exit, Failure};

/// Maximum size of an imported file, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Format of a file, or program that has written the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Source {
    /// Format that the name and the content of the file indicate.
    #[default]
    Auto,
    /// `.env` file.
    Dotenv,
    /// JSON object whose values are strings.
    Json,
    /// YAML mapping whose values are strings.
    Yaml,
    /// CSV with the columns `key`, `value` and optionally `description`.
    Csv,
    /// File for `docker run --env-file`.
    Docker,
    /// `export KEY=value` lines for a POSIX shell.
    Shell,
    /// Manifest of a Kubernetes Secret.
    #[value(name = "k8s")]
    Kubernetes,
    /// Output of `vault kv get -format=json PATH`.
    Vault,
    /// Output of `doppler secrets download --no-file --format json`.
    Doppler,
    /// Output of `infisical export --format json`.
    Infisical,
    /// Export with metadata of a `KeyEnv` service, or of this service.
    Keyenv,
    /// Output of `phase secrets export --format json`.
    Phase,
    /// Output of `bws secret list`.
    Bws,
    /// Output of `op item get ITEM --format json`.
    #[value(name = "1password")]
    OnePassword,
    /// Output of `sops -d FILE`, as JSON, YAML or dotenv.
    Sops,
}

/// Options for reading that apply to some of the formats.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadOptions {
    /// True to convert numbers and booleans to text.
    pub(crate) stringify: bool,
    /// True to include inherited secrets.
    pub(crate) flatten: bool,
}

/// Secrets found in a file.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Entries in the order of the file.
    pub(crate) entries: Vec<Entry>,
    /// Messages about parts of the file that were skipped.
    pub(crate) notes: Vec<String>,
}

/// Secret in a file.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Name of the secret in the file. It need not be a valid secret key.
    pub(crate) name: String,
    /// Value of the secret, or the rule that the value violates.
    pub(crate) value: Result<Plaintext, String>,
    /// Description of the secret, if there is one.
    pub(crate) description: Option<String>,
}

/// Reads the secrets in a file, or in standard input for the path `-`.
pub(crate) fn read_file(
    path: &Path,
    source: Source,
    options: ReadOptions,
) -> Result<Found, Failure> {
    let text = read_text(path)?;
    let source = if source == Source::Auto { detect::source(path, &text) } else { source };
    let read = source.read(&text, path, options);
    let mut found = read.map_err(|rule| {
        let name = source.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned());
        Failure::new(Exit::Data, format!("{}: read as {name}: {rule}", path.display()))
    })?;
    found.refuse_duplicates();
    Ok(found)
}

fn read_text(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let failed = |exit, reason: &str| Failure::new(exit, format!("{}: {reason}", path.display()));
    let mut bytes = Zeroizing::new(Vec::new());
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    let length = read.map_err(|error| failed(Exit::NoInput, &error.to_string()))?;
    if u64::try_from(length).is_ok_and(|length| length > MAX_BYTES) {
        return Err(failed(Exit::Data, &format!("must have at most {MAX_BYTES} bytes")));
    }
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| failed(Exit::Data, "must be text in UTF-8"))?;
    // Some editors begin a file with a byte order mark.
    Ok(Zeroizing::new(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned()))
}

impl Source {
    fn read(self, text: &str, path: &Path, options: ReadOptions) -> Result<Found, String> {
        match self {
            Self::Auto => detect::source(path, text).read(text, path, options),
            Self::Dotenv => by_core(Form::Dotenv, text),
            Self::Json | Self::Phase => by_core(Form::Json, text),
            Self::Yaml => by_core(Form::Yaml, text),
            Self::Csv => csv::read(text),
            Self::Docker => docker::read(text),
            Self::Shell => shell::read(text),
            Self::Kubernetes => kubernetes::read(text),
            Self::Vault => vault::read(text, options),
            Self::Doppler => doppler::read(text),
            Self::Infisical => infisical::read(text),
            Self::Keyenv => keyenv::read(text, options),
            Self::Bws => bws::read(text),
            Self::OnePassword => onepassword::read(text),
            Self::Sops => sops::read(text),
        }
    }
}

impl Found {
    /// Marks an entry as invalid if an earlier entry has the same name.
    fn refuse_duplicates(&mut self) {
        let mut names = BTreeSet::new();
        for entry in &mut self.entries {
            if !names.insert(entry.name.clone()) {
                entry.value = Err("must appear only once in the file".to_owned());
            }
        }
    }

    /// Adds a message that these entries were skipped for a reason. Adds nothing if `names` is
    /// empty.
    fn note_skipped(&mut self, names: &[String], reason: &str) {
        if !names.is_empty() {
            self.notes.push(format!("skipped {reason}: {}", names.join(", ")));
        }
    }
}

impl Entry {
    /// Creates an entry whose value is a string.
    fn text(name: impl Into<String>, value: impl Into<String>) -> Self {
        let value = Plaintext::new(value.into()).map_err(|rule| format!("the value {rule}"));
        Self { name: name.into(), value, description: None }
    }

    /// Creates an entry from a JSON value. The value must be a string; with `stringify`, numbers
    /// and booleans are converted to text.
    fn json(name: &str, value: &Value, stringify: bool) -> Self {
        match value {
            Value::String(text) => Self::text(name, text),
            Value::Number(_) | Value::Bool(_) if stringify => Self::text(name, value.to_string()),
            _ => {
                let rule = "the value must be a text; --stringify converts numbers and booleans";
                Self { name: name.to_owned(), value: Err(rule.to_owned()), description: None }
            }
        }
    }

    /// Sets the description of the entry, unless `description` is absent or empty.
    fn described(mut self, description: Option<String>) -> Self {
        self.description = description.filter(|text| !text.trim().is_empty());
        self
    }
}

/// Parses text in a format that the service also reads, with the parser of `secrets-core`.
fn by_core(form: Form, text: &str) -> Result<Found, String> {
    let secrets = form.read(text, "file").map_err(|error| match error {
        Error::Invalid(fields) => {
            let line = |field: &secrets_core::model::FieldError| match &field.key {
                Some(key) => format!("{key}: {}", field.message),
                None if field.field == "file" => field.message.to_string(),
                None => format!("{}: {}", field.field, field.message),
            };
            fields.iter().map(line).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    })?;
    let entry = |(key, value): (secrets_core::model::SecretKey, Plaintext)| Entry {
        name: key.to_string(),
        value: Ok(value),
        description: None,
    };
    Ok(Found { entries: secrets.into_iter().map(entry).collect(), notes: Vec::new() })
}

/// Parses a JSON document. The error message contains a position, and no part of the document.
/// `shape` describes the expected structure.
fn json<T: DeserializeOwned>(text: &str, shape: &str) -> Result<T, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("line {}: must be {shape}", error.line().max(1)))
}
