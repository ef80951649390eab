//! Controlling terminal: its foreground process group and its modes.

use std::fs::{File, OpenOptions};
use std::io::{self, stdin};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use rustix::fs::OFlags;
use rustix::termios::{Winsize, tcgetwinsize};

/// Controlling terminal of this process, with the modes (settings such as echo) that it had when it
/// was opened.
#[derive(Debug)]
pub(super) struct Terminal {
    input: OwnedFd,
    modes: Termios,
}

impl Terminal {
    /// Returns the terminal on standard input, if it is the controlling terminal of this process.
    pub(super) fn of_stdin() -> Option<Self> {
        Self::on(stdin().as_fd().try_clone_to_owned().ok()?)
    }

    /// Returns the controlling terminal of this process, which need not be standard input; `None`
    /// if there is none. Reads from the terminal do not block.
    pub(super) fn controlling() -> Option<Self> {
        // Opened separately, because other processes share the file description of standard input.
        Self::on(open().ok()?.into())
    }

    fn on(input: OwnedFd) -> Option<Self> {
        tcgetpgrp(&input).ok()?;
        let modes = tcgetattr(&input).ok()?;
        Some(Self { input, modes })
    }

    /// Returns a file descriptor for reading input from the terminal.
    pub(super) fn input(&self) -> io::Result<OwnedFd> {
        self.input.try_clone()
    }

    /// Returns the modes (settings such as echo) that the terminal had when it was opened.
    pub(super) fn modes(&self) -> &Termios {
        &self.modes
    }

    /// Returns the size of the terminal's window; `None` if the system does not report it.
    pub(super) fn size(&self) -> Option<Winsize> {
        tcgetwinsize(&self.input).ok()
    }

    /// Restores the modes (settings such as echo) that the terminal had when it was opened.
    pub(super) fn restore(&self) {
        self.set(&self.modes);
    }

    /// Sets raw mode: typed bytes, such as Ctrl-C, are passed on unchanged to the pseudo-terminal
    /// of the program, which interprets them.
    pub(super) fn set_raw(&self) {
        let mut modes = self.modes.clone();
        cfmakeraw(&mut modes);
        self.set(&modes);
    }

    /// True if the process group `group` is the foreground group of the terminal.
    pub(super) fn is_with(&self, group: Pid) -> bool {
        tcgetpgrp(&self.input) == Ok(group)
    }

    /// True if the process group of this process is the foreground group of the terminal.
    pub(super) fn is_ours(&self) -> bool {
        self.is_with(getpgrp())
    }

    /// Makes a process group the foreground group of the terminal. A failure, such as a closed
    /// terminal, is ignored.
    pub(super) fn give_to(&self, group: Pid) {
        without_stopping(|| {
            let _ = tcsetpgrp(&self.input, group);
        });
    }

    /// Makes the process group of this process the foreground group again, and restores the modes
    /// that the terminal had when it was opened. Returns the modes that the previous foreground
    /// group had set; `None` if they cannot be read.
    pub(super) fn take_back(&self) -> Option<Termios> {
        let modes = tcgetattr(&self.input).ok();
        self.give_to(getpgrp());
        self.set(&self.modes);
        modes
    }

    /// Sets the modes (settings such as echo) of the terminal.
    pub(super) fn set(&self, modes: &Termios) {
        without_stopping(|| {
            let _ = tcsetattr(&self.input, SetArg::TCSADRAIN, modes);
        });
    }
}

/// Opens the controlling terminal of this process.
fn open() -> io::Result<File> {
    const PATH: &str = "/dev/tty";
    let flags = (OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    OpenOptions::new().read(true).write(true).custom_flags(flags.cast_signed()).open(PATH)
}

/// Calls `change`, which changes the terminal, while SIGTTOU is blocked, because this signal would
/// stop a process in the background. `change` must not start a child process, because the child
/// would inherit the blocked signal.
fn without_stopping(change: impl FnOnce()) {
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    let previous = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    change();
    if let Ok(previous) = previous {
        let _ = previous.thread_set_mask();
    }
}
