//! Schedule: the times at which a rotation has work.

use std::time::Duration;

use chrono::TimeDelta;

use crate::crypto::random;
use crate::model::Time;
use crate::model::rotations::{RotationStatus, is_retried};
use crate::ports::rotators::Timings;
use crate::store::RotationRecord;

/// Maximum time in status `error`. After that, the rotation is disabled.
pub(super) const MAX_TIME_IN_ERROR: TimeDelta = TimeDelta::days(30);

/// Returns the time at which the rotation next has work: to continue an open attempt, to rotate, to
/// disable the previous credential, or to check the served credential. `None` if there is no work.
pub(super) fn work_at(
    rotation: &RotationRecord,
    has_open_attempt: bool,
    now: Time,
) -> Option<Time> {
    if has_open_attempt {
        return Some(now);
    }
    let rotates = match rotation.status {
        RotationStatus::Active => true,
        RotationStatus::Error => is_retried(rotation.failure.code.as_deref()),
        RotationStatus::Paused | RotationStatus::Disabled => false,
    };
    let checks = rotation.status != RotationStatus::Disabled;
    let due = rotates.then_some(rotation.schedule.next_at);
    let check = rotation.slots.check_at.filter(|_| checks);
    [due, rotation.slots.retire_at, check].into_iter().flatten().min()
}

/// Converts a duration to a `TimeDelta`, which can be added to a `Time`.
pub(super) fn span(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

impl Timings {
    /// Returns the time between rotations.
    pub(super) fn interval(&self, rotation: &RotationRecord) -> TimeDelta {
        span(self.day * rotation.settings.interval_days)
    }

    /// Returns the time of the next rotation: `from` plus the interval plus a random jitter, so
    /// that rotations created together are not due together.
    pub(super) fn next(&self, rotation: &RotationRecord, from: Time) -> Time {
        let interval = self.interval(rotation);
        from + interval + jitter((interval / 10).min(span(self.jitter)))
    }

    /// Returns the time of the next retry after this number of consecutive failures.
    pub(super) fn retry_at(&self, failures: u32, now: Time) -> Time {
        let doubled = self.backoff.saturating_mul(1 << failures.saturating_sub(1).min(16));
        let pause = span(doubled.min(self.max_backoff));
        now + pause + jitter(pause / 10)
    }

    /// Returns the grace period during which the previous credential still works.
    pub(super) fn grace(&self, rotation: &RotationRecord) -> TimeDelta {
        let usual = || span(self.day).min(self.interval(rotation) / 2);
        self.grace.map_or_else(usual, span)
    }
}

/// Draws a random duration between `-max` and `max`.
fn jitter(max: TimeDelta) -> TimeDelta {
    let steps = i64::from(u16::from_be_bytes(random()));
    let milliseconds = max.num_milliseconds();
    TimeDelta::milliseconds(milliseconds.saturating_mul(2 * steps - 65_535) / 65_535)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn a_backoff_doubles_up_to_six_hours() {
        let timings = Timings::default();
        let now = DateTime::from_timestamp(1_000_000, 0).unwrap();
        for (failures, minutes) in [(1, 5), (2, 10), (3, 20), (8, 360), (u32::MAX, 360)] {
            let pause = timings.retry_at(failures, now) - now;
            let nominal = TimeDelta::minutes(minutes);
            assert!((pause - nominal).abs() <= nominal / 10, "{failures}: {pause}");
        }
    }
}
