//! Clock: the source of the current time for all code, so that tests can control it.

use std::sync::Mutex;

use chrono::{
    DateTime, Datelike as _, Days, NaiveTime, SubsecRound, TimeDelta, Timelike as _, Utc,
};
use serde::{Serialize, Serializer};

use crate::model::lock::lock;

/// Point in time in UTC, with a precision of microseconds, which every store keeps without loss.
pub type Time = DateTime<Utc>;

/// Time that is serialized like the implementation of `Serialize` for `DateTime` does (RFC 3339,
/// UTC, with as many groups of three decimals as needed), but with about a third of
/// the instructions.
pub(crate) struct Rfc3339<'a>(pub(crate) &'a Time);

impl Serialize for Rfc3339<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (time, micros) = (self.0, self.0.timestamp_subsec_micros());
        let is_whole = micros < 1_000_000 && time.timestamp_subsec_nanos() == micros * 1_000;
        let year = u32::try_from(time.year()).ok().filter(|year| *year <= 9_999 && is_whole);
        let Some(year) = year else { return time.serialize(serializer) };
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let fields = [
            (0..4, year),
            (5..7, time.month()),
            (8..10, time.day()),
            (11..13, time.hour()),
            (14..16, time.minute()),
            (17..19, time.second()),
            (20..26, micros),
        ];
        for (place, mut number) in fields {
            for digit in text[place].iter_mut().rev() {
                *digit += u8::try_from(number % 10).unwrap_or_default();
                number /= 10;
            }
        }
        let length = match micros {
            0 => 19,
            _ if micros % 1_000 == 0 => 23,
            _ => 26,
        };
        text[length] = b'Z';
        match std::str::from_utf8(&text[..=length]) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => time.serialize(serializer),
        }
    }
}

/// Serializes a time as [`Rfc3339`].
pub(crate) fn serialize_time<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    Rfc3339(time).serialize(serializer)
}

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
    fn a_time_is_serialized_like_a_date_time() {
        let seconds = [0, 1_795_000_000, 253_402_300_799, 253_402_300_800, -1, -62_167_219_200];
        let nanos = [0, 1_000, 10_000, 120_000, 1_000_000, 999_999_000, 5, 999_999_999];
        for second in seconds.into_iter().chain([-62_167_219_201, 951_782_399, 1_700_000_000]) {
            for nano in nanos {
                let time = DateTime::from_timestamp(second, nano).unwrap();
                let fast = serde_json::to_string(&Rfc3339(&time)).unwrap();
                assert_eq!(fast, serde_json::to_string(&time).unwrap(), "{second} {nano}");
            }
        }
        // The leap second of 2016, which `chrono` counts as more than 10^9 nanoseconds.
        let leap = DateTime::from_timestamp(1_483_228_799, 1_500_000_000).unwrap();
        let fast = serde_json::to_string(&Rfc3339(&leap)).unwrap();
        assert_eq!(fast, serde_json::to_string(&leap).unwrap());
    }

    #[test]
    fn a_minute_ends_at_the_next_full_one() {
        for (now, end) in [(0, 60), (59, 60), (60, 120), (-1, 0)] {
            let [now, end] = [now, end].map(|time| DateTime::from_timestamp(time, 0).unwrap());

            assert_eq!(next_minute(now), end, "{now}");
        }
    }
}
