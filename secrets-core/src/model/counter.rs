//! Numbers for metrics that only increase.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only increases, such as the number of failed operations.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds `number` to the counter.
    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    /// Returns the number. If several counters are read, their values may be from slightly
    /// different times.
    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
