//! Child process in its own process group or session, in which `secrets run` runs the program.

use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use rustix::process::{WaitOptions, WaitStatus, wait};
use tokio::time::Instant;

/// Interval at which this process checks whether a process group is empty. The system does not
/// report when a group becomes empty.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Child process of the supervisor (`secrets run`), and the process group of the program. If the
/// child leads a session on a pseudo-terminal, the program is a child of that child, and has
/// another process group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child {
    id: Pid,
    group: Pid,
}

/// Change of a child process's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The child was stopped by a signal, for example after Ctrl-Z.
    Stopped,
    /// The child has ended, with this exit code; 128 plus the number of the signal if a signal
    /// ended it.
    Ended(u8),
}

impl Child {
    /// Starts a command. The started process must create its own process group or session.
    pub(super) fn start(command: &mut Command) -> std::io::Result<Self> {
        // Waited for by `changes`, together with adopted children.
        let child = command.spawn()?;
        let id = i32::try_from(child.id()).map_err(std::io::Error::other)?;
        let id = Pid::from_raw(id);
        Ok(Self { id, group: id })
    }

    /// Returns this child, a session leader, with the process group of the program that it has
    /// started.
    pub(super) fn with_group(self, group: Pid) -> Self {
        Self { group, ..self }
    }

    /// Returns the process group of the program.
    pub(super) fn group(self) -> Pid {
        self.group
    }

    /// Sends a signal to all processes in the group of the program.
    pub(super) fn signal(self, signal: Signal) {
        // An error means that no process is left.
        let _ = killpg(self.group, signal);
        if signal == Signal::SIGCONT && self.id != self.group {
            // The leader of the session was stopped with the program.
            let _ = kill(self.id, signal);
        }
    }

    /// True if the child or another process of the program's group still exists.
    pub(super) fn has_group(self) -> bool {
        killpg(self.group, None).is_ok() || kill(self.id, None).is_ok()
    }

    /// Collects the state changes of this child, and the exit statuses of orphaned processes that
    /// this process has adopted. Does not wait.
    pub(super) fn changes(self) -> Vec<Change> {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        let mut changes = Vec::new();
        loop {
            match wait(options) {
                Ok(Some((id, status))) if id.as_raw_nonzero().get() == self.id.as_raw() => {
                    changes.extend(change(status));
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) | Err(_) => return changes,
            }
        }
    }

    /// Waits until no process is left in the program's group, or until the time `until`.
    pub(super) async fn wait_for_group(self, until: Instant) {
        while self.has_group() && Instant::now() < until {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// Waits for a state change of the only child process of this process.
pub(super) fn wait_for_change() -> std::io::Result<Change> {
    loop {
        match wait(WaitOptions::UNTRACED) {
            Ok(Some((_, status))) => {
                if let Some(change) = change(status) {
                    return Ok(change);
                }
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes this process the parent of orphaned descendants. It can then collect their exit statuses
/// and see when a process group is empty. On systems other than Linux, does nothing: orphans become
/// children of process 1.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

fn change(status: WaitStatus) -> Option<Change> {
    if status.stopped() {
        return Some(Change::Stopped);
    }
    let code = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?))?;
    Some(Change::Ended(u8::try_from(code).unwrap_or(u8::MAX)))
}
