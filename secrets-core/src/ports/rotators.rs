//! Drivers for rotations, with their timeouts and intervals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::rotator::{DatabaseRotator, Fault, Target, TargetError};
use super::timer::Timer;
use crate::model::rotations::{ConnectionMethod, Integration};

/// Drivers that change credentials on databases, with the timer and the timings of rotations.
#[derive(Clone)]
pub struct Rotators {
    /// Drivers for direct connections. A kind of database without a driver cannot be rotated
    /// directly.
    pub direct: BTreeMap<Integration, Arc<dyn DatabaseRotator>>,
    /// Driver for databases that are reached through a proxy function.
    pub proxied: Option<Arc<dyn DatabaseRotator>>,
    /// Timer.
    pub timer: Arc<dyn Timer>,
    /// Timeouts and intervals.
    pub timings: Timings,
}

/// Timeouts and intervals of rotations. All are configurable so that tests with debug builds can be
/// fast.
#[derive(Debug, Clone, Copy)]
pub struct Timings {
    /// Duration of a node's lease on a rotation.
    pub lease: Duration,
    /// Interval at which the lease is renewed during work.
    pub heartbeat: Duration,
    /// Minimum time left on the lease before a command is sent to a target.
    pub margin: Duration,
    /// Delays before retries of an unreachable target.
    pub retries: [Duration; 3],
    /// Maximum time after a password change until a login with the new credential must succeed.
    pub verify: Duration,
    /// Maximum time a manual rotation takes before the caller gets a result.
    pub budget: Duration,
    /// Delay before the next attempt after the first failure; doubled after each further failure,
    /// up to `max_backoff`.
    pub backoff: Duration,
    /// Maximum delay before the next attempt after a failure.
    pub max_backoff: Duration,
    /// Retry interval of rotations in status `error`.
    pub probe: Duration,
    /// Grace period during which the previous credential still works. `None` means a day, or half
    /// the rotation interval if that is shorter.
    pub grace: Option<Duration>,
    /// Retry interval for disabling the login of the previous credential.
    pub retire: Duration,
    /// Delays between checks of the served credential after a rotation. The last delay is repeated.
    pub checks: [Duration; 4],
    /// Maximum jitter of the next rotation, so that rotations are not all due together. Never more
    /// than a tenth of the interval.
    pub jitter: Duration,
    /// Length of a day of `rotation_interval_days`; shorter in tests.
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
            max_backoff: minutes(6 * 60),
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
    /// Creates an empty set of drivers with the default timings.
    #[must_use]
    pub fn new(timer: Arc<dyn Timer>) -> Self {
        Self { direct: BTreeMap::new(), proxied: None, timer, timings: Timings::default() }
    }

    /// Adds or replaces the driver of a kind of database.
    #[must_use]
    pub fn with(mut self, integration: Integration, driver: Arc<dyn DatabaseRotator>) -> Self {
        self.direct.insert(integration, driver);
        self
    }

    /// Returns the driver for a target, by its kind of database and its connection method.
    pub(crate) fn driver(
        &self,
        method: ConnectionMethod,
        target: &Target,
    ) -> Result<&dyn DatabaseRotator, TargetError> {
        let (driver, missing) = match method {
            ConnectionMethod::Direct => (self.direct.get(&target.integration), Fault::Unsupported),
            ConnectionMethod::Proxied => (self.proxied.as_ref(), Fault::ProxyUnavailable),
        };
        driver.map(AsRef::as_ref).ok_or(TargetError::of(missing))
    }
}
