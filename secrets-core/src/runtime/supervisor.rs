//! The supervisor of background work.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

use crate::engine::{Engine, Schedule, Worker};
use crate::model::lock::lock;

/// Timeout for finding the jobs of a round.
const ROUND_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum delay before a worker whose round failed runs again.
const MAX_BACKOFF: Duration = Duration::from_mins(5);

/// Runs workers until it is stopped: each in its own task, with a timeout for each job and an
/// increasing delay after failed rounds. A worker that panics is restarted. A clone controls the
/// same workers.
#[derive(Clone)]
pub struct Supervisor {
    workers: Arc<[Supervised]>,
    stopped: watch::Sender<bool>,
}

/// Health of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerHealth {
    /// Name of the worker.
    pub name: &'static str,
    /// Time since the worker's last completed round.
    pub age: Duration,
    /// True if the last round was recent enough: within three intervals, or longer for workers with
    /// short intervals or long jobs.
    pub is_running: bool,
}

struct Supervised {
    worker: Arc<dyn Worker>,
    schedule: Schedule,
    heartbeat: Mutex<Instant>,
}

impl Supervisor {
    /// Creates a supervisor of these workers. They do not run before [`run`](Self::run) is called.
    #[must_use]
    pub fn new(workers: Vec<Arc<dyn Worker>>) -> Self {
        let supervised = |worker: Arc<dyn Worker>| {
            let (schedule, heartbeat) = (worker.schedule(), Mutex::new(Instant::now()));
            Supervised { worker, schedule, heartbeat }
        };
        let workers = workers.into_iter().map(supervised).collect();
        Self { workers, stopped: watch::Sender::new(false) }
    }

    /// Runs the workers until [`stop`](Self::stop). Running jobs are then cancelled; unfinished
    /// work continues from its stored state after a restart.
    pub async fn run(&self, engine: Arc<Engine>) {
        let mut tasks = JoinSet::new();
        for place in 0..self.workers.len() {
            tasks.spawn(self.clone().supervise(place, Arc::clone(&engine)));
        }
        drop(engine);
        let mut stopped = self.stopped();
        drop(stopped.wait_for(|stopped| *stopped).await);
    }

    /// Stops the workers.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Returns a receiver whose value becomes true when the supervisor is stopped.
    #[must_use]
    pub fn stopped(&self) -> watch::Receiver<bool> {
        self.stopped.subscribe()
    }

    /// Returns the health of each worker.
    #[must_use]
    pub fn health(&self) -> Vec<WorkerHealth> {
        self.workers.iter().map(Supervised::health).collect()
    }

    /// True if every worker's rounds complete in time.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.workers.iter().all(|worker| worker.health().is_running)
    }

    /// Runs a worker, and restarts it after a panic.
    async fn supervise(self, place: usize, engine: Arc<Engine>) {
        loop {
            let (workers, engine) = (Arc::clone(&self.workers), Arc::clone(&engine));
            // In a `JoinSet`, so that the worker is cancelled together with this task.
            let mut task = JoinSet::new();
            task.spawn(async move { workers[place].run(engine).await });
            drop(task.join_next().await);
            tracing::error!(worker = self.workers[place].worker.name(), "a worker panicked");
            sleep(self.workers[place].schedule.interval).await;
        }
    }
}

impl Supervised {
    async fn run(&self, engine: Arc<Engine>) {
        let Schedule { first, interval, max_jobs, .. } = self.schedule;
        let mut ticks = interval_at(Instant::now() + first, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut jobs, mut failures) = (JoinSet::new(), 0_u32);
        loop {
            let mut failed = tokio::select! {
                _ = ticks.tick() => false,
                // There is room again, and there may be more work.
                Some(done) = jobs.join_next(), if max_jobs > 1 => self.report(failure(done).as_deref()),
            };
            while let Some(done) = jobs.try_join_next() {
                failed |= self.report(failure(done).as_deref());
            }
            failed &= max_jobs == 1;
            if let Err(reason) = self.round(&engine, &mut jobs).await {
                failed |= self.report(Some(&reason));
            }
            failures = if failed { failures + 1 } else { 0 };
            if failures > 0 {
                sleep(backoff(interval, failures)).await;
            }
        }
    }

    /// Starts the jobs of one round.
    async fn round(
        &self,
        engine: &Arc<Engine>,
        jobs: &mut JoinSet<Option<String>>,
    ) -> Result<(), String> {
        let room = self.schedule.max_jobs.saturating_sub(jobs.len());
        if room > 0 {
            let found = timeout(ROUND_TIMEOUT, self.worker.jobs(engine, room)).await;
            let found = found.map_err(|_| "timed out".to_owned())?;
            for job in found.map_err(|error| described(&error))? {
                let deadline = self.schedule.timeout;
                jobs.spawn(async move {
                    match timeout(deadline, job).await {
                        Ok(Ok(())) => None,
                        Ok(Err(error)) => Some(described(&error)),
                        Err(_) => Some("timed out".to_owned()),
                    }
                });
            }
        }
        // No heartbeat while the only job of a worker is running, so that a job that hangs is
        // noticed.
        if self.schedule.max_jobs > 1 || room > 0 {
            *lock(&self.heartbeat) = Instant::now();
        }
        Ok(())
    }

    /// Logs a failure, if there is one. Returns true if there is a failure.
    fn report(&self, failure: Option<&str>) -> bool {
        if let Some(error) = failure {
            tracing::error!(worker = self.worker.name(), error, "background work failed");
        }
        failure.is_some()
    }

    fn health(&self) -> WorkerHealth {
        let age = lock(&self.heartbeat).elapsed();
        let is_running = age < self.schedule.stale_after;
        WorkerHealth { name: self.worker.name(), age, is_running }
    }
}

/// Returns the failure of a job that has ended; `None` if the job succeeded.
fn failure(done: Result<Option<String>, JoinError>) -> Option<String> {
    done.unwrap_or_else(|error| Some(error.to_string()))
}

fn backoff(interval: Duration, failures: u32) -> Duration {
    interval.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(MAX_BACKOFF)
}

/// Formats an error with its causes on one line, for the log.
fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_fails_is_tried_later_and_later() {
        let second = Duration::from_secs(1);
        let delays = [1, 2, 3, 20].map(|failures| backoff(second, failures).as_secs());

        assert_eq!(delays, [2, 4, 8, 300]);
    }
}
