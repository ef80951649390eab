//! Reader for CSV files (RFC 4180) with a header line.

use super::{Entry, Found};

/// Reads the columns `key`, `value` and `description` of a CSV file, in any order; other columns
/// are skipped.
pub(super) fn read(text: &str) -> Result<Found, String> {
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|_| "must have a header".to_owned())?.clone();
    let column = |name: &str| headers.iter().position(|header| header.trim() == name);
    let (Some(key), Some(value)) = (column("key"), column("value")) else {
        return Err("the first line must name the columns `key` and `value`".to_owned());
    };
    let description = column("description");
    let mut found = Found::default();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, ::csv::Position::line);
            format!("line {line}: must have as many fields as the first line, in UTF-8")
        })?;
        let field = |at: usize| record.get(at).unwrap_or_default();
        let entry = Entry::text(field(key), field(value));
        found.entries.push(entry.described(description.map(|at| field(at).to_owned())));
    }
    Ok(found)
}
