//! Secrets as a table.

use csv::{Terminator, WriterBuilder};

use super::room;
use crate::crypto::Plaintext;
use crate::names::SecretKey;

/// A line of headings, then one record for each secret.
pub(super) fn csv(secrets: &[(SecretKey, Plaintext)]) -> String {
    let mut table = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::with_capacity(room(secrets)));
    // Writing to memory cannot fail, and every record has two fields.
    let _ = table.write_record(["key", "value"]);
    for (key, value) in secrets {
        let _ = table.write_record([key.as_str(), value.reveal()]);
    }
    let bytes = table.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
