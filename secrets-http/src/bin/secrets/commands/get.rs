//! `get`: prints the values of secrets.

use std::io::IsTerminal as _;

use clap::Args;
use reqwest::Method;
use secrets_core::crypto::Plaintext;
use secrets_core::formats::Format;
use secrets_core::model::SecretKey;
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::export;
use crate::clipboard;
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::{Invocation, Place};
use crate::service::{Request, Service};

/// Options of the command `secrets get`.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Key of the secret; several keys print one document in the format of --format.
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<String>,
    /// Format for several keys [default: dotenv].
    #[arg(long, value_parser = export::format_parser())]
    format: Option<Format>,
    /// Copy the value to the clipboard; over SSH, to the clipboard of your terminal.
    #[arg(long, conflicts_with = "format")]
    copy: bool,
    /// Print the value of an earlier version.
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Print one field of a JSON value, such as `database.password` or `hosts.0`.
    #[arg(long, value_name = "PATH")]
    json_field: Option<String>,
}

#[derive(Deserialize)]
struct Response {
    secret: Secret,
}

#[derive(Deserialize)]
struct Secret {
    key: SecretKey,
    value: Plaintext,
    version: u32,
}

#[derive(Deserialize)]
struct History {
    history: Vec<HistoryEntry>,
}

#[derive(Deserialize)]
struct HistoryEntry {
    version: u32,
    value: Option<Plaintext>,
}

impl Get {
    /// Prints the values of the secrets, or copies a value to the clipboard.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let is_single = self.keys.len() == 1 && self.format.is_none();
        if !is_single && (self.copy || self.json_field.is_some()) {
            return Err(Failure::usage("--copy and --json-field need exactly one key"));
        }
        let service = cx.service()?;
        let place = cx.place(&service).await?;
        let mut secrets = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            secrets.push(self.load(&service, &place, key).await?);
        }
        match (secrets.pop(), is_single) {
            (Some(secret), true) => self.finish_one(cx, &secret)?,
            (last, _) => {
                secrets.extend(last);
                self.print_several(cx, secrets)?;
            }
        }
        Ok(Outcome::Done)
    }

    async fn load(&self, service: &Service, place: &Place, key: &str) -> Result<Secret, Failure> {
        if let Some(version) = self.version
            && let Some(value) = earlier_value(service, place, key, version).await?
        {
            let key = key.parse().map_err(|rule| invalid_key(key, &rule))?;
            return Ok(Secret { key, value, version });
        }
        let loaded = service.get(&place.path(&["secrets", key])).await;
        let Response { secret } = loaded.map_err(|failure| named(key, failure))?;
        match self.version {
            Some(version) if version != secret.version => {
                let message = format!("{key}: {place} holds no version {version} of this secret");
                Err(Failure::new(Exit::NotFound, message))
            }
            _ => Ok(secret),
        }
    }

    fn finish_one(&self, cx: &Invocation, secret: &Secret) -> Result<(), Failure> {
        let text = match &self.json_field {
            Some(path) => json_field(secret.value.reveal(), path)?,
            None => Zeroizing::new(secret.value.reveal().to_owned()),
        };
        if self.copy {
            clipboard::copy(cx, &text)?;
            cx.output.note(&format!("{}: copied to the clipboard", secret.key));
            return Ok(());
        }
        if cx.output.format.is_json() {
            let (key, version) = (secret.key.as_str(), secret.version);
            return cx.output.json(&json!({ "key": key, "value": *text, "version": version }));
        }
        cx.output.raw(text.as_bytes())?;
        if std::io::stdout().is_terminal() {
            cx.output.raw(b"\n")?;
        }
        Ok(())
    }

    fn print_several(&self, cx: &Invocation, secrets: Vec<Secret>) -> Result<(), Failure> {
        let in_json = cx.output.format.is_json();
        let default = if in_json { Format::Json } else { Format::Dotenv };
        let pairs: Vec<_> = secrets.into_iter().map(|secret| (secret.key, secret.value)).collect();
        let text = export::render(self.format.unwrap_or(default), &pairs, "secrets")?;
        cx.output.raw(text.as_bytes())
    }
}

/// Loads the value of an earlier version of a secret from its history. Returns `None` if the
/// history has no such version, for example because it is the current version.
async fn earlier_value(
    service: &Service,
    place: &Place,
    key: &str,
    version: u32,
) -> Result<Option<Plaintext>, Failure> {
    let request = Request::new(Method::GET, &place.path(&["secrets", key, "history"]))
        .query("values", "true")
        .query("before", version.saturating_add(1).to_string())
        .query("limit", "1");
    let History { history } = match service.send(request).await {
        Ok(response) => response.json()?,
        // An environment has no history of a secret that it inherits.
        Err(failure) if failure.exit == Exit::NotFound => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let found = history.into_iter().find(|entry| entry.version == version);
    match found.map(|entry| entry.value) {
        None => Ok(None),
        Some(Some(value)) => Ok(Some(value)),
        Some(None) => {
            let message = format!("{key}: the secret was hidden in version {version}");
            Err(Failure::new(Exit::NotFound, message))
        }
    }
}

/// Returns a field of a JSON value as text: the content of a string, or the JSON of another value.
fn json_field(text: &str, path: &str) -> Result<Zeroizing<String>, Failure> {
    let document: Value = serde_json::from_str(text)
        .map_err(|_| Failure::new(Exit::Data, "--json-field: the value is not JSON"))?;
    let field = path.split('.').try_fold(&document, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    });
    match field {
        Some(Value::String(text)) => Ok(Zeroizing::new(text.clone())),
        Some(other) => Ok(Zeroizing::new(other.to_string())),
        None => Err(Failure::new(
            Exit::NotFound,
            format!("--json-field: the value has no field {path}"),
        )),
    }
}

/// Adds the secret key to the message of a failure if the secret was not found, because several
/// secrets may be requested.
fn named(key: &str, mut failure: Failure) -> Failure {
    if failure.exit == Exit::NotFound {
        failure.message = format!("{key}: {}", failure.message);
    }
    failure
}

fn invalid_key(key: &str, rule: &secrets_core::model::Violation) -> Failure {
    Failure::usage(format!("{key}: the key {rule}"))
}
