//! Where the log goes: standard error, as text or as JSON.

use std::panic;

use tracing_subscriber::EnvFilter;

/// How a line of the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines: an object a line.
    Json,
}

/// Starts the log, for panics as well. Once only: a second call changes nothing.
pub fn start(filter: EnvFilter, format: LogFormat) {
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A process that has a log already, such as a test runner, keeps it.
    let _ = match format {
        LogFormat::Text => log.with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    // A panic's message may quote what was being worked on; where it happened is enough.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panicked");
    }));
}
