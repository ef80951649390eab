//! Clock: the source of the current time for all code, so that tests can control it.

use std::sync::Mutex;

use chrono::{DateTime, Days, NaiveTime, SubsecRound, TimeDelta, Utc};

use crate::model::lock::lock;

/// Point in time in UTC, with a precision of microseconds, which every store keeps without loss.
pub type Time = DateTime<Utc>;

/// Returns the beginning of the day (UTC) after this time.
pub(crate) fn next_day(now: Time) -> Time {
    (now.date_naive() + Days::new(1)).and_time(NaiveTime::MIN).and_utc()
}

/// Returns the beginning of the minute after this time.
pub(crate) fn next_minute(now: Time) -> Time {
    let minute = now.timestamp().div_euclid(60) + 1;
    DateTime::from_timestamp(minute * 60, 0).unwrap_or(now + TimeDelta::minutes(1))
}

/// Source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time, truncated to microseconds.
    fn now(&self) -> Time;
}

/// Clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "all other code uses this clock")]
    fn now(&self) -> Time {
        let now: Time = std::time::SystemTime::now().into();
        now.trunc_subsecs(6)
    }
}

/// Clock for tests that stands still until it is advanced.
#[derive(Debug)]
pub struct ManualClock(Mutex<Time>);

impl ManualClock {
    /// Creates a clock whose current time is `start`.
    #[must_use]
    pub fn new(start: Time) -> Self {
        Self(Mutex::new(start.trunc_subsecs(6)))
    }

    /// Advances the clock by the given time.
    pub fn advance(&self, by: TimeDelta) {
        let mut now = lock(&self.0);
        *now += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        *lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_ends_at_the_next_full_one() {
        for (now, end) in [(0, 60), (59, 60), (60, 120), (-1, 0)] {
            let [now, end] = [now, end].map(|time| DateTime::from_timestamp(time, 0).unwrap());

            assert_eq!(next_minute(now), end, "{now}");
        }
    }
}
