//! Tests of the supervisor with a worker whose failure each test selects.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;

use super::*;
use crate::Service;
use crate::crypto::Key;
use crate::engine::Job;
use crate::model::{Error, Result};
use crate::store::MemoryStore;

const QUICK: Schedule = Schedule {
    first: Duration::ZERO,
    interval: Duration::from_millis(5),
    timeout: Duration::from_millis(5),
    max_jobs: 1,
    stale_after: Duration::from_mins(10),
};

/// Behaviour of the test worker in its first round. Later rounds succeed, except with
/// `JobFails`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Panics,
    Fails,
    NeverEnds,
    /// The job of this round and of all later rounds fails.
    JobFails,
}

struct Scripted {
    first: First,
    schedule: Schedule,
    rounds: Arc<AtomicU32>,
}

#[async_trait]
impl Worker for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn schedule(&self) -> Schedule {
        self.schedule
    }

    async fn jobs(&self, _: &Arc<Engine>, _: usize) -> Result<Vec<Job>> {
        let round = self.rounds.fetch_add(1, Ordering::Relaxed);
        match self.first {
            First::JobFails => Ok(vec![Box::pin(async { Err(Error::internal("scripted")) })]),
            _ if round > 0 => Ok(Vec::new()),
            First::Panics => panic!("scripted"),
            First::Fails => Err(Error::internal("scripted")),
            First::NeverEnds => Ok(vec![Box::pin(std::future::pending())]),
        }
    }
}

async fn service() -> Service {
    let store = Arc::new(MemoryStore::new());
    Service::builder(store, &Key::generate()).build().await.unwrap()
}

async fn supervised(first: First, schedule: Schedule) -> (Supervisor, Arc<AtomicU32>) {
    supervised_by(&service().await, first, schedule)
}

fn supervised_by(
    service: &Service,
    first: First,
    schedule: Schedule,
) -> (Supervisor, Arc<AtomicU32>) {
    let rounds = Arc::new(AtomicU32::new(0));
    let worker = Scripted { first, schedule, rounds: Arc::clone(&rounds) };
    let supervisor = Supervisor::new(vec![Arc::new(worker)]);
    let (running, engine) = (supervisor.clone(), Arc::clone(service.engine()));
    tokio::spawn(async move { running.run(engine).await });
    (supervisor, rounds)
}

async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_mins(1), waiting).await.unwrap();
}

#[tokio::test]
async fn a_worker_goes_on_after_a_panic_a_failure_and_a_job_that_hangs() {
    for first in [First::Panics, First::Fails, First::NeverEnds] {
        let (supervisor, rounds) = supervised(first, QUICK).await;

        until(|| rounds.load(Ordering::Relaxed) > 2).await;

        assert!(supervisor.is_running(), "{first:?}");
    }
}

#[tokio::test]
async fn a_worker_that_fails_is_listed_until_a_run_succeeds() {
    for (first, is_listed_at_the_end) in [
        (First::Panics, false),
        (First::Fails, false),
        (First::NeverEnds, false),
        (First::JobFails, true),
    ] {
        let service = service().await;
        let items = || service.engine().failing().into_iter().map(|failing| failing.item);
        let is_listed = || items().any(|item| item == WorkItem::Worker("scripted"));

        let (_supervisor, rounds) = supervised_by(&service, first, QUICK);

        until(is_listed).await;
        until(|| rounds.load(Ordering::Relaxed) > 2 && is_listed() == is_listed_at_the_end).await;
    }
}

#[tokio::test]
async fn a_worker_whose_job_hangs_is_reported() {
    let timeout = Duration::from_mins(10);
    let stale_after = Duration::from_millis(50);
    let schedule = Schedule { timeout, stale_after, ..QUICK };

    let (supervisor, _) = supervised(First::NeverEnds, schedule).await;

    until(|| !supervisor.is_running()).await;
}

#[tokio::test]
async fn workers_end_when_they_are_stopped() {
    let (supervisor, rounds) = supervised(First::Fails, QUICK).await;
    until(|| rounds.load(Ordering::Relaxed) > 0).await;

    supervisor.stop();

    // The counter is held by the worker and the test only, the workers by the supervisor only.
    until(|| Arc::strong_count(&rounds) == 2 && Arc::strong_count(&supervisor.workers) == 1).await;
}

#[tokio::test]
async fn a_worker_whose_jobs_fail_is_retried_with_growing_delays() {
    let begun = Instant::now();
    let schedule = Schedule { interval: Duration::from_mins(1), ..QUICK };
    let (_supervisor, rounds) = supervised(First::JobFails, schedule).await;

    until(|| rounds.load(Ordering::Relaxed) > 2).await;

    // The delays are 2 and 4 seconds.
    assert!(begun.elapsed() >= Duration::from_secs(6), "{:?}", begun.elapsed());
}

#[test]
fn delays_double_up_to_the_interval_or_5_minutes() {
    for (interval, expected) in [
        (Duration::from_secs(1), [2; 8]),
        (Duration::from_secs(10), [2, 2, 4, 8, 10, 10, 10, 10]),
        (Duration::from_mins(1), [2, 2, 4, 8, 16, 60, 60, 60]),
        (Duration::from_hours(24), [2, 2, 4, 8, 16, 256, 300, 300]),
    ] {
        let delays = [0, 1, 2, 3, 4, 8, 9, u32::MAX];
        let delays = delays.map(|failures| backoff(failures, delays_of(interval)).as_secs());

        assert_eq!(delays, expected, "{interval:?}");
    }
}

#[test]
fn a_success_ends_a_series_of_failures() {
    for (has_failed, has_succeeded, expected) in
        [(true, false, 4), (true, true, 4), (false, true, 0), (false, false, 3)]
    {
        let failures = next_failures(3, has_failed, has_succeeded);

        assert_eq!(failures, expected, "{has_failed} {has_succeeded}");
    }
}
