//! Record of the changes in the database, by record ID. The cache uses it to check if a cached
//! record is still current.

use std::collections::BTreeSet;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use uuid::Uuid;

use crate::model::lock::lock;

/// Number of change counters. Many record IDs share a counter, so that the number of counters does
/// not grow with the database. A change therefore also makes cached records of other IDs with the
/// same counter unusable.
const STRIPES: usize = 4096;

/// Amount that is added to a change counter while a commit runs. Larger than any number of commits.
const RUNNING: u64 = 1 << 48;

/// Numbers of the last commits that changed records, by record ID. Commits are numbered, and the
/// number of commits so far serves as the current time.
///
/// The change counter of an ID holds the number of the last commit that changed a record with this
/// ID, plus 2^48 ([`RUNNING`]) for each such commit that is still running. A cached record is
/// stored with the time before it was loaded. The record is current if no counter of its IDs is
/// higher than this time: then no commit that changes the record has begun since, or was running at
/// that time.
///
/// If other processes write too, updates read their changes from the database. Each update counts
/// as one commit: it adds the changes that were committed since the last update.
#[derive(Debug)]
pub(in crate::store::sql) struct Changes {
    clock: AtomicU64,
    /// Number of updates (reads of the committed changes) that have begun.
    updates: AtomicU64,
    stripes: Box<[AtomicU64]>,
    /// Indexes of the change counters of all records that the open transaction has changed so far.
    pending: Mutex<BTreeSet<Stripe>>,
}

/// Index of a change counter: the last 12 bits of a record ID, which are random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store::sql) struct Stripe(u16);

/// A commit that is in progress. Dropping this value marks the commit as ended, whether it
/// succeeded or not.
pub(in crate::store::sql) struct RunningCommit {
    changes: Arc<Changes>,
    stripes: BTreeSet<Stripe>,
}

impl Stripe {
    pub(super) fn of(id: Uuid) -> Self {
        let [.., high, low] = *id.as_bytes();
        Self(u16::from_be_bytes([high & 0x0f, low]))
    }
}

impl Changes {
    pub(super) fn new() -> Self {
        let stripes = (0..STRIPES).map(|_| AtomicU64::new(0)).collect();
        let (clock, updates, pending) = Default::default();
        Self { clock, updates, stripes, pending }
    }

    /// Returns the current time (number of commits). Must be called before a record is loaded for
    /// the cache.
    pub(super) fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    /// Returns the number of updates (reads of the committed changes) that have begun.
    pub(in crate::store::sql) fn updates(&self) -> u64 {
        self.updates.load(Ordering::SeqCst)
    }

    /// Begins an update, before the changes are read from the database. Returns its number; the
    /// first update has the number 1.
    #[cfg(feature = "postgres")]
    pub(in crate::store::sql) fn begin_update(&self) -> u64 {
        self.updates.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// True if a record that was loaded at the time `loaded_at`, and whose IDs have these change
    /// counters, is still current.
    pub(super) fn is_current(&self, loaded_at: u64, stripes: &[Stripe]) -> bool {
        stripes.iter().all(|stripe| self.counter(*stripe).load(Ordering::SeqCst) <= loaded_at)
    }

    /// Discards the changes of an earlier transaction that was rolled back. Must be called when a
    /// transaction of the database begins, but not when another transaction joins its group
    /// (transactions that are committed together).
    pub(in crate::store::sql) fn begin(&self) {
        lock(&self.pending).clear();
    }

    /// True if the open transaction, or an earlier one of its group (transactions that are
    /// committed together), has changed a record whose ID has one of these change counters.
    pub(super) fn are_pending(&self, stripes: &[Stripe]) -> bool {
        let pending = lock(&self.pending);
        stripes.iter().any(|stripe| pending.contains(stripe))
    }

    /// Returns the indexes of the change counters of all records that the open transaction has
    /// changed so far.
    #[cfg(test)]
    pub(in crate::store::sql) fn pending(&self) -> BTreeSet<u16> {
        lock(&self.pending).iter().map(|stripe| stripe.0).collect()
    }

    /// Records a change made by the open transaction. `number` is the index of a change counter.
    #[cfg(feature = "sqlite")]
    pub(in crate::store::sql) fn add(&self, number: i64) {
        if let Ok(number) = u16::try_from(number) {
            lock(&self.pending).insert(Stripe(number));
        }
    }

    /// Records changes that were committed, by this process or another. The numbers are indexes of
    /// change counters.
    #[cfg(feature = "postgres")]
    pub(in crate::store::sql) fn add_committed(&self, numbers: impl Iterator<Item = u16>) {
        let now = self.clock.fetch_add(1, Ordering::SeqCst) + 1;
        for number in numbers {
            self.counter(Stripe(number)).fetch_max(now, Ordering::SeqCst);
        }
    }

    /// Marks all records as changed, because it is not known which of them were changed.
    #[cfg(feature = "postgres")]
    pub(in crate::store::sql) fn add_all(&self) {
        self.add_committed((0..).take(STRIPES));
    }

    /// Marks the start of the open transaction's commit. Until the commit has ended, cached copies
    /// of the records that it changes are not used.
    pub(in crate::store::sql) fn begin_commit(self: &Arc<Self>) -> RunningCommit {
        let stripes = mem::take(&mut *lock(&self.pending));
        for stripe in &stripes {
            self.counter(*stripe).fetch_add(RUNNING, Ordering::SeqCst);
        }
        RunningCommit { changes: Arc::clone(self), stripes }
    }

    #[expect(clippy::indexing_slicing, reason = "the index is less than the number of counters")]
    fn counter(&self, Stripe(index): Stripe) -> &AtomicU64 {
        &self.stripes[usize::from(index) % STRIPES]
    }
}

impl Drop for RunningCommit {
    fn drop(&mut self) {
        if self.stripes.is_empty() {
            return;
        }
        let now = self.changes.clock.fetch_add(1, Ordering::SeqCst) + 1;
        for stripe in &self.stripes {
            let end = |counter: u64| {
                let (running, before) = (counter / RUNNING, counter % RUNNING);
                Some(running.saturating_sub(1) * RUNNING + before.max(now))
            };
            let counter = self.changes.counter(*stripe);
            // The closure always returns `Some`, so the update succeeds.
            let _ = counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[test]
    fn a_record_is_current_until_a_commit_that_changes_it_begins() {
        let changes = Arc::new(Changes::new());
        let (ours, other) = ([Stripe::of(id(1))], [Stripe::of(id(2))]);
        let loaded = changes.now();

        changes.add(1);
        assert!(changes.is_current(loaded, &ours));
        let commit = changes.begin_commit();
        assert!(!changes.is_current(loaded, &ours));
        let during = changes.now();
        assert!(!changes.is_current(during, &ours));
        drop(commit);

        assert!(!changes.is_current(loaded, &ours));
        // Loaded while the commit was running: perhaps before it, perhaps after it.
        assert!(!changes.is_current(during, &ours));
        assert!(changes.is_current(changes.now(), &ours));
        assert!(changes.is_current(loaded, &other));
    }

    #[test]
    fn a_record_is_current_after_the_last_of_several_commits() {
        let changes = Arc::new(Changes::new());
        let ours = [Stripe::of(id(5)), Stripe::of(id(1))];
        let begin = || {
            changes.add(1);
            changes.begin_commit()
        };
        let (first, second) = (begin(), begin());

        drop(second);
        assert!(!changes.is_current(changes.now(), &ours));
        drop(first);

        assert!(changes.is_current(changes.now(), &ours));
    }

    #[test]
    fn the_changes_of_a_rolled_back_transaction_are_forgotten() {
        let changes = Arc::new(Changes::new());
        let ours = [Stripe::of(id(1))];
        let loaded = changes.now();

        changes.add(1);
        changes.begin();
        drop(changes.begin_commit());

        assert!(changes.is_current(loaded, &ours));
    }

    #[test]
    fn the_last_12_bits_of_an_id_name_its_counter() {
        assert_eq!(Stripe::of(id(0x1234_5fff)), Stripe(0xfff));
        assert_eq!(Stripe::of(id(0x1234_5001)), Stripe(1));
    }
}
