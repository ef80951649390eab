//! The service on tokio: threads for CPU-bound work, timers, and the supervisor of background work.

mod supervisor;

use std::time::Duration;

use async_trait::async_trait;

pub use supervisor::{Supervisor, WorkerHealth};

use crate::ports::offload::{Offload, Work};
use crate::ports::timer::Timer;

/// Timer of the tokio runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioTimer;

#[async_trait]
impl Timer for TokioTimer {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Runs CPU-bound work on tokio's threads for blocking work.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioOffload;

#[async_trait]
impl Offload for TokioOffload {
    async fn run(&self, work: Work) {
        // Work that panicked has dropped the sender of its result, which its caller notices.
        drop(tokio::task::spawn_blocking(work).await);
    }
}
