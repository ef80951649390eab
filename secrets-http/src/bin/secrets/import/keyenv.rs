//! Reader for an export, with metadata, of a `KeyEnv` service. This service exports in the same
//! format.

use serde::Deserialize;

use super::{Entry, Found, ReadOptions, json};

#[derive(Deserialize)]
struct Document {
    #[serde(alias = "data")]
    secrets: Vec<Secret>,
}

#[derive(Deserialize)]
struct Secret {
    key: String,
    value: String,
    description: Option<String>,
    inherited_from: Option<String>,
}

/// Reads the list of secrets in the field `secrets` or `data` of an export with metadata. Inherited
/// secrets are skipped unless `options.flatten` is set.
pub(super) fn read(text: &str, options: ReadOptions) -> Result<Found, String> {
    let shape = "an object with a list of secrets under `secrets` or `data`";
    let Document { secrets } = json(text, shape)?;
    let (inherited, own): (Vec<_>, Vec<_>) =
        secrets.into_iter().partition(|secret| secret.inherited_from.is_some() && !options.flatten);
    let entry =
        |secret: Secret| Entry::text(secret.key, secret.value).described(secret.description);
    let mut found = Found { entries: own.into_iter().map(entry).collect(), notes: Vec::new() };
    let names: Vec<_> = inherited.into_iter().map(|secret| secret.key).collect();
    found.note_skipped(&names, "inherited secrets (--flatten includes them)");
    Ok(found)
}
