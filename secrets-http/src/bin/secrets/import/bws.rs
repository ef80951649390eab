//! Reader for the output of `bws secret list`, a command of Bitwarden Secrets Manager.

use serde::Deserialize;

use super::{Entry, Found, json};

#[derive(Deserialize)]
struct Secret {
    key: String,
    value: String,
    note: Option<String>,
}

/// Reads the secrets in the output of `bws secret list`. A note becomes the description of a
/// secret.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let secrets: Vec<Secret> = json(text, "a list of objects with the texts `key` and `value`")?;
    let entry = |secret: Secret| Entry::text(secret.key, secret.value).described(secret.note);
    Ok(Found { entries: secrets.into_iter().map(entry).collect(), notes: Vec::new() })
}
