//! Timeouts and intervals of rotations, and the ports they use.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::model::rotations::{ConnectionMethod, Integration};
use crate::ports::rotator::{DatabaseRotator, Fault, Target, TargetError};

/// A timer.
#[async_trait]
pub trait Timer: Send + Sync {
    /// Completes after the given duration.
    async fn sleep(&self, duration: Duration);
}

/// External dependencies of rotations.
#[derive(Clone)]
pub struct Rotators {
    /// Rotator for PostgreSQL.
    pub postgresql: Arc<dyn DatabaseRotator>,
    /// Rotator for MySQL and MariaDB.
    pub mysql: Arc<dyn DatabaseRotator>,
    /// Rotator for databases that are reached through a proxy function.
    pub proxied: Option<Arc<dyn DatabaseRotator>>,
    /// Timer.
    pub timer: Arc<dyn Timer>,
    /// Timeouts and intervals.
    pub timings: Timings,
}

/// Timeouts and intervals. They are all configurable so that tests of debug builds can be fast.
#[derive(Debug, Clone, Copy)]
pub struct Timings {
    /// Duration of a lease.
    pub lease: Duration,
    /// Interval between renewals of a lease during work.
    pub heartbeat: Duration,
    /// Minimum time left on the lease before a command is sent to a target.
    pub margin: Duration,
    /// Delays before retries of an unreachable target.
    pub retries: [Duration; 3],
    /// Maximum time until a new credential must work.
    pub verify: Duration,
    /// Maximum time a manual rotation takes before the caller gets a result.
    pub budget: Duration,
    /// Delay after the first failure; doubled after each further failure, up to `longest_backoff`.
    pub backoff: Duration,
    /// Maximum delay after a failure.
    pub longest_backoff: Duration,
    /// Retry interval of rotations in error.
    pub probe: Duration,
    /// Grace period of the previous credential. `None` means a day, or half the interval if that is
    /// shorter.
    pub grace: Option<Duration>,
    /// Retry interval for locking the previous credential.
    pub retire: Duration,
    /// Delays between checks of the served credential after a rotation. The last is repeated.
    pub checks: [Duration; 4],
    /// Maximum jitter of the next rotation, so that rotations are not all due together. Never more
    /// than a tenth of the interval.
    pub jitter: Duration,
    /// Length of a day in `rotation_interval_days`.
    pub day: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        let minutes = Duration::from_mins;
        Self {
            lease: minutes(1),
            heartbeat: Duration::from_secs(15),
            margin: Duration::from_secs(25),
            retries: [1, 4, 9].map(Duration::from_secs),
            verify: minutes(1),
            budget: Duration::from_secs(45),
            backoff: minutes(5),
            longest_backoff: minutes(6 * 60),
            probe: minutes(24 * 60),
            grace: None,
            retire: minutes(5),
            checks: [minutes(1), minutes(5), minutes(30), minutes(24 * 60)],
            jitter: minutes(60),
            day: minutes(24 * 60),
        }
    }
}

impl Rotators {
    /// Selects the rotator for a target.
    pub(crate) fn of(
        &self,
        method: ConnectionMethod,
        target: &Target,
    ) -> Result<&dyn DatabaseRotator, TargetError> {
        match (method, target.integration) {
            (ConnectionMethod::Direct, Integration::Postgresql) => Ok(self.postgresql.as_ref()),
            (ConnectionMethod::Direct, Integration::Mysql) => Ok(self.mysql.as_ref()),
            (ConnectionMethod::Proxied, _) => {
                self.proxied.as_deref().ok_or(TargetError::of(Fault::ProxyUnavailable))
            }
        }
    }
}
