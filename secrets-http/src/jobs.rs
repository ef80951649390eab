//! Background jobs of the service.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use secrets_core::Service;
use secrets_core::model::Clock;
use secrets_core::outbox::Channel;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// Interval of the periodic jobs.
const TICK_INTERVAL: Duration = Duration::from_secs(10);

/// Number of ticks between purges, and before the first purge.
const PURGE_TICKS: u64 = 360;
const FIRST_PURGE_TICK: u64 = 6;

/// Poll interval of the outbox.
const OUTBOX_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Poll interval for due rotations.
const ROTATION_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Seconds without a tick after which the scheduler counts as stopped.
const STALE_SECONDS: i64 = 60;

/// Runs the periodic jobs, and reports whether they still run.
#[derive(Clone)]
pub struct Scheduler {
    clock: Arc<dyn Clock>,
    last: Arc<AtomicI64>,
    stopped: watch::Sender<bool>,
}

impl Scheduler {
    /// Creates a scheduler. [`Self::is_running`] counts from now.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let last = Arc::new(AtomicI64::new(clock.now().timestamp()));
        Self { clock, last, stopped: watch::Sender::new(false) }
    }

    /// Runs the periodic jobs, without end.
    ///
    /// Every tick: checks the health of the store, so that faults and clock drift are logged early;
    /// seals new audit log entries; deletes ended logins; writes the last-used times of tokens. A
    /// minute after the start and then every hour: deletes expired audit log entries and webhook
    /// deliveries, and purges deleted projects.
    pub async fn run(self, service: Arc<Service>) {
        let mut ticks = tokio::time::interval(TICK_INTERVAL);
        for tick in 0_u64.. {
            ticks.tick().await;
            service.health().await;
            report("seal the audit log", service.seal_audit().await.map(drop));
            report("delete ended logins", service.forget_ended_logins().await);
            report("write last-used times of tokens", service.write_token_uses().await);
            if tick % PURGE_TICKS == FIRST_PURGE_TICK {
                report("prune the audit log", service.prune_audit().await);
                let pruned = service.prune_webhook_deliveries().await;
                report("prune webhook deliveries", pruned);
                purge(&service).await;
            }
            self.last.store(self.clock.now().timestamp(), Ordering::Relaxed);
        }
    }

    /// Signals the shutdown to endless responses, such as watches.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Returns a receiver that becomes `true` when the service stops.
    #[must_use]
    pub fn stopped(&self) -> watch::Receiver<bool> {
        self.stopped.subscribe()
    }

    /// True if the jobs completed a tick within the last 60 seconds.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.clock.now().timestamp() - self.last.load(Ordering::Relaxed) < STALE_SECONDS
    }
}

/// Delivers the outbox entries of a channel, without end, at most `max_in_flight` at the same
/// time.
///
/// Each channel has its own job, and each delivery its own task, so that a slow receiver does not
/// delay the others.
pub async fn deliver(service: Arc<Service>, channel: Channel, max_in_flight: usize) {
    let mut polls = tokio::time::interval(OUTBOX_POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut in_flight = JoinSet::new();
    loop {
        let capacity = max_in_flight - in_flight.len();
        let claimed = service.claim_due(channel, capacity).await.unwrap_or_else(|error| {
            report("claim outbox deliveries", Err(error));
            Vec::new()
        });
        let is_full = claimed.len() == capacity;
        for delivery in claimed {
            let service = Arc::clone(&service);
            in_flight.spawn(async move {
                report("send an outbox delivery", service.deliver(delivery).await)
            });
        }
        // A full batch: more deliveries may be due, so poll again as soon as one finishes.
        if is_full {
            in_flight.join_next().await;
        } else {
            polls.tick().await;
        }
        while in_flight.try_join_next().is_some() {}
    }
}

/// Runs due rotations and resumes interrupted ones, until the service stops. Rotations running at
/// the stop are resumed after the next start. A separate job, because databases may be slow.
pub async fn rotate(service: Arc<Service>) {
    let mut running = JoinSet::new();
    let mut polls = tokio::time::interval(ROTATION_POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = polls.tick() => {}
            // A finished rotation frees capacity for another one.
            Some(_) = running.join_next() => {}
        }
        match service.claim_rotations().await {
            Ok(claims) => {
                for claim in claims {
                    let service = Arc::clone(&service);
                    running.spawn(async move { service.work(claim).await });
                }
            }
            Err(error) => report("claim due rotations", Err(error)),
        }
    }
}

/// Logs the failure of a job. The job is retried at the next tick.
pub(crate) fn report<E: Error + 'static>(job: &str, outcome: Result<(), E>) {
    if let Err(error) = outcome {
        tracing::error!(job, error = &error as &dyn Error, "a job failed");
    }
}

async fn purge(service: &Service) {
    match service.purge_projects().await {
        Ok(0) => {}
        Ok(projects) => tracing::info!(projects, "purged deleted projects"),
        Err(error) => report("purge projects", Err(error)),
    }
}
