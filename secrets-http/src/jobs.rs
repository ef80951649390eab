//! What the service does without being asked.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use secrets_core::service::Service;
use secrets_core::model::Clock;
use secrets_core::outbox::Channel;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// How often the jobs are run.
const TICK: Duration = Duration::from_secs(10);

/// How many ticks lie between purges, and before the first.
const PURGE: u64 = 360;
const FIRST_PURGE: u64 = 6;

/// How often somebody looks whether there is something to send.
const LOOK: Duration = Duration::from_secs(2);
/// How often somebody looks whether a rotation is due.
const LOOK_FOR_ROTATIONS: Duration = Duration::from_secs(1);

/// After how many seconds without a tick the jobs are taken to have stopped.
const STALE: i64 = 60;

/// Runs jobs, and knows whether it still does.
#[derive(Clone)]
pub struct Scheduler {
    clock: Arc<dyn Clock>,
    last: Arc<AtomicI64>,
    stopped: watch::Sender<bool>,
}

impl Scheduler {
    /// A scheduler that counts from now.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let last = Arc::new(AtomicI64::new(clock.now().timestamp()));
        Self { clock, last, stopped: watch::Sender::new(false) }
    }

    /// Runs the jobs for ever: looks after the store, so that a fault and a clock that runs away
    /// are in the log before somebody asks; seals what the audit log took.
    ///
    /// What was deleted or kept long enough goes for good a minute after the start, and every hour.
    pub async fn run(self, service: Arc<Service>) {
        let mut ticks = tokio::time::interval(TICK);
        for tick in 0_u64.. {
            ticks.tick().await;
            service.health().await;
            report("seal the audit log", service.seal_audit().await.map(drop));
            report("forget ended logins", service.forget_ended_logins().await);
            report("write uses of tokens", service.write_token_uses().await);
            if tick % PURGE == FIRST_PURGE {
                report("prune the audit log", service.prune_audit().await);
                let pruned = service.prune_webhook_deliveries().await;
                report("prune deliveries to webhooks", pruned);
                purge(&service).await;
            }
            self.last.store(self.clock.now().timestamp(), Ordering::Relaxed);
        }
    }

    /// Tells those whose answers would not end by themselves that the service stops.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Becomes true when the service stops.
    #[must_use]
    pub fn stopped(&self) -> watch::Receiver<bool> {
        self.stopped.subscribe()
    }

    /// Whether the jobs ran lately.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.clock.now().timestamp() - self.last.load(Ordering::Relaxed) < STALE
    }
}

/// Sends what was left to be sent one way, for ever, at most `most` at once. A job of its own for
/// each way, and a task for each delivery: a receiver that is slow holds up nobody else.
pub async fn deliver(service: Arc<Service>, channel: Channel, most: usize) {
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut under_way = JoinSet::new();
    loop {
        let room = most - under_way.len();
        let claimed = service.claim_due(channel, room).await.unwrap_or_else(|error| {
            report("claim what is to be sent", Err(error));
            Vec::new()
        });
        let is_full = claimed.len() == room;
        for delivery in claimed {
            let service = Arc::clone(&service);
            under_way.spawn(async move { report("send", service.deliver(delivery).await) });
        }
        // There may be more than there was room for.
        if is_full {
            under_way.join_next().await;
        } else {
            looks.tick().await;
        }
        while under_way.try_join_next().is_some() {}
    }
}

/// Rotates what is due, and goes on with what was left, until the service stops; what is under way
/// then goes on after the next start. A job of its own: databases may be slow.
pub async fn rotate(service: Arc<Service>) {
    let mut working = JoinSet::new();
    let mut looks = tokio::time::interval(LOOK_FOR_ROTATIONS);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            // There is room again.
            Some(_) = working.join_next() => {}
        }
        match service.claim_rotations().await {
            Ok(claims) => {
                for claim in claims {
                    let service = Arc::clone(&service);
                    working.spawn(async move { service.work(claim).await });
                }
            }
            Err(error) => report("look for rotations", Err(error)),
        }
    }
}

/// A job that failed is tried again with the next tick.
pub(crate) fn report<E: Error + 'static>(job: &str, outcome: Result<(), E>) {
    if let Err(error) = outcome {
        tracing::error!(job, error = &error as &dyn Error, "a job failed");
    }
}

async fn purge(service: &Service) {
    match service.purge_projects().await {
        Ok(0) => {}
        Ok(projects) => tracing::info!(projects, "purged what was deleted long ago"),
        Err(error) => report("purge projects", Err(error)),
    }
}
