//! Support for tokio: timers, threads for CPU-bound work, the supervisor of background work, the
//! registry of watches, and the copy of the epoch in a file.

mod epoch_file;
mod supervisor;
mod watches;

use std::time::Duration;

use async_trait::async_trait;

pub use epoch_file::EpochFile;
pub use supervisor::{Supervisor, WorkerHealth};
pub use watches::{WatchOptions, WatchRegistry};

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

/// Runner of CPU-bound work on tokio's thread pool for blocking work.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioOffload;

#[async_trait]
impl Offload for TokioOffload {
    async fn run(&self, work: Work) {
        // The waiting caller detects a panic, because the closure's result channel is dropped.
        drop(tokio::task::spawn_blocking(work).await);
    }
}
