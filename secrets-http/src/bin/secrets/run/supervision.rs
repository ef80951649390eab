//! Options of `secrets run` for the supervision of the command.

use std::time::Duration;

use clap::{Args, ValueEnum};
use nix::sys::signal::Signal;

use super::mount::MountPoint;
use crate::arguments::duration;

/// Options for supervising the command of `secrets run`. Without any of them, the command is not
/// supervised: it replaces this process (`exec`).
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Supervision of the command")]
pub(crate) struct SupervisionOptions {
    /// Restart the command when its secrets change. A command that ends by itself is not restarted.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Write the secrets to this file instead of the environment. The file must not exist, only its
    /// owner can read it, and it is deleted when the command ends. `@NAME` is a file in
    /// `$XDG_RUNTIME_DIR`. Formats: dotenv (default), docker, shell, json, yaml, csv, k8s.
    #[arg(long, value_name = "PATH[:FORMAT]", value_parser = MountPoint::parse)]
    pub(crate) mount: Option<MountPoint>,
    /// Signal, such as `TERM` or `INT`, to send to the process group of the command when its
    /// secrets have changed. It ends the command before a restart or, with `--mount`, makes the
    /// command read the rewritten file [default: TERM, or HUP with `--mount`].
    #[arg(long, value_name = "NAME", value_parser = signal, requires = "watch")]
    signal: Option<Signal>,
    /// Time that the command has to end before a restart; then its remaining processes are killed.
    #[arg(
        long, value_name = "TIME", value_parser = duration, default_value = "10s", requires = "watch"
    )]
    pub(crate) grace: Duration,
    /// Wait for a random time, up to this one, before a restart, so that many machines do not
    /// restart at the same time.
    #[arg(
        long, value_name = "TIME", value_parser = duration, default_value = "0s", requires = "watch"
    )]
    pub(crate) splay: Duration,
    /// Reaction if the credential loses read access to the environment.
    #[arg(long, value_enum, default_value_t, requires = "watch")]
    pub(crate) on_revoked: OnRevoked,
    /// Replace the values of the secrets by `***` in the output of the command, also in JSON,
    /// percent-encoding and base64. Values and encoded values of less than 6 bytes, and lines of
    /// less than 8 bytes of a value with several lines, are not replaced. On a terminal, the
    /// command has a terminal of its own; output of processes that it leaves behind is not passed
    /// on.
    #[arg(long)]
    pub(super) mask: bool,
    /// Time to hold back output that may be the start of a value, if no further output follows.
    #[arg(
        long, value_name = "TIME", value_parser = duration, default_value = "50ms", requires = "mask"
    )]
    pub(super) mask_delay: Duration,
    /// Supervise the command as process 1 of a container: pass on signals, and collect the exit
    /// statuses of orphaned processes.
    #[arg(long)]
    init: bool,
}

/// Reaction of `secrets run` if the credential loses read access to the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OnRevoked {
    /// Print a warning; the command continues.
    #[default]
    Continue,
    /// End the command, and exit with 125.
    Stop,
}

impl SupervisionOptions {
    /// True if the options require that the command runs as a child process.
    pub(crate) fn is_needed(&self) -> bool {
        self.watch || self.init || self.mask || self.mount.is_some()
    }

    /// Returns the signal that is sent to the program after the secrets have changed. It ends the
    /// program before a restart or, with `--mount`, makes the program read the file with the
    /// secrets again.
    pub(super) fn change_signal(&self) -> Signal {
        let default = if self.mount.is_some() { Signal::SIGHUP } else { Signal::SIGTERM };
        self.signal.unwrap_or(default)
    }
}

fn signal(name: &str) -> Result<Signal, &'static str> {
    let name = name.to_ascii_uppercase();
    let full = if name.starts_with("SIG") { name } else { format!("SIG{name}") };
    full.parse().map_err(|_| "must be the name of a signal, such as TERM or HUP")
}
