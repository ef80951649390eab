//! Controlling terminal: its foreground process group and its modes.

use std::io::Stdin;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};

/// Controlling terminal on standard input, with the modes that it had at first.
#[derive(Debug)]
pub(super) struct Terminal {
    input: Stdin,
    modes: Termios,
}

impl Terminal {
    /// Terminal on standard input, if it is the controlling terminal of this process.
    pub(super) fn of_stdin() -> Option<Self> {
        let input = std::io::stdin();
        tcgetpgrp(&input).ok()?;
        let modes = tcgetattr(&input).ok()?;
        Some(Self { input, modes })
    }

    /// True if a process group is in the foreground.
    pub(super) fn is_with(&self, group: Pid) -> bool {
        tcgetpgrp(&self.input) == Ok(group)
    }

    /// True if the process group of this process is in the foreground.
    pub(super) fn is_ours(&self) -> bool {
        self.is_with(getpgrp())
    }

    /// Makes a process group the foreground group. Fails silently if the terminal is gone.
    pub(super) fn give_to(&self, group: Pid) {
        without_stopping(|| {
            let _ = tcsetpgrp(&self.input, group);
        });
    }

    /// Makes this process group the foreground group again, with the first modes, and returns the
    /// modes that the other group has set.
    pub(super) fn take_back(&self) -> Option<Termios> {
        let modes = tcgetattr(&self.input).ok();
        self.give_to(getpgrp());
        self.set(&self.modes);
        modes
    }

    /// Sets modes.
    pub(super) fn set(&self, modes: &Termios) {
        without_stopping(|| {
            let _ = tcsetattr(&self.input, SetArg::TCSADRAIN, modes);
        });
    }
}

/// Changes the terminal while SIGTTOU is blocked, which would stop a process in the background. No
/// child is started meanwhile: a child inherits the signal mask.
fn without_stopping(change: impl FnOnce()) {
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    let previous = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    change();
    if let Ok(previous) = previous {
        let _ = previous.thread_set_mask();
    }
}
