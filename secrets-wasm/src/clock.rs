//! The clock of whatever runs the module: there is no operating system to ask.

use js_sys::Date;
use secrets_core::model::Time;

/// Asks JavaScript, which tells milliseconds.
pub(crate) fn now() -> Time {
    #[expect(clippy::cast_possible_truncation, reason = "a date is within 2^53 milliseconds")]
    let milliseconds = Date::now() as i64;
    Time::from_timestamp_millis(milliseconds).unwrap_or_default()
}

/// Asks whenever the service does.
#[cfg(feature = "service")]
pub(crate) struct HostClock;

#[cfg(feature = "service")]
impl secrets_core::model::Clock for HostClock {
    fn now(&self) -> Time {
        now()
    }
}
