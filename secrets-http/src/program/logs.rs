//! Logging to standard error, as text or as JSON.

use std::panic;

use tracing_subscriber::EnvFilter;

/// Format of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Human-readable text.
    #[default]
    Text,
    /// JSON, one object per line.
    Json,
}

/// Starts logging, and sets a panic hook that logs the location of a panic. A second call does not
/// replace the logger.
pub fn start(filter: EnvFilter, format: LogFormat) {
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Fails if the process has a logger already, such as in a test runner, which is kept.
    let _ = match format {
        LogFormat::Text => log.with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    // The message of a panic may contain secret data, so only its location is logged.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panicked");
    }));
}
