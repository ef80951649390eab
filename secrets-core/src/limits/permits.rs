//! Permits for concurrent jobs. Jobs that share a resource, such as a host, a team or the process,
//! share its limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::model::lock::lock;

/// Maximum number of waiting jobs that are kept in memory.
const MAX_WAITING: usize = 16_384;

/// A resource that a limited number of concurrent jobs may use, such as a host, a team or the
/// process.
pub trait Place: Clone + Ord {
    /// Returns the maximum number of concurrent jobs that may use this resource.
    fn limit(&self) -> usize;
}

/// Number of permits that are in use, for each resource.
#[derive(Debug)]
pub struct Permits<P>(Arc<Mutex<BTreeMap<P, usize>>>);

/// Permit to run one job. Dropping the permit releases it.
#[derive(Debug)]
pub struct Permit<P: Place> {
    permits: Permits<P>,
    places: Vec<P>,
}

/// Permits for the jobs of a queue. Each job has an ID. A job that gets no permit stays in the
/// queue and is tried again.
#[derive(Debug)]
pub(crate) struct QueuePermits<I, P> {
    permits: Permits<P>,
    /// Jobs that got no permit yet, each with the resources that it needs.
    waiting: Mutex<BTreeMap<I, Vec<P>>>,
}

impl<P> Default for Permits<P> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<P> Clone for Permits<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Place> Permits<P> {
    /// Acquires a permit for a job that uses all the given resources, without waiting. Fails with
    /// the first resource whose limit is reached.
    pub fn acquire(&self, places: Vec<P>) -> Result<Permit<P>, P> {
        let mut counts = lock(&self.0);
        if let Some(full) = first_full(&counts, &places) {
            return Err(full.clone());
        }
        for place in &places {
            *counts.entry(place.clone()).or_default() += 1;
        }
        Ok(Permit { permits: self.clone(), places })
    }

    /// Returns the number of permits in use for a resource.
    #[must_use]
    pub fn in_use(&self, place: &P) -> usize {
        lock(&self.0).get(place).copied().unwrap_or_default()
    }

    /// True if a job that uses these resources would get a permit now.
    pub(crate) fn are_free(&self, places: &[P]) -> bool {
        first_full(&lock(&self.0), places).is_none()
    }
}

fn first_full<'a, P: Place>(counts: &BTreeMap<P, usize>, places: &'a [P]) -> Option<&'a P> {
    places.iter().find(|place| counts.get(place).is_some_and(|count| *count >= place.limit()))
}

impl<P: Place> Drop for Permit<P> {
    fn drop(&mut self) {
        let mut counts = lock(&self.permits.0);
        for place in &self.places {
            if let Some(count) = counts.get_mut(place) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(place);
                }
            }
        }
    }
}

impl<I, P> Default for QueuePermits<I, P> {
    fn default() -> Self {
        Self { permits: Permits::default(), waiting: Mutex::default() }
    }
}

impl<I: Ord, P: Place> QueuePermits<I, P> {
    /// Acquires a permit for the job `work`, which uses these resources. If a limit is reached,
    /// returns `None` and, if there is room, stores the job as waiting.
    pub(crate) fn acquire(&self, work: I, places: Vec<P>) -> Option<Permit<P>> {
        let permit = self.permits.acquire(places.clone()).ok();
        let mut waiting = lock(&self.waiting);
        if permit.is_none() && waiting.len() < MAX_WAITING {
            waiting.insert(work, places);
        }
        permit
    }

    /// Acquires a permit for a job outside the queue. Returns `None` if a limit is reached; the job
    /// is not stored as waiting.
    pub(crate) fn acquire_once(&self, places: Vec<P>) -> Option<Permit<P>> {
        self.permits.acquire(places).ok()
    }

    /// True if the job was refused a permit and would be refused again. Otherwise, the job is no
    /// longer stored as waiting. Saves a worker from loading the resources of a waiting job in
    /// every round.
    pub(crate) fn must_wait(&self, work: &I) -> bool {
        let mut waiting = lock(&self.waiting);
        let must_wait = waiting.get(work).is_some_and(|places| !self.permits.are_free(places));
        if !must_wait {
            waiting.remove(work);
        }
        must_wait
    }

    /// Removes all waiting jobs except those in `candidates`.
    pub(crate) fn forget_others(&self, candidates: impl IntoIterator<Item = I>) {
        let candidates: BTreeSet<_> = candidates.into_iter().collect();
        lock(&self.waiting).retain(|work, _| candidates.contains(work));
    }

    /// True if a job that uses these resources would get a permit now.
    pub(crate) fn are_free(&self, places: &[P]) -> bool {
        self.permits.are_free(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    enum Test {
        Process,
        Team(u8),
    }

    impl Place for Test {
        fn limit(&self) -> usize {
            match self {
                Self::Process => 3,
                Self::Team(_) => 2,
            }
        }
    }

    #[test]
    fn a_job_needs_a_free_permit_of_each_of_its_resources() {
        let permits = Permits::default();
        let acquire = |team| permits.acquire(vec![Test::Process, Test::Team(team)]);

        let first = acquire(1).unwrap();
        let _second = acquire(1).unwrap();
        assert_eq!(acquire(1).unwrap_err(), Test::Team(1));
        let _third = acquire(2).unwrap();
        assert_eq!(acquire(2).unwrap_err(), Test::Process);

        drop(first);
        assert!(acquire(2).is_ok());
    }

    #[test]
    fn permits_in_use_are_counted_for_each_resource() {
        let permits = Permits::default();
        let _first = permits.acquire(vec![Test::Process, Test::Team(1)]).unwrap();
        let second = permits.acquire(vec![Test::Process, Test::Team(2)]).unwrap();
        let in_use = || [Test::Process, Test::Team(1), Test::Team(3)].map(|of| permits.in_use(&of));

        assert_eq!(in_use(), [2, 1, 0]);
        drop(second);
        assert_eq!(in_use(), [1, 1, 0]);
    }

    #[test]
    fn released_permits_leave_no_counters() {
        let permits = Permits::default();

        drop(permits.acquire(vec![Test::Process, Test::Team(1)]).unwrap());

        assert!(lock(&permits.0).is_empty());
    }

    #[test]
    fn a_refused_job_waits_until_its_resources_are_free() {
        let queue = QueuePermits::<u8, Test>::default();
        let working: Vec<_> = [1, 2].map(|work| queue.acquire(work, vec![Test::Team(1)])).into();
        assert!(queue.acquire(3, vec![Test::Team(1)]).is_none());
        assert!(queue.acquire(4, vec![Test::Team(1)]).is_none());

        assert!(queue.must_wait(&3));
        assert!(queue.must_wait(&3), "asking does not end the wait");
        assert!(!queue.must_wait(&5));
        queue.forget_others([3]);
        assert!(!queue.must_wait(&4));
        drop(working);
        assert!(!queue.must_wait(&3));
        assert!(lock(&queue.waiting).is_empty());
    }

    #[test]
    fn a_job_that_has_a_permit_does_not_wait() {
        let queue = QueuePermits::<u8, Test>::default();

        let _permit = queue.acquire(1, vec![Test::Team(1)]).unwrap();

        assert!(lock(&queue.waiting).is_empty());
        assert!(!queue.must_wait(&1));
    }

    #[test]
    fn a_job_outside_of_the_queue_uses_its_permits_and_does_not_wait() {
        let queue = QueuePermits::<u8, Test>::default();
        let place = || vec![Test::Team(1)];
        assert!(queue.are_free(&place()));

        let _permits = [queue.acquire_once(place()).unwrap(), queue.acquire(1, place()).unwrap()];

        assert!(!queue.are_free(&place()));
        assert!(queue.acquire_once(place()).is_none());
        assert!(queue.are_free(&[Test::Team(2)]));
        assert!(lock(&queue.waiting).is_empty());
    }

    #[test]
    fn a_limited_number_of_waiting_jobs_is_remembered() {
        let queue = QueuePermits::<usize, Test>::default();
        let _permits = [0, 1].map(|job| queue.acquire(job, vec![Test::Team(1)]).unwrap());

        for job in 0..=MAX_WAITING {
            assert!(queue.acquire(job, vec![Test::Team(1)]).is_none());
        }

        assert_eq!(lock(&queue.waiting).len(), MAX_WAITING);
    }
}
