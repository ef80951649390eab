//! CSV output.

use csv::{Terminator, WriterBuilder};

use super::room;
use crate::crypto::Plaintext;
use crate::model::SecretKey;

/// Writes the secrets as CSV: a header line, then one record for each secret.
#[expect(clippy::expect_used, reason = "strings written to memory cannot fail to serialize")]
pub(super) fn csv(secrets: &[(SecretKey, Plaintext)]) -> String {
    let bytes = records(secrets).expect("every record has two fields");
    String::from_utf8(bytes).expect("CSV of strings is UTF-8")
}

fn records(secrets: &[(SecretKey, Plaintext)]) -> Result<Vec<u8>, csv::Error> {
    let memory = Vec::with_capacity(room(secrets));
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(memory);
    table.write_record(["key", "value"])?;
    for (key, value) in secrets {
        table.write_record([key.as_str(), value.reveal()])?;
    }
    table.into_inner().map_err(|error| error.into_error().into())
}
