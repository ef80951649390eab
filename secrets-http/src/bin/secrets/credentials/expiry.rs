//! Warning that a session ends soon.

use chrono::{DateTime, TimeDelta, Utc};

/// Time before the end of a session during which a warning is shown.
const WARNING_PERIOD: TimeDelta = TimeDelta::days(3);

/// True if a session has not ended yet, but ends within the next three days.
pub(crate) fn ends_soon(expires_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
    expires_at.is_some_and(|end| now < end && end - now <= WARNING_PERIOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_three_days_are_warned_about() {
        let now = DateTime::UNIX_EPOCH;
        let soon = |seconds| ends_soon(Some(now + TimeDelta::seconds(seconds)), now);

        assert!(soon(1) && soon(3 * 86_400));
        assert!(!soon(0) && !soon(-1) && !soon(3 * 86_400 + 1));
        assert!(!ends_soon(None, now));
    }
}
