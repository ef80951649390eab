//! Logging to standard error, as text or as JSON.

use std::io::{self, BufWriter};
use std::panic;
use std::sync::Mutex;

use secrets_core::model::lock::lock;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

/// Maximum number of log lines that wait to be written. If standard error is not read, further
/// lines are dropped, so that requests are never delayed.
const MAX_WAITING: usize = 16_384;

/// Guard of the thread that writes the log. Dropping it writes the waiting lines.
static WRITER: Mutex<Option<WorkerGuard>> = Mutex::new(None);

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
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_WAITING)
        .thread_name("log")
        .finish(BufWriter::new(io::stderr()));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    let started = match format {
        LogFormat::Text => log.with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    // Fails if the process has a logger already, such as in a test runner, which is kept.
    if started.is_ok() {
        *lock(&WRITER) = Some(guard);
    }
    // The message of a panic may contain secret data, so only its location is logged.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panicked");
    }));
}

/// Guard that writes the waiting log lines when it is dropped, at the end of the program.
#[derive(Debug)]
pub struct FlushAtExit;

impl Drop for FlushAtExit {
    fn drop(&mut self) {
        drop(lock(&WRITER).take());
    }
}
