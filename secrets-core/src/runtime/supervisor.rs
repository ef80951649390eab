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

/// Maximum duration of one search of a worker for due jobs. Short enough that two such timeouts,
/// with the delays after them, take less than a minute.
const ROUND_TIMEOUT: Duration = Duration::from_secs(15);

/// Delay before the retry after a worker's first failure. The delay doubles with each further
/// failure, up to the interval of the worker or [`MAX_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_secs(2);

/// Maximum delay before the retry after failures, for workers with a longer interval.
const MAX_BACKOFF: Duration = Duration::from_mins(5);

/// Time between the starts of two workers. If all started at the same time, each would open its own
/// connection to the database.
const STAGGER: Duration = Duration::from_millis(5);

/// Maximum time that the supervisor waits for running jobs after it is stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Supervisor that runs workers until it is stopped. Each worker has its own task, a timeout for
/// each job, and an increasing delay after failures. A worker that panics is restarted. Clones of a
/// supervisor control the same workers.
#[derive(Clone)]
pub struct Supervisor {
    workers: Arc<[Supervised]>,
    stopped: watch::Sender<bool>,
}

/// Health of a background worker: the time since its last completed round. Failures of its jobs are
/// not included; they are in the list of failing items ([`Engine::failing`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerHealth {
    /// Name of the worker.
    pub name: &'static str,
    /// Time since the last completed round of the worker or, before the first, since the creation
    /// of the supervisor.
    pub age: Duration,
    /// True if `age` is less than [`Schedule::stale_after`].
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

    /// Signals the workers to stop. Returns immediately.
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

    /// True if [`is_running`](WorkerHealth::is_running) is true for every worker.
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
    /// Runs the worker until the supervisor is stopped. The first round begins after `delay` plus
    /// the delay of the schedule.
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
        // The heartbeat is not updated while the only job of the worker runs, so that a job that
        // hangs is detected.
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

    /// Returns the tracing span of a job. It is disabled for workers with one job per round,
    /// because most of these jobs do nothing.
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

/// Returns the first and the maximum delay before a retry, for a worker with this interval.
fn delays_of(interval: Duration) -> (Duration, Duration) {
    (FIRST_BACKOFF, interval.clamp(FIRST_BACKOFF, MAX_BACKOFF))
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests;
