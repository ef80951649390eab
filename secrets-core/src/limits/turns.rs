//! Turns: jobs that share a resource, such as a team, run one at a time, roughly in the order in
//! which they began to wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use async_lock::{Mutex as AsyncMutex, MutexGuardArc};

use crate::model::lock::lock;

/// Lets the jobs that use a resource run one at a time, roughly in the order in which they began to
/// wait. A key of type `K` identifies the resource, such as a team.
pub struct Turns<K>(Arc<Mutex<HashMap<K, Arc<AsyncMutex<()>>>>>);

/// Turn of one job: its right to use the resource. Dropping the turn lets the next waiting job run.
pub struct Turn<K: Copy + Eq + Hash> {
    // Fields are dropped in this order.
    _guard: MutexGuardArc<()>,
    _present: Present<K>,
}

/// A job that runs or waits. When the last job of a resource is dropped, the resource is removed
/// from the map.
struct Present<K: Copy + Eq + Hash> {
    turns: Turns<K>,
    key: K,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K> Clone for Turns<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Copy + Eq + Hash> Turns<K> {
    /// Waits until no other job uses the resource `key`, and returns the turn of this job.
    pub async fn acquire(&self, key: K) -> Turn<K> {
        let present = Present { turns: self.clone(), key };
        // Cloned under the lock of the map, so that `Present` can detect that no other job is left.
        let own = Arc::clone(lock(&self.0).entry(key).or_default());
        let guard = own.lock_arc().await;
        Turn { _guard: guard, _present: present }
    }
}

impl<K: Copy + Eq + Hash> Drop for Present<K> {
    fn drop(&mut self) {
        let mut turns = lock(&self.turns.0);
        if turns.get(&self.key).is_some_and(|own| Arc::strong_count(own) == 1) {
            turns.remove(&self.key);
        }
    }
}

#[cfg(test)]
impl<K: Copy + Eq + Hash> Turns<K> {
    /// True if a job waits for the resource.
    pub(crate) fn is_waited_for(&self, key: K) -> bool {
        // The map and the job whose turn it is have one reference each.
        lock(&self.0).get(&key).is_some_and(|own| Arc::strong_count(own) > 2)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn jobs_of_a_resource_run_one_at_a_time() {
        let turns = Turns::<u8>::default();
        let first = turns.acquire(1).now_or_never().unwrap();
        let mut second = Box::pin(turns.acquire(1));
        assert!((&mut second).now_or_never().is_none());

        assert!(turns.acquire(2).now_or_never().is_some(), "another resource is free");
        drop(first);

        assert!(second.now_or_never().is_some());
    }

    #[test]
    fn a_job_that_no_longer_waits_is_skipped() {
        let turns = Turns::<u8>::default();
        let first = turns.acquire(1).now_or_never().unwrap();
        let mut gone = Box::pin(turns.acquire(1));
        assert!((&mut gone).now_or_never().is_none());
        let mut next = Box::pin(turns.acquire(1));
        assert!((&mut next).now_or_never().is_none());

        drop((gone, first));

        assert!(next.now_or_never().is_some());
    }

    #[test]
    fn an_unused_resource_takes_no_memory() {
        let turns = Turns::<u8>::default();
        let first = turns.acquire(1).now_or_never().unwrap();
        let mut second = Box::pin(turns.acquire(1));
        assert!((&mut second).now_or_never().is_none());

        drop(first);
        assert_eq!(lock(&turns.0).len(), 1);
        drop(second);

        assert!(lock(&turns.0).is_empty());
    }
}
