//! Clock of the JavaScript engine. It is used because WebAssembly has no access to the operating
//! system.

use js_sys::Date;
use secrets_core::model::Time;

/// Returns the current time of the JavaScript engine, with millisecond precision.
pub(crate) fn now() -> Time {
    #[expect(clippy::cast_possible_truncation, reason = "a date is within 2^53 milliseconds")]
    let milliseconds = Date::now() as i64;
    Time::from_timestamp_millis(milliseconds).unwrap_or_default()
}

/// Clock that reads the time of the JavaScript engine.
#[cfg(feature = "service")]
pub(crate) struct HostClock;

#[cfg(feature = "service")]
impl secrets_core::model::Clock for HostClock {
    fn now(&self) -> Time {
        now()
    }
}
