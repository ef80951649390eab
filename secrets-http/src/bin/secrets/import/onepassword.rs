//! Reader for the output of `op item get ITEM --format json`, a command of 1Password.

use serde::Deserialize;

use super::{Entry, Found, json};

#[derive(Deserialize)]
struct Item {
    fields: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    id: String,
    label: Option<String>,
    value: Option<String>,
}

/// Reads the fields of a 1Password item; their labels, or else their IDs, become the names of the
/// secrets. Fields without a value are skipped.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let Item { fields } = json(text, "one item with a list of `fields`")?;
    let mut found = Found::default();
    let mut empty = Vec::new();
    for field in fields {
        let label = field.label.filter(|label| !label.is_empty()).unwrap_or(field.id);
        match field.value {
            Some(value) => found.entries.push(Entry::text(label, value)),
            None => empty.push(label),
        }
    }
    found.note_skipped(&empty, "fields without a value");
    Ok(found)
}
