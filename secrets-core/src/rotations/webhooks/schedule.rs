//! Retry schedule of webhook deliveries.

use chrono::{DateTime, TimeDelta};

use crate::crypto::random;
use crate::model::Time;
use crate::rotations::schedule::with_jitter;

/// Delay before each attempt to send a delivery, in seconds, as proposed by the specification
/// "Standard Webhooks". If the last attempt fails, the status of the delivery becomes `failed` and
/// the webhook is disabled.
const RETRY_DELAYS: [i64; 10] = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// Longest delay between two attempts to send a delivery, without jitter.
pub(super) const MAX_DELAY: TimeDelta = TimeDelta::hours(24);

/// Maximum delay that a receiver can request with the `Retry-After` header.
const MAX_RETRY_AFTER: TimeDelta = MAX_DELAY;

/// Time for which every attempt to send deliveries of a webhook must have failed before the webhook
/// is disabled.
pub(super) const MAX_FAILURE_TIME: TimeDelta = TimeDelta::days(5);

/// Returns the time of the next attempt after this number of failed attempts: after the scheduled
/// delay or, if it is longer, the delay that the receiver requested. `None` if there are no more
/// attempts.
pub(super) fn next_attempt(attempts: u32, retry_after: Option<&str>, now: Time) -> Option<Time> {
    let pause = TimeDelta::seconds(*RETRY_DELAYS.get(usize::try_from(attempts).ok()?)?);
    // Deliveries that failed together are not retried together.
    let pause = with_jitter(pause, pause / 5, u16::from_be_bytes(random()));
    let requested = retry_after.and_then(|text| parse_retry_after(text, now)).unwrap_or_default();
    Some(now + pause.max(requested.min(MAX_RETRY_AFTER)))
}

/// Parses a `Retry-After` header, which is a number of seconds or a date (RFC 9110, section
/// 10.2.3). Returns the time from `now`, which is negative for a date in the past; `None` if the
/// header is invalid.
fn parse_retry_after(text: &str, now: Time) -> Option<TimeDelta> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too large for `i64` is treated as the maximum.
        let seconds = text.parse::<i64>().unwrap_or(i64::MAX);
        return TimeDelta::try_seconds(seconds).or(Some(MAX_RETRY_AFTER));
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
        for (failed, seconds) in RETRY_DELAYS.iter().enumerate().skip(1) {
            let pause = pause(u32::try_from(failed).unwrap(), None).unwrap();
            let (least, most) = (seconds * 800, seconds * 1_200);
            assert!((least..=most).contains(&pause.num_milliseconds()), "{failed}: {pause}");
        }
        assert_eq!(pause(10, None), None);
        assert_eq!(pause(u32::MAX, Some("1")), None);
    }

    #[test]
    fn retry_after_is_honoured_up_to_a_day() {
        let date = (now() + TimeDelta::hours(1)).format("%a, %d %b %Y %H:%M:%S GMT").to_string();

        assert_eq!(pause(1, Some("3600")), Some(TimeDelta::hours(1)));
        assert_eq!(pause(1, Some(&date)), Some(TimeDelta::hours(1)));
        assert_eq!(pause(1, Some("999999")), Some(MAX_RETRY_AFTER));
        assert_eq!(pause(1, Some("99999999999999999999999")), Some(MAX_RETRY_AFTER));
        assert_eq!(pause(1, Some(&i64::MAX.to_string())), Some(MAX_RETRY_AFTER));
    }

    #[test]
    fn retry_after_never_shortens_a_pause() {
        for text in ["0", "1", "-5", "", "soon", "1e9", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert!(pause(4, Some(text)).unwrap() >= TimeDelta::seconds(5_760), "{text}");
        }
    }
}
