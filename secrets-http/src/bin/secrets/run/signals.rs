//! Signals that the supervisor receives.

use std::future::poll_fn;
use std::task::Poll;

use nix::sys::signal::Signal;
use tokio::signal::unix::{self, SignalKind};

use crate::failure::{Exit, Failure};

/// Signals that the supervisor passes on to the program.
const FORWARDED: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
];

/// Signals that this process handles. Signals that were ignored when this process was started stay
/// ignored, also in the supervised program, as `nohup` requires.
pub(super) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Registers handlers for all signals that the supervisor handles.
    pub(super) fn register() -> Result<Self, Failure> {
        let ignored = ignored();
        let forwarded = FORWARDED.into_iter().filter(|signal| !ignored.contains(signal));
        forwarded
            .chain([Signal::SIGCHLD, Signal::SIGCONT])
            .map(|signal| Ok((signal, unix::signal(SignalKind::from_raw(signal as i32))?)))
            .collect::<Result<_, std::io::Error>>()
            .map(Self)
            .map_err(|error| Failure::new(Exit::Run, format!("cannot handle signals: {error}")))
    }

    /// Waits for the next signal. The future can be dropped at any time without losing a signal.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|cx| {
            let mut streams = self.0.iter_mut();
            let arrived = streams
                .find_map(|(signal, stream)| stream.poll_recv(cx).is_ready().then_some(*signal));
            arrived.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Returns those of the [`FORWARDED`] signals that this process ignores. Empty if the system does
/// not report them.
fn ignored() -> Vec<Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    FORWARDED.into_iter().filter(|signal| mask & (1 << (*signal as i32 - 1)) != 0).collect()
}
