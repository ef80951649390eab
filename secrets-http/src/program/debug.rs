//! Test hooks of debug builds: shorter timings, and failpoints, at which the process stops. Release
//! builds contain none of them.

#[cfg(debug_assertions)]
pub use asked::{arm, timings};

/// Returns the default timings of rotations, in release builds.
#[cfg(not(debug_assertions))]
#[must_use]
pub fn timings() -> secrets_core::ports::rotators::Timings {
    secrets_core::ports::rotators::Timings::default()
}

/// Does nothing. Release builds have no failpoints.
#[cfg(not(debug_assertions))]
pub fn arm() {}

#[cfg(debug_assertions)]
mod asked {
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::time::Duration;

    use secrets_core::failpoint::{self, After};
    use secrets_core::ports::rotators::Timings;

    /// Environment variable with timings in milliseconds, such as `lease=2000,grace=500`.
    const TIMINGS: &str = "SECRETS_DEBUG_TIMINGS";

    /// Environment variable with the failpoint to stop at, such as `after-apply`. With
    /// `after-apply:pause`, the process continues after a second. With `after-apply:wait`, the
    /// operation waits until the file named by `SECRETS_DEBUG_RELEASE` exists, and the rest of the
    /// process continues.
    const FAILPOINT: &str = "SECRETS_DEBUG_FAILPOINT";

    /// Environment variable with the path of the file that ends the wait at a failpoint.
    const RELEASE: &str = "SECRETS_DEBUG_RELEASE";

    #[expect(clippy::disallowed_methods, reason = "a test hook of debug builds, not a setting")]
    fn asked(variable: &str) -> String {
        std::env::var(variable).unwrap_or_default()
    }

    /// Returns the default timings of rotations, changed by the variable `SECRETS_DEBUG_TIMINGS`.
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
                _ => tracing::warn!(name, "unknown timing"),
            }
        }
        timings
    }

    /// Arms the failpoint named by the variable `SECRETS_DEBUG_FAILPOINT`.
    pub fn arm() {
        let asked = asked(FAILPOINT);
        match asked.split_once(':') {
            Some((name, "wait")) => failpoint::arm(name, wait),
            Some((name, _)) => failpoint::arm(name, pause),
            None if !asked.is_empty() => failpoint::arm(&asked, stay),
            None => {}
        }
    }

    fn stay(name: &str) -> After {
        print_failpoint(name);
        After::Stay
    }

    /// Waits for a second at a failpoint, so that a test can kill the process, and then continues.
    fn pause(name: &str) -> After {
        print_failpoint(name);
        std::thread::sleep(Duration::from_secs(1));
        After::GoOn
    }

    /// Waits until the file named by the variable `SECRETS_DEBUG_RELEASE` exists, then continues.
    fn wait(name: &str) -> After {
        print_failpoint(name);
        let file = PathBuf::from(asked(RELEASE));
        After::Wait(Box::pin(async move {
            while !file.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }))
    }

    fn print_failpoint(name: &str) {
        let _ = writeln!(std::io::stderr(), "failpoint {name}");
    }
}
