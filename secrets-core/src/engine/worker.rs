//! Background work: work that no caller requests.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use super::Engine;
use crate::model::Result;

/// A piece of background work, run to its end.
pub type Job = BoxFuture<'static, Result<()>>;

/// One kind of background work. A host runs all workers of a service under the supervisor of
/// `runtime`.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Name in logs and in the health report.
    fn name(&self) -> &'static str;

    /// Times and bounds of its rounds.
    fn schedule(&self) -> Schedule;

    /// One round: finds the work that is due and returns it as at most `room` jobs.
    async fn jobs(&self, engine: &Arc<Engine>, room: usize) -> Result<Vec<Job>>;
}

/// Times and bounds of a worker's rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Delay before the first round.
    pub first: Duration,
    /// Interval between rounds.
    pub interval: Duration,
    /// Deadline of each job.
    pub timeout: Duration,
    /// Maximum number of jobs at once.
    pub max_jobs: usize,
}

/// A worker whose round is a single job, such as pruning.
#[derive(Clone, Copy)]
pub struct Periodic {
    /// Name in logs and in the health report.
    pub name: &'static str,
    /// Times of its rounds.
    pub schedule: Schedule,
    /// Builds the job.
    pub job: fn(Arc<Engine>) -> Job,
}

impl Schedule {
    /// A round at once and then at each interval, one job at a time. A job may take a minute.
    #[must_use]
    pub const fn every(interval: Duration) -> Self {
        Self { first: Duration::ZERO, interval, timeout: Duration::from_mins(1), max_jobs: 1 }
    }

    /// A round a minute after the start and then every hour. A job may take half an hour.
    #[must_use]
    pub const fn hourly() -> Self {
        Self {
            first: Duration::from_mins(1),
            interval: Duration::from_hours(1),
            timeout: Duration::from_mins(30),
            max_jobs: 1,
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
