//! Workers: the interface of background work, which runs without a request.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use super::Engine;
use crate::model::Result;

/// Future of one job of background work.
pub type Job = BoxFuture<'static, Result<()>>;

/// Background work of one kind, done in rounds. The host application runs all
/// [`workers`](crate::workers) of a service, usually under the supervisor in `runtime`.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Name of the worker in logs and in the health report.
    fn name(&self) -> &'static str;

    /// Returns the timing of the rounds and the limits of the jobs.
    fn schedule(&self) -> Schedule;

    /// Runs one round: finds the work that is due, and returns at most `room` jobs that do it.
    async fn jobs(&self, engine: &Arc<Engine>, room: usize) -> Result<Vec<Job>>;
}

/// Timing of a worker's rounds, and limits of its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Delay before the first round.
    pub first: Duration,
    /// Interval between rounds.
    pub interval: Duration,
    /// Timeout of each job.
    pub timeout: Duration,
    /// Maximum number of concurrent jobs.
    pub max_jobs: usize,
    /// Time without a completed round after which the worker counts as stopped.
    pub stale_after: Duration,
}

/// A worker that runs the same single job in every round, such as pruning.
#[derive(Clone, Copy)]
pub struct Periodic {
    /// Name of the worker in logs and in the health report.
    pub name: &'static str,
    /// Times at which the job runs.
    pub schedule: Schedule,
    /// Function that returns the job to run.
    pub job: fn(Arc<Engine>) -> Job,
}

impl Schedule {
    /// Returns a schedule whose first round starts immediately and the next rounds at each
    /// interval. One job at a time, with a timeout of a minute.
    #[must_use]
    pub const fn every(interval: Duration) -> Self {
        let timeout = Duration::from_mins(1);
        // Three rounds, the last of which may take all its time.
        let stale_after = interval.saturating_mul(3).saturating_add(timeout);
        Self { first: Duration::ZERO, interval, timeout, max_jobs: 1, stale_after }
    }

    /// Returns a schedule whose first round starts after a minute and the next rounds every hour.
    /// One job at a time, with a timeout of half an hour.
    #[must_use]
    pub const fn hourly() -> Self {
        Self {
            first: Duration::from_mins(1),
            interval: Duration::from_hours(1),
            timeout: Duration::from_mins(30),
            max_jobs: 1,
            stale_after: Duration::from_hours(4),
        }
    }
}

#[async_trait]
impl Worker for Periodic {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schedule(&self) -> Schedule {
        self.schedule
    }

    async fn jobs(&self, engine: &Arc<Engine>, room: usize) -> Result<Vec<Job>> {
        Ok((0..room.min(1)).map(|_| (self.job)(Arc::clone(engine))).collect())
    }
}
