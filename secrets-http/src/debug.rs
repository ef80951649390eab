//! What tests ask of a debug build: to be quick, and to stop where they say. A release build has
//! none of it.

#[cfg(debug_assertions)]
pub use asked::{arm, timings};

/// How long things take.
#[cfg(not(debug_assertions))]
#[must_use]
pub fn timings() -> secrets_core::ports::timings::Timings {
    secrets_core::ports::timings::Timings::default()
}

/// Stops nowhere.
#[cfg(not(debug_assertions))]
pub fn arm() {}

#[cfg(debug_assertions)]
mod asked {
    use std::io::Write as _;
    use std::time::Duration;

    use secrets_core::failpoint::{self, After};
    use secrets_core::ports::timings::Timings;

    /// Durations, as in `lease=2000,grace=500`: in milliseconds.
    const TIMINGS: &str = "SECRETS_DEBUG_TIMINGS";

    /// Where to stop, as in `K5`; `K5:pause` goes on after a second.
    const FAILPOINT: &str = "SECRETS_DEBUG_FAILPOINT";

    #[expect(clippy::disallowed_methods, reason = "no setting: release builds do not know it")]
    fn asked(variable: &str) -> String {
        std::env::var(variable).unwrap_or_default()
    }

    /// How long things take: as always, but for what is asked.
    #[must_use]
    pub fn timings() -> Timings {
        let mut timings = Timings::default();
        for setting in asked(TIMINGS).split(',') {
            let Some((name, value)) = setting.split_once('=') else { continue };
            let Ok(value) = value.parse().map(Duration::from_millis) else { continue };
            match name {
                "lease" => timings.lease = value,
                "heartbeat" => timings.heartbeat = value,
                "margin" => timings.margin = value,
                "retries" => timings.retries = [value; 3],
                "verify" => timings.verify = value,
                "budget" => timings.budget = value,
                "backoff" => timings.backoff = value,
                "probe" => timings.probe = value,
                "grace" => timings.grace = Some(value),
                "retire" => timings.retire = value,
                "checks" => timings.checks = [value; 4],
                "jitter" => timings.jitter = value,
                "day" => timings.day = value,
                _ => tracing::warn!(name, "no such timing"),
            }
        }
        timings
    }

    /// Stops where it is asked to.
    pub fn arm() {
        let asked = asked(FAILPOINT);
        match asked.split_once(':') {
            Some((name, _)) => failpoint::arm(name, pause),
            None if !asked.is_empty() => failpoint::arm(&asked, stay),
            None => {}
        }
    }

    fn stay(name: &str) -> After {
        say(name);
        After::Stay
    }

    /// Time for whoever watches to stop the process.
    fn pause(name: &str) -> After {
        say(name);
        std::thread::sleep(Duration::from_secs(1));
        After::GoOn
    }

    fn say(name: &str) {
        let _ = writeln!(std::io::stderr(), "failpoint {name}");
    }
}
