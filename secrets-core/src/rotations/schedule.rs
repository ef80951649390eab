//! Schedule: the times at which a worker must work on a rotation.

use std::time::Duration;

use chrono::TimeDelta;

use crate::crypto::random;
use crate::engine::backoff;
use crate::model::Time;
use crate::model::rotations::{RotationStatus, is_retried};
use crate::ports::rotators::Timings;
use crate::store::RotationRecord;

/// Maximum time that a rotation stays in status `error`. After that, the rotation is disabled.
pub(super) const MAX_TIME_IN_ERROR: TimeDelta = TimeDelta::days(30);

/// Returns the time at which a worker must next work on the rotation: to continue an unfinished
/// attempt, to start a rotation, to disable the previous credential, or to check the credential in
/// the secrets. `None` if there is nothing to do.
pub(super) fn work_at(
    rotation: &RotationRecord,
    has_open_attempt: bool,
    now: Time,
) -> Option<Time> {
    if has_open_attempt {
        return Some(now);
    }
    let checks = rotation.status != RotationStatus::Disabled;
    let due = rotates(rotation).then_some(rotation.schedule.next_at);
    let check = rotation.slots.check_at.filter(|_| checks);
    [due, rotation.slots.retire_at, check].into_iter().flatten().min()
}

/// True if the service starts attempts of the rotation by itself: it is active, or in an error that
/// the service retries.
pub(super) fn rotates(rotation: &RotationRecord) -> bool {
    match rotation.status {
        RotationStatus::Active => true,
        RotationStatus::Error => is_retried(rotation.failure.code.as_deref()),
        RotationStatus::Paused | RotationStatus::Disabled => false,
    }
}

/// Converts a duration to a `TimeDelta`, which can be added to a `Time`.
pub(super) fn span(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

impl Timings {
    /// Returns the time between two scheduled changes of the rotation's credential.
    pub(super) fn interval(&self, rotation: &RotationRecord) -> TimeDelta {
        span(self.day * rotation.settings.interval_days)
    }

    /// Returns the time of the next rotation: `from` plus the rotation interval plus a random
    /// jitter, so that rotations created together are not all due together.
    pub(super) fn next(&self, rotation: &RotationRecord, from: Time) -> Time {
        let interval = self.interval(rotation);
        let max = (interval / 10).min(span(self.jitter));
        from + with_jitter(interval, max, u16::from_be_bytes(random()))
    }

    /// Returns the time of the next attempt after this number of consecutive failures.
    pub(super) fn retry_at(&self, failures: u32, now: Time) -> Time {
        let pause = span(backoff(failures, (self.backoff, self.max_backoff)));
        now + with_jitter(pause, pause / 10, u16::from_be_bytes(random()))
    }

    /// Returns the grace period: the time during which the previous credential still works after a
    /// rotation.
    pub(super) fn grace(&self, rotation: &RotationRecord) -> TimeDelta {
        let usual = || span(self.day).min(self.interval(rotation) / 2);
        self.grace.map_or_else(usual, span)
    }
}

/// Changes a delay by up to `max` in either direction. `draw` is a random number; 0 gives the
/// shortest delay.
pub(super) fn with_jitter(delay: TimeDelta, max: TimeDelta, draw: u16) -> TimeDelta {
    let steps = 2 * i64::from(draw) - i64::from(u16::MAX);
    let milliseconds = max.num_milliseconds().saturating_mul(steps) / i64::from(u16::MAX);
    delay + TimeDelta::milliseconds(milliseconds)
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::testing::fixtures::{at, rotation_in};

    /// Creates an active rotation that is due at Unix time 100.
    fn rotation(interval_days: u32) -> RotationRecord {
        let mut rotation = rotation_in(Uuid::from_u128(1).into(), "db", at(100));
        rotation.settings.interval_days = interval_days;
        rotation
    }

    #[test]
    fn an_open_attempt_is_continued_at_once() {
        assert_eq!(work_at(&rotation(30), true, at(7)), Some(at(7)));
    }

    #[test]
    fn a_rotation_has_work_when_its_status_lets_it_rotate() {
        for (status, code, expected) in [
            (RotationStatus::Active, None, Some(at(100))),
            (RotationStatus::Active, Some("fenced"), Some(at(100))),
            (RotationStatus::Error, Some("unreachable"), Some(at(100))),
            (RotationStatus::Error, Some("fenced"), None),
            (RotationStatus::Paused, None, None),
            (RotationStatus::Disabled, None, None),
        ] {
            let mut rotation = rotation(30);
            rotation.status = status;
            rotation.failure.code = code.map(str::to_owned);

            assert_eq!(work_at(&rotation, false, at(7)), expected, "{status:?} {code:?}");
        }
    }

    #[test]
    fn the_earliest_work_comes_first_and_a_disabled_rotation_is_not_checked() {
        for (status, retire_at, check_at, expected) in [
            (RotationStatus::Active, Some(50), Some(60), 50),
            (RotationStatus::Active, Some(60), Some(50), 50),
            (RotationStatus::Active, Some(300), Some(200), 100),
            (RotationStatus::Paused, Some(300), Some(200), 200),
            (RotationStatus::Disabled, Some(300), Some(200), 300),
        ] {
            let mut rotation = rotation(30);
            rotation.status = status;
            rotation.slots.retire_at = retire_at.map(at);
            rotation.slots.check_at = check_at.map(at);

            let found = work_at(&rotation, false, at(7));

            assert_eq!(found, Some(at(expected)), "{status:?} {retire_at:?} {check_at:?}");
        }
    }

    #[test]
    fn the_next_rotation_is_an_interval_later_give_or_take_an_hour_or_a_tenth() {
        let minute = Duration::from_mins(1);
        for (day, days, jitter) in [
            (Duration::from_hours(24), 30, TimeDelta::hours(1)),
            (minute, 1, TimeDelta::seconds(6)),
            (minute, 30, TimeDelta::minutes(3)),
        ] {
            let timings = Timings { day, ..Timings::default() };
            let rotation = rotation(days);
            let interval = span(day * days);
            assert_eq!(timings.interval(&rotation), interval);
            for _ in 0..100 {
                let pause = timings.next(&rotation, at(100)) - at(100);
                assert!((pause - interval).abs() <= jitter, "{days}: {pause}");
            }
        }
    }

    #[test]
    fn a_previous_credential_works_for_a_day_or_half_the_interval() {
        let minutes = Some(Duration::from_mins(5));
        for (grace, days, expected) in [
            (None, 30, TimeDelta::days(1)),
            (None, 2, TimeDelta::days(1)),
            (None, 1, TimeDelta::hours(12)),
            (minutes, 30, TimeDelta::minutes(5)),
        ] {
            let timings = Timings { grace, ..Timings::default() };

            assert_eq!(timings.grace(&rotation(days)), expected, "{grace:?} {days}");
        }
    }

    #[test]
    fn a_jitter_goes_both_ways() {
        let (delay, max) = (TimeDelta::seconds(100), TimeDelta::seconds(10));

        for (draw, expected) in [(0, 90), (u16::MAX, 110)] {
            assert_eq!(with_jitter(delay, max, draw), TimeDelta::seconds(expected), "{draw}");
        }
        assert_eq!(with_jitter(delay, TimeDelta::zero(), u16::MAX), delay);
    }

    #[test]
    fn a_backoff_doubles_up_to_six_hours() {
        let timings = Timings::default();
        let now = at(1_000_000);
        for (failures, minutes) in
            [(0, 5), (1, 5), (2, 10), (3, 20), (7, 320), (8, 360), (u32::MAX, 360)]
        {
            let pause = timings.retry_at(failures, now) - now;
            let nominal = TimeDelta::minutes(minutes);
            assert!((pause - nominal).abs() <= nominal / 10, "{failures}: {pause}");
        }
    }
}
