//! When a delivery is tried again.

use chrono::{DateTime, TimeDelta};

use crate::crypto::random;
use crate::model::Time;

/// The pauses before each attempt, in seconds, as Standard Webhooks proposes. Once they are used
/// up, it is given up.
const PAUSES: [i64; 10] = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// The most that a receiver can put us off.
const LONGEST: TimeDelta = TimeDelta::hours(24);

/// How long all deliveries to a webhook may fail until it is told nothing more.
pub(super) const PATIENCE: TimeDelta = TimeDelta::days(5);

/// When a delivery that failed so often is sent again: after its pause, or when the receiver wants
/// it, whichever is later. `None` after the last attempt.
pub(super) fn next_attempt(attempts: u32, retry_after: Option<&str>, now: Time) -> Option<Time> {
    let pause = PAUSES.get(usize::try_from(attempts).ok()?)?;
    let pause = with_jitter(*pause, u16::from_be_bytes(random()));
    let wanted = retry_after.and_then(|text| wanted(text, now)).unwrap_or_default();
    Some(now + pause.max(wanted.min(LONGEST)))
}

/// When what found all seats at its receiver taken looks again. Not all at once.
pub(super) fn after_a_crowd(now: Time) -> Time {
    now + TimeDelta::seconds(5 + i64::from(random::<1>()[0] % 6))
}

/// A pause that is up to a fifth shorter or longer, so that what failed together does not come
/// back together.
fn with_jitter(seconds: i64, draw: u16) -> TimeDelta {
    let share = i64::from(draw) * 400 / i64::from(u16::MAX) - 200;
    TimeDelta::milliseconds(seconds * (1_000 + share))
}

/// What a receiver asks for: seconds or a date (RFC 9110, section 10.2.3).
fn wanted(text: &str, now: Time) -> Option<TimeDelta> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than there are numbers for is long enough.
        let seconds = text.parse::<i64>().unwrap_or(i64::MAX);
        return TimeDelta::try_seconds(seconds).or(Some(LONGEST));
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?;
    Some(at.to_utc() - now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Time {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn pause(attempts: u32, retry_after: Option<&str>) -> Option<TimeDelta> {
        next_attempt(attempts, retry_after, now()).map(|at| at - now())
    }

    #[test]
    fn attempts_are_further_and_further_apart_and_ten() {
        for (failed, seconds) in PAUSES.iter().enumerate().skip(1) {
            let pause = pause(u32::try_from(failed).unwrap(), None).unwrap();
            let (least, most) = (seconds * 800, seconds * 1_200);
            assert!((least..=most).contains(&pause.num_milliseconds()), "{failed}: {pause}");
        }
        assert_eq!(pause(10, None), None);
        assert_eq!(pause(u32::MAX, Some("1")), None);
    }

    #[test]
    fn pauses_differ_by_a_fifth_at_most() {
        assert_eq!(with_jitter(100, 0), TimeDelta::seconds(80));
        assert_eq!(with_jitter(100, u16::MAX), TimeDelta::seconds(120));
        assert_eq!(with_jitter(0, 7), TimeDelta::zero());
    }

    #[test]
    fn the_receiver_is_waited_for_and_a_day_at_most() {
        let date = (now() + TimeDelta::hours(1)).format("%a, %d %b %Y %H:%M:%S GMT").to_string();

        assert_eq!(pause(1, Some("3600")), Some(TimeDelta::hours(1)));
        assert_eq!(pause(1, Some(&date)), Some(TimeDelta::hours(1)));
        assert_eq!(pause(1, Some("999999")), Some(LONGEST));
        assert_eq!(pause(1, Some("99999999999999999999999")), Some(LONGEST));
        assert_eq!(pause(1, Some(&i64::MAX.to_string())), Some(LONGEST));
    }

    #[test]
    fn what_a_receiver_wants_never_shortens_a_pause() {
        for text in ["0", "1", "-5", "", "soon", "1e9", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert!(pause(4, Some(text)).unwrap() >= TimeDelta::seconds(5_760), "{text}");
        }
    }
}
