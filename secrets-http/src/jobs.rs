//! What the service does without being asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use secrets_core::Service;
use secrets_core::clock::Clock;

/// How often the jobs are run.
const TICK: Duration = Duration::from_secs(10);

/// After how many seconds without a tick the jobs are taken to have stopped.
const STALE: i64 = 60;

/// Runs jobs, and knows whether it still does.
#[derive(Clone)]
pub struct Scheduler {
    clock: Arc<dyn Clock>,
    last: Arc<AtomicI64>,
}

impl Scheduler {
    /// A scheduler that counts from now.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let last = Arc::new(AtomicI64::new(clock.now().timestamp()));
        Self { clock, last }
    }

    /// Runs the jobs for ever: looks after the store, so that a fault and a clock that runs away
    /// are in the log before somebody asks.
    pub async fn run(self, service: Arc<Service>) {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            service.health().await;
            write_token_uses(&service).await;
            self.last.store(self.clock.now().timestamp(), Ordering::Relaxed);
        }
    }

    /// Whether the jobs ran lately.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.clock.now().timestamp() - self.last.load(Ordering::Relaxed) < STALE
    }
}

/// Writes when tokens were last used; what cannot be written now is tried again.
pub(crate) async fn write_token_uses(service: &Service) {
    if let Err(error) = service.write_token_uses().await {
        tracing::warn!(%error, "the last uses of tokens are not written yet");
    }
}
