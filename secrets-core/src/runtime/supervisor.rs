//! Supervisor of background work: runs the workers, and restarts them after failures.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};
use tracing::{Instrument as _, Span, info_span};

use crate::engine::{Engine, Failures, Schedule, WorkItem, Worker, backoff};
use crate::model::error_chain;
use crate::model::lock::lock;

/// Maximum time in which a worker must find the work that is due and return its jobs. So short that
/// two such timeouts and the delays after them take less than a minute.
const ROUND_TIMEOUT: Duration = Duration::from_secs(15);

/// Delay before the retry after a worker's first failure. The delay doubles with each further
/// failure, up to the interval of the worker or [`MAX_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_secs(2);

/// Maximum delay before the retry after failures, for workers with a longer interval.
const MAX_BACKOFF: Duration = Duration::from_mins(5);

/// Time between the starts of two workers. If all started at the same time, each would open its own
/// connection to the database.
const STAGGER: Duration = Duration::from_millis(5);

/// Maximum time that jobs get to end after the supervisor is stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Supervisor that runs workers until it is stopped. Each worker has its own task, a timeout for
/// each job, and an increasing delay after failures. A worker that panics is restarted. Clones of a
/// supervisor control the same workers.
#[derive(Clone)]
pub struct Supervisor {
    workers: Arc<[Supervised]>,
    stopped: watch::Sender<bool>,
}

/// Health of a background worker: the time since it last looked for work, and whether that was
/// recent enough. A worker whose work fails is in the list of failing items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerHealth {
    /// Name of the worker.
    pub name: &'static str,
    /// Time since the worker last looked for work.
    pub age: Duration,
    /// True if the worker has looked for work recently enough: within three intervals, or longer for
    /// workers with short intervals or long jobs.
    pub is_running: bool,
}

struct Supervised {
    worker: Arc<dyn Worker>,
    schedule: Schedule,
    heartbeat: Mutex<Instant>,
}

impl Supervisor {
    /// Creates a supervisor for the given workers. The workers start when [`run`](Self::run) is
    /// called.
    #[must_use]
    pub fn new(workers: Vec<Arc<dyn Worker>>) -> Self {
        let supervised = |worker: Arc<dyn Worker>| {
            let (schedule, heartbeat) = (worker.schedule(), Mutex::new(Instant::now()));
            Supervised { worker, schedule, heartbeat }
        };
        let workers = workers.into_iter().map(supervised).collect();
        Self { workers, stopped: watch::Sender::new(false) }
    }

    /// Runs the workers until [`stop`](Self::stop) is called, then waits up to 5 seconds for
    /// running jobs. Jobs that take longer are cancelled; after a restart, their work continues
    /// from the data in the store.
    pub async fn run(&self, engine: Arc<Engine>) {
        let mut tasks = JoinSet::new();
        for place in 0..self.workers.len() {
            tasks.spawn(self.clone().supervise(place, Arc::clone(&engine)));
        }
        drop(engine);
        while tasks.join_next().await.is_some() {}
        // Without workers, there is nothing else to wait for.
        drop(self.stopped().wait_for(|stopped| *stopped).await);
    }

    /// Asks the workers to stop. Returns immediately.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Returns a receiver of the stop signal: its value becomes true when the supervisor is
    /// stopped.
    #[must_use]
    pub fn stopped(&self) -> watch::Receiver<bool> {
        self.stopped.subscribe()
    }

    /// Returns the health of each worker.
    #[must_use]
    pub fn health(&self) -> Vec<WorkerHealth> {
        self.workers.iter().map(Supervised::health).collect()
    }

    /// True if every worker has looked for work recently enough.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.workers.iter().all(|worker| worker.health().is_running)
    }

    /// Runs a worker until the supervisor is stopped, and restarts the worker if it panics.
    async fn supervise(self, place: usize, engine: Arc<Engine>) {
        loop {
            let (workers, shared) = (Arc::clone(&self.workers), Arc::clone(&engine));
            let stopped = self.stopped();
            // Dropping the `JoinSet` cancels the worker when this task is cancelled.
            let mut task = JoinSet::new();
            let delay = STAGGER * u32::try_from(place).unwrap_or(u32::MAX);
            task.spawn(async move { workers[place].run(shared, delay, stopped).await });
            if let Some(Ok(())) = task.join_next().await {
                return;
            }
            tracing::error!(worker = self.workers[place].worker.name(), "a worker panicked");
            self.workers[place].list(&engine, true, false);
            sleep(FIRST_BACKOFF).await;
        }
    }
}

impl Supervised {
    /// Runs the worker until the supervisor is stopped. The first round begins after `delay` and the
    /// delay of the schedule.
    async fn run(&self, engine: Arc<Engine>, delay: Duration, mut stopped: watch::Receiver<bool>) {
        let Schedule { first, interval, max_jobs, .. } = self.schedule;
        let mut ticks = interval_at(Instant::now() + delay + first, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut jobs, mut failures) = (JoinSet::new(), 0);
        loop {
            let (is_due, ended) = tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => break,
                _ = ticks.tick() => (true, None),
                // A job has ended, so another job can start.
                Some(ended) = jobs.join_next() => (max_jobs > 1 && failures == 0, Some(ended)),
            };
            let job = ended.map(failure);
            let round = if is_due { self.round(&engine, &mut jobs).await } else { Ok(()) };
            // A round that starts jobs succeeds when one of its jobs succeeds.
            let is_idle = is_due && round.is_ok() && jobs.is_empty();
            let has_succeeded = is_idle || matches!(job, Some(None));
            let failed = [job.flatten(), round.err()].into_iter().flatten();
            let has_failed = failed.map(|error| self.report(&error)).count() > 0;
            failures = next_failures(failures, has_failed, has_succeeded);
            self.list(&engine, has_failed, has_succeeded);
            if has_failed {
                ticks.reset_after(backoff(failures, delays_of(interval)));
            }
        }
        drop(timeout(STOP_TIMEOUT, async { while jobs.join_next().await.is_some() {} }).await);
        jobs.shutdown().await;
    }

    /// Starts the jobs of one round of a worker.
    async fn round(
        &self,
        engine: &Arc<Engine>,
        jobs: &mut JoinSet<Result<(), String>>,
    ) -> Result<(), String> {
        let room = self.schedule.max_jobs.saturating_sub(jobs.len());
        // A worker whose only job hangs has no heartbeat.
        if room == 0 && self.schedule.max_jobs == 1 {
            return Ok(());
        }
        let found = timeout(ROUND_TIMEOUT, self.worker.jobs(engine, room)).await;
        let found = found.map_err(|_| "timed out".to_owned())?;
        *lock(&self.heartbeat) = Instant::now();
        for job in found.map_err(|error| error_chain(&error))? {
            let deadline = self.schedule.timeout;
            let job = async move {
                let done = timeout(deadline, job).await.map_err(|_| "timed out".to_owned())?;
                done.map_err(|error| error_chain(&error))
            };
            jobs.spawn(job.instrument(self.span()));
        }
        Ok(())
    }

    /// Returns the span of a job. Jobs of a worker that has one job in every round have none: most
    /// of them find nothing to do.
    fn span(&self) -> Span {
        if self.schedule.max_jobs == 1 {
            return Span::none();
        }
        info_span!("job", otel.name = self.worker.name())
    }

    fn report(&self, error: &str) {
        tracing::error!(worker = self.worker.name(), error, "background work failed");
    }

    /// Adds the worker to the list of failing items, or removes it.
    fn list(&self, engine: &Engine, has_failed: bool, has_succeeded: bool) {
        let (failing, item) = (engine.shared::<Failures>(), WorkItem::Worker(self.worker.name()));
        if has_failed {
            failing.report_scheduled(item, engine.now());
        } else if has_succeeded {
            failing.clear(item);
        }
    }

    fn health(&self) -> WorkerHealth {
        let age = lock(&self.heartbeat).elapsed();
        let is_running = age < self.schedule.stale_after;
        WorkerHealth { name: self.worker.name(), age, is_running }
    }
}

/// Returns the error of a job that has ended or panicked; `None` if the job succeeded.
fn failure(ended: Result<Result<(), String>, JoinError>) -> Option<String> {
    ended.map_err(|error| error.to_string()).flatten().err()
}

/// Returns the number of consecutive failures after a round or a job has ended.
fn next_failures(failures: u32, has_failed: bool, has_succeeded: bool) -> u32 {
    match (has_failed, has_succeeded) {
        (true, _) => failures.saturating_add(1),
        (false, true) => 0,
        (false, false) => failures,
    }
}

/// Returns two delays before the next round of a worker with this interval: after the first
/// failure, and the maximum after many failures.
fn delays_of(interval: Duration) -> (Duration, Duration) {
    (FIRST_BACKOFF, interval.clamp(FIRST_BACKOFF, MAX_BACKOFF))
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
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
            until(|| rounds.load(Ordering::Relaxed) > 2 && is_listed() == is_listed_at_the_end)
                .await;
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
        until(|| Arc::strong_count(&rounds) == 2 && Arc::strong_count(&supervisor.workers) == 1)
            .await;
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
}
