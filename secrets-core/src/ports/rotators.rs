//! Drivers for rotations, with their timeouts and intervals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::rotator::{DatabaseRotator, Fault, Target, TargetError};
use super::timer::Timer;
use crate::model::rotations::{ConnectionMethod, DatabaseKind};

/// Drivers that change credentials in databases, with the timer and the timings of rotations.
#[derive(Clone)]
pub struct Rotators {
    /// Drivers for direct connections, by the name of their kind of database. A kind of database
    /// without a driver cannot be rotated directly.
    direct: BTreeMap<&'static str, DirectDriver>,
    /// Driver for databases that are reached through an AWS Lambda function (proxy).
    pub proxied: Option<Arc<dyn DatabaseRotator>>,
    /// Timer for delays and timeouts of rotations.
    pub timer: Arc<dyn Timer>,
    /// Timeouts and intervals of rotations.
    pub timings: Timings,
}

/// Driver that connects directly to databases of one kind.
#[derive(Clone)]
struct DirectDriver {
    kind: DatabaseKind,
    driver: Arc<dyn DatabaseRotator>,
}

/// Timeouts and intervals of rotations. All can be set, so that tests can be fast.
#[derive(Debug, Clone, Copy)]
pub struct Timings {
    /// Duration of a lease, which reserves a rotation for one node. Another node can work on the
    /// rotation after the lease has ended.
    pub lease: Duration,
    /// Interval at which a node renews its lease while it works on a rotation.
    pub heartbeat: Duration,
    /// Minimum time that must be left on the lease when a command is sent to a target database.
    pub margin: Duration,
    /// Delays before each of the three retries if the target database is unreachable.
    pub retries: [Duration; 3],
    /// Maximum time that may pass after a password change until a login with the new credential
    /// succeeds.
    pub verify: Duration,
    /// Maximum time that a caller waits for the result of a manual rotation.
    pub budget: Duration,
    /// Delay before the next attempt after a rotation's first failure. The delay doubles with each
    /// further failure, up to `max_backoff`.
    pub backoff: Duration,
    /// Maximum delay before the next attempt after a failed one.
    pub max_backoff: Duration,
    /// Interval between attempts to rotate a credential in status `error`.
    pub probe: Duration,
    /// Time during which the previous credential still works after a rotation. `None` means a day,
    /// or half the rotation interval if that is shorter.
    pub grace: Option<Duration>,
    /// Interval between attempts to disable the login of the previous credential.
    pub retire: Duration,
    /// Delays before the regular checks that the credential in the secrets can still log in. The
    /// first delay begins with the rotation, each other delay with the previous check. The last
    /// delay is repeated.
    pub checks: [Duration; 4],
    /// Maximum jitter of the next rotation: the time by which it is moved at random, earlier or
    /// later, so that not all rotations are due together. Never more than a tenth of the interval.
    pub jitter: Duration,
    /// Duration that counts as one day in `rotation_interval_days` and in the default grace
    /// period; shorter in tests.
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

    /// Adds or replaces the driver of a kind of database. From then on, rotations can be created
    /// with the name of this kind as `integration_type`.
    #[must_use]
    pub fn with(mut self, kind: DatabaseKind, driver: Arc<dyn DatabaseRotator>) -> Self {
        self.direct.insert(kind.name, DirectDriver { kind, driver });
        self
    }

    /// Returns the kinds of database with a driver for direct connections.
    pub(crate) fn direct_kinds(&self) -> impl Iterator<Item = DatabaseKind> {
        self.direct.values().map(|direct| direct.kind)
    }

    /// Returns the driver for this connection method and the target's kind of database. Fails if
    /// there is no such driver.
    pub(crate) fn driver(
        &self,
        method: ConnectionMethod,
        target: &Target,
    ) -> Result<&dyn DatabaseRotator, TargetError> {
        let (driver, missing) = match method {
            ConnectionMethod::Direct => {
                let direct = self.direct.get(target.kind.name);
                (direct.map(|direct| &direct.driver), Fault::Unsupported)
            }
            ConnectionMethod::Proxied => (self.proxied.as_ref(), Fault::ProxyUnavailable),
        };
        driver.map(AsRef::as_ref).ok_or(TargetError::of(missing))
    }
}
