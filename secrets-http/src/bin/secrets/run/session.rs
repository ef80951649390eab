//! Session in which the program of `secrets run --mask` runs on a pseudo-terminal.
//!
//! Ctrl-Z can stop a process group only if one of its processes has a parent in the same session
//! (POSIX: a group that is not orphaned). The supervisor is in the session of the shell. Therefore
//! the new session is led by another process between the supervisor and the program. This session
//! leader starts the program, stops when the program stops, and ends with the program's exit code.

use std::fs::OpenOptions;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _, pipe, stderr, stdin, stdout};
use std::os::fd::{AsFd, AsRawFd as _};
use std::process::{Command, ExitCode};

use nix::sys::signal::{Signal, raise};
use nix::unistd::{Pid, close, isatty, setsid};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::ioctl_tiocsctty;

use super::Program;
use super::child::{Change, Child, wait_for_change};
use super::launch::{Place, launcher};
use crate::failure::cannot_start;

/// Pipe through which the session leader reports the process ID of the program.
pub(super) struct Report {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Report {
    /// Creates the pipe. The next process that is started inherits the write end.
    pub(super) fn create() -> io::Result<Self> {
        let (reader, writer) = pipe()?;
        fcntl_setfd(&writer, FdFlags::empty())?;
        Ok(Self { reader, writer })
    }

    /// Returns the [`Place`] that makes the launcher create a new session and write the program's
    /// process ID to this pipe.
    pub(super) fn place(&self) -> Place {
        Place::Session { report: self.writer.as_raw_fd() }
    }

    /// Starts the session leader, and waits until it has started the program. The returned child
    /// has the process group of the program.
    pub(super) fn start(mut self, command: &mut Command) -> io::Result<Child> {
        let leader = Child::start(command)?;
        drop(self.writer);
        let mut id = String::new();
        self.reader.read_to_string(&mut id)?;
        // If the leader failed, the pipe is empty: the leader has printed the error and ends.
        Ok(id.parse().map_or(leader, |id| leader.with_group(Pid::from_raw(id))))
    }
}

/// Makes this process a session leader, makes the terminal on one of its standard streams the
/// controlling terminal, and runs the program in the foreground of this terminal. `report` is the
/// file descriptor to which the process ID of the program is written.
pub(super) fn lead(program: &Program, report: i32) -> ExitCode {
    let _ = setsid();
    let streams = [stdin().as_fd(), stdout().as_fd(), stderr().as_fd()]
        .map(|stream| isatty(stream).unwrap_or(false) && ioctl_tiocsctty(stream).is_ok());
    debug_assert!(streams.contains(&true), "a session needs a terminal");
    // Opened again, because the program would inherit the first descriptor.
    let writer = OpenOptions::new().write(true).open(format!("/dev/fd/{report}"));
    let _ = close(report);
    let mut command = launcher(program, Place::Foreground);
    let child = match Child::start(&mut command) {
        Ok(child) => child,
        Err(error) => return cannot_start(&command, &program.name, &error).of_run().report(false),
    };
    // If this fails, the supervisor sends signals to the leader instead of the program.
    let _ = writer.and_then(|mut writer| write!(writer, "{}", child.group()));
    loop {
        match wait_for_change() {
            Ok(Change::Stopped) => {
                let _ = raise(Signal::SIGSTOP);
            }
            Ok(Change::Ended(status)) => return ExitCode::from(status),
            Err(error) => {
                return cannot_start(&command, &program.name, &error).of_run().report(false);
            }
        }
    }
}
