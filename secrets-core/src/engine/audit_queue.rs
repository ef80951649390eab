//! Queue for the audit entries of reads, which are committed in batches.
//!
//! A read returns its output only after the batch with its audit entry is committed. Of the tasks
//! that wait for this, the one that gets the mutex is the leader: it writes a batch for all waiting
//! tasks. If the leader is cancelled while writing, the next leader writes the same batch again,
//! with the same entries and IDs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use futures_util::lock;

use super::Counters;
use crate::model::lock::lock;
use crate::store::{AuditRecord, Store};

/// Maximum number of audit entries in one transaction.
pub(crate) const MAX_BATCH: usize = 256;

/// Maximum number of audit entries that wait to be stored. If it is reached, further reads fail
/// while a batch is being written, because their audit entries cannot be added.
const MAX_WAITING: usize = 8_192;

#[derive(Default)]
pub(crate) struct AuditQueue {
    waiting: Mutex<VecDeque<Waiting>>,
    /// Batch that is being written, or that was not written completely because its leader was
    /// cancelled. The leader holds the mutex.
    writing: lock::Mutex<Option<Batch>>,
    /// Number of audit entries in that batch. It is set under the lock of `waiting`.
    batch_size: AtomicUsize,
    failing: AtomicBool,
}

struct Waiting {
    entry: AuditRecord,
    stored: oneshot::Sender<bool>,
}

/// Audit entries of a batch, and the tasks that wait until they are stored.
struct Batch {
    entries: Arc<[AuditRecord]>,
    stored: Vec<oneshot::Sender<bool>>,
}

/// A batch that is being written. If the write is cancelled, this value is dropped and marks the
/// queue as failing.
struct Unfinished<'a>(&'a AtomicBool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Error: the audit entry could not be stored.
pub(crate) struct NotRecorded;

impl AuditQueue {
    /// Adds an audit entry to the queue and waits until the entry is committed.
    pub(crate) async fn record(
        &self,
        store: &dyn Store,
        counters: &Counters,
        entry: AuditRecord,
    ) -> Result<(), NotRecorded> {
        let (stored, mut answer) = oneshot::channel();
        let mut new = Waiting { entry, stored };
        while let Some(refused) = self.add(new) {
            // The tasks of all waiting entries may have been cancelled, so that no leader is left.
            let Some(mut leader) = self.writing.try_lock() else { return Err(NotRecorded) };
            self.write_batch(&mut leader, store, counters).await;
            if self.is_failing() {
                return Err(NotRecorded);
            }
            new = refused;
        }
        loop {
            let mut leader = match select(&mut answer, self.writing.lock()).await {
                Either::Left((stored, _)) => return outcome(stored.unwrap_or(false)),
                Either::Right((leader, _)) => leader,
            };
            // Another leader may have stored this entry while this task waited for the mutex.
            if let Ok(Some(stored)) = answer.try_recv() {
                return outcome(stored);
            }
            self.write_batch(&mut leader, store, counters).await;
        }
    }

    /// Adds an entry to the queue. Returns `None`, or the entry if the queue is full.
    fn add(&self, new: Waiting) -> Option<Waiting> {
        let mut waiting = self.waiting();
        if waiting.len() + self.batch_size.load(Ordering::Relaxed) >= MAX_WAITING {
            return Some(new);
        }
        waiting.push_back(new);
        None
    }

    /// True if the last attempt to store a batch failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Returns the number of audit entries that wait to be stored, including those of the batch
    /// that is being written.
    pub(crate) fn waiting_entries(&self) -> usize {
        self.waiting().len() + self.batch_size.load(Ordering::Relaxed)
    }

    /// Writes a batch: the batch that an earlier leader has not written completely, or else the
    /// oldest waiting entries.
    async fn write_batch(&self, batch: &mut Option<Batch>, store: &dyn Store, counters: &Counters) {
        let entries = Arc::clone(&batch.get_or_insert_with(|| self.next_batch()).entries);
        // If the leader is cancelled, for example by the time limit of its request while the store
        // does not respond, the queue is marked as failing until a batch is stored.
        let unfinished = Unfinished(&self.failing);
        let result = store.insert_audit_batch(&entries).await;
        std::mem::forget(unfinished);
        match &result {
            Ok(()) => {
                counters.audit_batches.add(1);
                counters.audit_entries.add(entries.len() as u64);
            }
            Err(error) => {
                counters.audit_failures.add(1);
                tracing::error!(
                    error = error as &dyn std::error::Error,
                    "the audit log cannot be written"
                );
            }
        }
        self.failing.store(result.is_err(), Ordering::Relaxed);
        self.batch_size.store(0, Ordering::Relaxed);
        for stored in batch.take().into_iter().flat_map(|batch| batch.stored) {
            // The send fails if the waiting task was cancelled; its entry is stored anyway.
            let _ = stored.send(result.is_ok());
        }
    }

    fn next_batch(&self) -> Batch {
        let mut waiting = self.waiting();
        let count = waiting.len().min(MAX_BATCH);
        let taken = waiting.drain(..count).map(|waiting| (waiting.entry, waiting.stored));
        let (entries, stored): (Vec<_>, _) = taken.unzip();
        self.batch_size.store(count, Ordering::Relaxed);
        Batch { entries: entries.into(), stored }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        lock(&self.waiting)
    }
}

fn outcome(stored: bool) -> Result<(), NotRecorded> {
    if stored { Ok(()) } else { Err(NotRecorded) }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::model::AuditBatchId;
    use crate::store::MemoryStore;
    use crate::testing::StuckStore;
    use crate::testing::fixtures::{at, entry, team, user};

    fn audit_entry() -> AuditRecord {
        entry(&team(&user("alice"), "team"), "secret.read", at(0))
    }

    #[test]
    fn a_batch_that_was_cut_is_a_failure_until_one_is_stored() {
        let (queue, counters) = (AuditQueue::default(), Counters::default());

        let cut = queue.record(&StuckStore, &counters, audit_entry()).now_or_never();

        assert!(cut.is_none() && queue.is_failing());
        let store = MemoryStore::new();
        let stored = queue.record(&store, &counters, audit_entry()).now_or_never();
        assert!(stored.is_some_and(|stored| stored.is_ok()) && !queue.is_failing());
        assert_eq!(queue.waiting_entries(), 0);
        assert_eq!((counters.audit_batches.value(), counters.audit_entries.value()), (2, 2));
    }

    #[test]
    fn the_batch_of_a_cancelled_task_is_written_again_with_the_same_entries() {
        let (queue, counters) = (AuditQueue::default(), Counters::default());
        let [first, second, third] = [audit_entry(), audit_entry(), audit_entry()];
        let ids = [first.id, second.id, third.id];
        let wait = |entry| {
            let (stored, answer) = oneshot::channel();
            assert!(queue.add(Waiting { entry, stored }).is_none());
            answer
        };
        let mut follower = wait(first);
        assert!(queue.record(&StuckStore, &counters, second).now_or_never().is_none());
        assert_eq!((queue.waiting_entries(), follower.try_recv().unwrap()), (2, None));
        let store = MemoryStore::new();

        let stored = queue.record(&store, &counters, third).now_or_never();

        assert!(stored.is_some_and(|stored| stored.is_ok()));
        assert_eq!(follower.try_recv().unwrap(), Some(true));
        let batches =
            async { store.read().await.unwrap().audit_batches(AuditBatchId::NIL, 9).await };
        let batches = batches.now_or_never().unwrap().unwrap();
        let stored = batches.iter().map(|batch| {
            batch.entries.as_ref().unwrap().iter().map(|entry| entry.id).collect::<Vec<_>>()
        });
        let mut stored: Vec<_> = stored.collect();
        stored.sort_by_key(Vec::len);
        assert_eq!(stored, [vec![ids[2]], vec![ids[0], ids[1]]]);
    }

    /// Creates a queue that is full of entries whose tasks were cancelled.
    fn full() -> AuditQueue {
        let queue = AuditQueue::default();
        let waiting = || Waiting { entry: audit_entry(), stored: oneshot::channel().0 };
        queue.waiting().extend(std::iter::repeat_with(waiting).take(MAX_WAITING));
        queue
    }

    #[test]
    fn the_number_of_waiting_entries_is_bounded() {
        let (queue, counters) = (full(), Counters::default());
        let mut leader = Box::pin(queue.record(&StuckStore, &counters, audit_entry()));
        assert!((&mut leader).now_or_never().is_none());

        let refused = queue.record(&StuckStore, &counters, audit_entry()).now_or_never();

        assert!(refused.is_some_and(|refused| refused.is_err()));
        assert_eq!(queue.waiting_entries(), MAX_WAITING);
    }

    #[test]
    fn a_queue_full_of_cancelled_tasks_is_written_by_the_next_task() {
        let (queue, counters) = (full(), Counters::default());
        let cut = queue.record(&StuckStore, &counters, audit_entry()).now_or_never();
        assert!(cut.is_none() && queue.is_failing());

        let stored = queue.record(&MemoryStore::new(), &counters, audit_entry()).now_or_never();

        assert!(stored.is_some_and(|stored| stored.is_ok()) && !queue.is_failing());
        assert_eq!(queue.waiting_entries(), 0);
        assert_eq!(counters.audit_entries.value(), MAX_WAITING as u64 + 1);
    }
}
