//! Workers: the interface of background work, which runs without a caller's request.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use super::Engine;
use crate::model::Result;

/// Future that performs one job of a worker.
pub type Job = BoxFuture<'static, Result<()>>;

/// Background work of one kind, such as sending e-mail. A worker runs repeatedly: each run (round)
/// finds the work that is due and performs it in jobs. The host application runs all
/// [`workers`](crate::workers) of a service, usually under the supervisor in `runtime`.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Name of the worker in logs and in the health report.
    fn name(&self) -> &'static str;

    /// Returns the intervals at which the worker runs, and the limits of its jobs.
    fn schedule(&self) -> Schedule;

    /// Performs one run (round) of the worker: finds the work that is due, and returns at most
    /// `room` jobs that perform the work.
    async fn jobs(&self, engine: &Arc<Engine>, room: usize) -> Result<Vec<Job>>;
}

/// Intervals at which a worker runs, and limits of its jobs. One run of a worker is a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Delay between the start of the worker and the first round.
    pub first: Duration,
    /// Interval between two rounds.
    pub interval: Duration,
    /// Maximum duration of each job.
    pub timeout: Duration,
    /// Maximum number of jobs of the worker that run at the same time.
    pub max_jobs: usize,
    /// Time without a completed round after which the health report shows the worker as stopped.
    pub stale_after: Duration,
}

/// Worker that performs the same single job in every round, such as deleting old records.
#[derive(Clone, Copy)]
pub struct Periodic {
    /// Name of the worker in logs and in the health report.
    pub name: &'static str,
    /// Intervals at which the job runs, and its timeout.
    pub schedule: Schedule,
    /// Function that creates the future that performs the job.
    pub job: fn(Arc<Engine>) -> Job,
}

impl Schedule {
    /// Returns a schedule whose first round starts immediately, and each further round after
    /// `interval`. Only one job runs at a time, with a timeout of one minute.
    #[must_use]
    pub const fn every(interval: Duration) -> Self {
        let timeout = Duration::from_mins(1);
        // Three intervals, and the maximum duration of the last job.
        let stale_after = interval.saturating_mul(3).saturating_add(timeout);
        Self { first: Duration::ZERO, interval, timeout, max_jobs: 1, stale_after }
    }

    /// Returns a schedule whose first round starts after one minute, and each further round after
    /// an hour. Only one job runs at a time, with a timeout of half an hour.
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

/// Lets other tasks run. Needed in a long job, because a store in memory never suspends the current
/// task.
pub(crate) async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
