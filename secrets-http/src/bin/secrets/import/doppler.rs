//! Reader for the output of `doppler secrets download --no-file --format json`.

use secrets_core::formats::Form;

use super::{Found, by_core};

/// Names that Doppler adds to every download. They are not secrets of the user.
const ADDED: [&str; 3] = ["DOPPLER_CONFIG", "DOPPLER_ENVIRONMENT", "DOPPLER_PROJECT"];

/// Reads the JSON object that Doppler exports, without the names that Doppler adds.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let mut found = by_core(Form::Json, text)?;
    let is_added = |name: &str| ADDED.contains(&name);
    let skipped: Vec<_> = found.entries.extract_if(.., |entry| is_added(&entry.name)).collect();
    let names: Vec<_> = skipped.into_iter().map(|entry| entry.name).collect();
    found.note_skipped(&names, "variables of Doppler itself");
    Ok(found)
}
