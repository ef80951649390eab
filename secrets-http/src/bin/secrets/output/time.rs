//! Formatting of times for people.

use chrono::{DateTime, TimeDelta, Utc};

/// Returns a time without fractions of a second, in UTC. A string that is not a time is returned
/// unchanged.
pub(super) fn short(text: &str) -> String {
    DateTime::parse_from_rfc3339(text).map_or_else(|_| text.to_owned(), |time| date(time.to_utc()))
}

/// Returns the date and time in UTC, to the minute.
pub(crate) fn date(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// Returns an age in its largest whole unit, such as `5 minutes`.
pub(crate) fn ago(age: TimeDelta) -> String {
    let seconds = age.num_seconds().max(0);
    let (number, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
