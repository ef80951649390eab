//! Counters of the engine since its start, for metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::crypto::{DecryptionFailure, Keyring};
use crate::model::counter::Counter;
use crate::model::lock::lock;
use crate::model::rotations::Outcome;
use crate::model::{Bound, Error, Time};

/// Counters of a running service. They are atomics with relaxed ordering, so values that are read
/// together may be from slightly different times.
#[derive(Debug, Default)]
pub struct Counters {
    pub(crate) audit_batches: Counter,
    pub(crate) audit_entries: Counter,
    pub(crate) audit_failures: Counter,
    pub(crate) created_manifests: Counter,
    unavailable: Counter,
    internal: Counter,
    pub(crate) refusals: RefusalCounters,
    rotations: [Counter; 3],
    deliveries: [Counter; 3],
    /// Time of the last run of the audit worker after which all audit entries were in audit chains,
    /// as Unix time in seconds; 0 before the first such run.
    sealed_at: AtomicI64,
    /// Time at which the oldest waiting item of each worker became due, by the name of the worker;
    /// `None` if the worker's last round left no due item waiting.
    waiting_since: Mutex<BTreeMap<&'static str, Option<Time>>>,
    /// True if the store failed in the last health check.
    store_fails: AtomicBool,
}

/// Number of refused requests for each bound (limit of the service). Clones share their values.
#[derive(Debug, Clone, Default)]
pub struct RefusalCounters(Arc<[Counter; Bound::ALL.len()]>);

/// Result of an attempt to send a message of the outbox, such as an e-mail or a webhook event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryEnd {
    /// The receiver accepted the message, or the message is no longer needed.
    Done,
    /// The attempt failed, and the message will be sent again later.
    Retried,
    /// The attempt failed, and the message will not be sent again.
    GivenUp,
}

/// Values of all [`Counters`], read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Number of batches of audit entries that were stored.
    pub audit_batches: u64,
    /// Number of audit entries in all stored batches.
    pub audit_entries: u64,
    /// Number of batches of audit entries that could not be stored.
    pub audit_failures: u64,
    /// Number of manifests that this process created for environments without a current manifest.
    pub created_manifests: u64,
    /// Number of audit entries that wait in memory to be stored, including those of the batch that
    /// is being written.
    pub audit_waiting: u64,
    /// Number of operations that failed as unavailable, for example because of a store timeout.
    pub unavailable: u64,
    /// Number of operations that failed with an internal error, such as a record that cannot be
    /// decrypted.
    pub internal: u64,
    /// Number of stored records that could not be decrypted, by reason: `format`, `missing_key`,
    /// `key`, `record` or `manifest` ([`DecryptionFailure`]).
    pub decryption_failures: [(&'static str, u64); DecryptionFailure::ALL.len()],
    /// True if the store responded to the last health check.
    pub is_store_up: bool,
    /// Number of attempts to rotate a credential that this process finished, by result: `success`,
    /// `failed` or `rolled_back`.
    pub rotations: [(&'static str, u64); 3],
    /// Number of attempts to send a message of the outbox, by result: `done`, `retried` or
    /// `given_up`.
    pub deliveries: [(&'static str, u64); 3],
    /// Time since the last run of this process's audit worker after which all audit entries were in
    /// audit chains. `None` before the first such run.
    pub audit_sealed_ago: Option<Duration>,
}

impl RefusalCounters {
    /// Counts a request that was refused because of this bound (limit of the service).
    pub fn count(&self, bound: Bound) {
        if let Some(counter) = self.0.get(bound as usize) {
            counter.add(1);
        }
    }

    /// Returns the number of refused requests of each bound.
    pub fn values(&self) -> impl Iterator<Item = (Bound, u64)> {
        Bound::ALL.into_iter().zip(self.0.iter().map(Counter::value))
    }
}

impl Counters {
    /// Counts a failed operation if it failed as unavailable, with an internal error, or because a
    /// limit of the service was reached. Does nothing for other errors.
    pub(crate) fn count_failure(&self, error: &Error) {
        match error {
            Error::Unavailable(_) | Error::Unconfirmed(_) => self.unavailable.add(1),
            Error::Internal(_) => self.internal.add(1),
            _ => {}
        }
        if let Some(bound) = error.bound() {
            self.refusals.count(bound);
        }
    }

    /// Counts an attempt to rotate a credential. Called after the result was stored.
    pub(crate) fn count_rotation(&self, outcome: Outcome) {
        let [success, failed, rolled_back] = &self.rotations;
        match outcome {
            Outcome::Success => success.add(1),
            Outcome::Failed => failed.add(1),
            Outcome::RolledBack => rolled_back.add(1),
        }
    }

    /// Counts an attempt to send a message of the outbox. Called after the result was stored.
    pub(crate) fn count_delivery(&self, end: DeliveryEnd) {
        let [done, retried, given_up] = &self.deliveries;
        match end {
            DeliveryEnd::Done => done.add(1),
            DeliveryEnd::Retried => retried.add(1),
            DeliveryEnd::GivenUp => given_up.add(1),
        }
    }

    /// Stores the time of a run of the audit worker after which all audit entries were in audit
    /// chains.
    pub(crate) fn set_sealed(&self, now: Time) {
        self.sealed_at.store(now.timestamp(), Ordering::Relaxed);
    }

    /// Stores, after a round of `worker`, the time at which its oldest waiting item became due: the
    /// oldest due item that the round did not start because the limit of the worker was reached.
    /// `None` if there is no such item. Items that wait for a permit of their team or receiver, or
    /// for a retry, do not count.
    pub(crate) fn set_waiting_since(&self, worker: &'static str, due: Option<Time>) {
        lock(&self.waiting_since).insert(worker, due);
    }

    /// Returns, for each worker, how long its oldest due item has been waiting; zero if no due item
    /// waited after the last round of the worker. A worker is missing until its first round.
    pub(crate) fn lags(&self, now: Time) -> Vec<(&'static str, Duration)> {
        let since = lock(&self.waiting_since);
        let lag = |due: &Option<Time>| due.map_or(Ok(Duration::ZERO), |due| (now - due).to_std());
        since.iter().map(|(worker, due)| (*worker, lag(due).unwrap_or_default())).collect()
    }

    /// Stores the result of a health check of the store.
    pub(crate) fn set_store_up(&self, is_up: bool) {
        self.store_fails.store(!is_up, Ordering::Relaxed);
    }

    /// Returns the values of all counters, and those of the keyring. `audit_waiting` is the number
    /// of audit entries that wait in memory to be stored, including those of the batch that is being
    /// written.
    pub(crate) fn counts(&self, keyring: &Keyring, audit_waiting: u64, now: Time) -> Counts {
        let [success, failed, rolled_back] = self.rotations.each_ref().map(Counter::value);
        let [done, retried, given_up] = self.deliveries.each_ref().map(Counter::value);
        let sealed_at = Some(self.sealed_at.load(Ordering::Relaxed)).filter(|at| *at != 0);
        let sealed_ago =
            sealed_at.map(|at| u64::try_from(now.timestamp() - at).unwrap_or_default());
        Counts {
            audit_batches: self.audit_batches.value(),
            audit_entries: self.audit_entries.value(),
            audit_failures: self.audit_failures.value(),
            created_manifests: self.created_manifests.value(),
            audit_waiting,
            decryption_failures: keyring.failures().values(),
            unavailable: self.unavailable.value(),
            internal: self.internal.value(),
            rotations: [("success", success), ("failed", failed), ("rolled_back", rolled_back)],
            deliveries: [("done", done), ("retried", retried), ("given_up", given_up)],
            audit_sealed_ago: sealed_ago.map(Duration::from_secs),
            is_store_up: !self.store_fails.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn a_lag_grows_until_the_worker_has_no_waiting_item() {
        let counters = Counters::default();
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        counters.set_waiting_since("rotations", Some(at(100)));
        counters.set_waiting_since("mail", None);

        let lags = [100, 160, 90].map(|now| counters.lags(at(now)));
        counters.set_waiting_since("rotations", None);

        let expected = [0, 60, 0].map(|seconds| {
            vec![("mail", Duration::ZERO), ("rotations", Duration::from_secs(seconds))]
        });
        assert_eq!(lags, expected);
        let none = [("mail", Duration::ZERO), ("rotations", Duration::ZERO)];
        assert_eq!(counters.lags(at(160)), none);
    }
}
