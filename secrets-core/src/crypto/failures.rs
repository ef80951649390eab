//! Counters of stored records that could not be decrypted.

use crate::model::counter::Counter;

/// Reason why a stored record could not be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecryptionFailure {
    /// The bytes are not a record in a known format.
    Format,
    /// The project key that encrypted the record is not stored.
    MissingKey,
    /// The stored project key cannot be unwrapped (decrypted): it was changed or moved.
    Key,
    /// The record was changed, or belongs to another object or version.
    Record,
    /// The secrets of an environment do not match its manifest: a row was replaced by an earlier
    /// copy of it, inserted or deleted.
    Manifest,
}

/// Number of records that could not be decrypted since the start of the process, by reason.
#[derive(Debug, Default)]
pub(crate) struct DecryptionFailures([Counter; DecryptionFailure::ALL.len()]);

impl DecryptionFailure {
    /// All reasons.
    pub const ALL: [Self; 5] =
        [Self::Format, Self::MissingKey, Self::Key, Self::Record, Self::Manifest];

    /// Returns the name of the reason in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::MissingKey => "missing_key",
            Self::Key => "key",
            Self::Record => "record",
            Self::Manifest => "manifest",
        }
    }
}

impl DecryptionFailures {
    pub(crate) fn count(&self, reason: DecryptionFailure) {
        if let Some(counter) = self.0.get(reason as usize) {
            counter.add(1);
        }
    }

    /// Returns the name of each reason, with the number of failures.
    pub(crate) fn values(&self) -> [(&'static str, u64); DecryptionFailure::ALL.len()] {
        DecryptionFailure::ALL.map(|reason| {
            let count = self.0.get(reason as usize).map(Counter::value);
            (reason.as_str(), count.unwrap_or_default())
        })
    }
}
