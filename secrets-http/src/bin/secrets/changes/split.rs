//! Division of many changes into sets that the service accepts.

use std::io;

use super::Change;
use crate::failure::{Exit, Failure};

/// Maximum number of changes in one set.
const MAX_CHANGES: usize = 1_000;
/// Maximum size of the changes of one set as JSON, in bytes: the limit of 16 MiB for a request
/// body, minus the JSON text around the changes.
const MAX_BYTES: usize = 16 * 1024 * 1024 - 64;

/// Divides the changes into consecutive sets that are as large as the limits allow, in the same
/// order. A change that is larger than `MAX_BYTES` is in a set of its own.
pub(super) fn parts(changes: &[Change]) -> Result<Vec<&[Change]>, Failure> {
    let (mut parts, mut start, mut size) = (Vec::new(), 0, 0);
    for (index, change) in changes.iter().enumerate() {
        let length = json_size(change)? + 1;
        if index - start == MAX_CHANGES || (size + length > MAX_BYTES && index > start) {
            parts.push(&changes[start..index]);
            (start, size) = (index, 0);
        }
        size += length;
    }
    if start < changes.len() {
        parts.push(&changes[start..]);
    }
    Ok(parts)
}

/// Returns the size of a change as JSON, in bytes.
fn json_size(change: &Change) -> Result<usize, Failure> {
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, change).map_err(|error| {
        Failure::new(Exit::Defect, format!("{}: cannot be written as JSON: {error}", change.key))
    })?;
    Ok(counter.0)
}

/// Writer that counts bytes and discards them.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use secrets_core::crypto::Plaintext;

    use super::*;
    use crate::changes::Action;

    fn set(number: usize, bytes: usize) -> Change {
        let value = Plaintext::new("x".repeat(bytes)).unwrap();
        let action = Action::Set { value, description: None };
        let (environment, key) = ("staging".to_owned(), format!("K{number}"));
        Change { environment, key, action, expected_version: None }
    }

    fn sizes(changes: &[Change]) -> Vec<usize> {
        parts(changes).unwrap().into_iter().map(<[Change]>::len).collect()
    }

    #[test]
    fn a_set_has_at_most_a_thousand_changes() {
        let changes: Vec<_> = (0..2_001).map(|number| set(number, 1)).collect();

        assert_eq!(sizes(&changes), [1_000, 1_000, 1]);
        assert_eq!(sizes(&changes[..1_000]), [1_000]);
        assert!(sizes(&[]).is_empty());
    }

    #[test]
    fn a_set_has_at_most_sixteen_mebibytes() {
        let changes: Vec<_> = (0..300).map(|number| set(number, 65_536)).collect();

        assert_eq!(sizes(&changes), [255, 45]);
    }
}
