//! Time, as a port: what the service believes comes from one place and can be moved in tests.

use std::sync::Mutex;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

/// A moment, in UTC and whole microseconds (what every store keeps without loss).
pub type Time = DateTime<Utc>;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The present moment, cut to microseconds.
    fn now(&self) -> Time;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock the others are told to ask")]
    fn now(&self) -> Time {
        let now: Time = std::time::SystemTime::now().into();
        now.trunc_subsecs(6)
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(Mutex<Time>);

impl ManualClock {
    /// A clock showing `start`.
    #[must_use]
    pub fn new(start: Time) -> Self {
        Self(Mutex::new(start.trunc_subsecs(6)))
    }

    /// Moves on.
    pub fn advance(&self, by: TimeDelta) {
        let mut now = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *now += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
