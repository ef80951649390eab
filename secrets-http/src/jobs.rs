//! What the service does without being asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use secrets_core::Service;
use secrets_core::clock::Clock;
use secrets_core::store::StoreResult;
use tokio::time::MissedTickBehavior;

/// How often the jobs are run.
const TICK: Duration = Duration::from_secs(10);

/// How often somebody looks whether there is something to send.
const LOOK: Duration = Duration::from_secs(2);

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
    /// are in the log before somebody asks; seals what the audit log took, and removes what it kept
    /// long enough.
    pub async fn run(self, service: Arc<Service>) {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            service.health().await;
            report("seal the audit log", service.seal_audit().await.map(drop));
            report("prune the audit log", service.prune_audit().await);
            report("forget ended logins", service.forget_ended_logins().await);
            self.last.store(self.clock.now().timestamp(), Ordering::Relaxed);
        }
    }

    /// Whether the jobs ran lately.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.clock.now().timestamp() - self.last.load(Ordering::Relaxed) < STALE
    }
}

/// Sends what operations left to be sent, for ever. A job of its own: a server that is slow to take
/// mail holds up nothing else.
pub async fn deliver(service: Arc<Service>) {
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        loop {
            match service.deliver_due().await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    report("send", Err(error));
                    break;
                }
            }
        }
    }
}

/// A job that failed is tried again with the next tick.
fn report(job: &str, outcome: StoreResult<()>) {
    if let Err(error) = outcome {
        tracing::error!(job, error = &error as &dyn std::error::Error, "a job failed");
    }
}
