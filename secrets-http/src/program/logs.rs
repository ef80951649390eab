//! Logging to standard error, as text or as JSON.

use std::io::{self, BufWriter, Write};
use std::sync::Mutex;
use std::time::Duration;
use std::{panic, thread};

use secrets_core::model::lock::lock;
use tracing::{Level, Metadata};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

use crate::program::traces::{self, NotExported};

/// Maximum number of log lines that wait to be written. If standard error is not read, further
/// lines are dropped, so that requests are never delayed.
const MAX_WAITING: usize = 16_384;

/// Pause of the thread that writes the log, after it has written all waiting lines. Under load, the
/// lines logged during the pause are then written together. Without the pause, each request wakes
/// the thread.
const PAUSE: Duration = Duration::from_millis(2);

/// Guard of the thread that writes the log. Dropping the guard writes the waiting lines.
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
        .finish(Paused(BufWriter::new(io::stderr())));
    let log = fmt::layer().with_writer(writer);
    let log = match format {
        LogFormat::Text => log.with_target(false).boxed(),
        LogFormat::Json => log.json().flatten_event(true).boxed(),
    };
    let log = log.with_filter(filter.and(filter_fn(is_for_log)));
    let registry = tracing_subscriber::registry().with(log);
    let (traces, failed) = match traces::layer() {
        Ok(traces) => (traces, None),
        Err(reason) => (None, Some(reason)),
    };
    // A layer that does nothing would enable all spans.
    let started = match traces {
        Some(traces) => registry.with(traces).try_init(),
        None => registry.try_init(),
    };
    // Fails if the process already has a logger, such as that of a test runner, which is then kept.
    if started.is_ok() {
        *lock(&WRITER) = Some(guard);
    }
    match failed {
        None => {}
        Some(NotExported::InvalidVariable) => {
            tracing::warn!("traces are not exported: an OTEL_ variable is invalid");
        }
        Some(NotExported::NoClient) => tracing::warn!(
            "traces are not exported: the HTTP client cannot be created; are the certificates of \
             the system's certificate authorities installed?"
        ),
    }
    // The message of a panic may contain secret data, so only its location is logged.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panicked");
    }));
}

/// Writer that pauses after each flush. The thread that writes the log flushes when no line waits.
struct Paused<W>(W);

impl<W: Write> Write for Paused<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.0.flush();
        thread::sleep(PAUSE);
        flushed
    }
}

/// True if a line may be logged. False for lines of libraries that can contain credentials,
/// whatever the log filter is: the AWS SDK logs whole requests, with keys and credentials, and the
/// exporter of traces logs URLs, with passwords. False for spans, which are used for traces only.
fn is_for_log(line: &Metadata<'_>) -> bool {
    let (level, target) = (*line.level(), line.target());
    let is_of_aws = level == Level::TRACE && target.starts_with("aws_");
    let is_of_traces = level > Level::INFO && target.starts_with("opentelemetry");
    line.is_event() && !is_of_aws && !is_of_traces
}

/// Guard that exports the waiting spans and writes the waiting log lines when it is dropped, at the
/// end of the program.
#[derive(Debug)]
pub struct FlushAtExit;

impl Drop for FlushAtExit {
    fn drop(&mut self) {
        traces::stop();
        drop(lock(&WRITER).take());
    }
}
