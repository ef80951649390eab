//! Reader for the files of `docker run --env-file`: `KEY=value` lines without quotes.

use super::{Entry, Found};

/// Reads `KEY=value` lines as Docker does: everything after the first `=` is the value.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let mut found = Found::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) =
            line.split_once('=').ok_or_else(|| format!("line {number}: must be KEY=value"))?;
        found.entries.push(Entry::text(name, value));
    }
    Ok(found)
}
