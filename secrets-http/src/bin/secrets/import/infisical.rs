//! Reader for the output of `infisical export --format json`.

use serde::Deserialize;

use super::{Entry, Found, json};

#[derive(Deserialize)]
struct Secret {
    key: String,
    value: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    comment: Option<String>,
}

/// Reads the list of secrets in an export of Infisical. Personal overrides are skipped, because
/// they apply to one user only.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let secrets: Vec<Secret> = json(text, "a list of objects with the texts `key` and `value`")?;
    let (personal, shared): (Vec<_>, Vec<_>) =
        secrets.into_iter().partition(|secret| secret.kind.as_deref() == Some("personal"));
    let entry = |secret: Secret| Entry::text(secret.key, secret.value).described(secret.comment);
    let mut found = Found { entries: shared.into_iter().map(entry).collect(), notes: Vec::new() };
    let names: Vec<_> = personal.into_iter().map(|secret| secret.key).collect();
    found.note_skipped(&names, "personal overrides");
    Ok(found)
}
