//! Launcher of the program in a child process: performs the steps that usually happen between
//! `fork` and `exec`.
//!
//! Code between `fork` and `exec` cannot be written without `unsafe`. Therefore the supervisor
//! starts another process of this executable, the launcher, with the hidden argument [`WORD`]. The
//! launcher performs the steps and is then replaced by the program, so that the program has the
//! process ID of the child that the supervisor has started. Only for [`Place::Session`], the
//! launcher stays as the leader of the session, and the program is its child (see [`session`]).

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::sys::signal::Signal;
use nix::unistd::getppid;
use rustix::process::set_parent_process_death_signal;

use super::Program;
use super::session;
use super::terminal::Terminal;
use crate::failure::cannot_start;

/// First command-line argument of a process of this executable that runs as the launcher (see the
/// module docs).
const WORD: &str = "launch-supervised-program";

/// Process group or session in which the program runs, in relation to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Own process group in the background of the terminal, or without a terminal.
    Background,
    /// Own process group, which becomes the foreground process group of the terminal.
    Foreground,
    /// Own session, whose controlling terminal is a pseudo-terminal on the standard streams.
    Session {
        /// File descriptor to which the launcher writes the process ID of the program.
        report: RawFd,
    },
}

impl Place {
    const BACKGROUND: &str = "background";
    const FOREGROUND: &str = "foreground";

    /// Returns the command-line argument by which the launcher recognizes this process group or
    /// session.
    fn word(self) -> String {
        match self {
            Self::Background => Self::BACKGROUND.to_owned(),
            Self::Foreground => Self::FOREGROUND.to_owned(),
            Self::Session { report } => report.to_string(),
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        match word {
            Self::BACKGROUND => Some(Self::Background),
            Self::FOREGROUND => Some(Self::Foreground),
            report => report.parse().ok().map(|report| Self::Session { report }),
        }
    }
}

/// Returns the command that starts this executable again as the launcher (see the module docs),
/// which runs `program` in the process group or session `place`.
pub(super) fn launcher(program: &Program, place: Place) -> Command {
    let mut command = Command::new(own_path());
    command.arg0("secrets").arg(WORD).arg(place.word()).arg(std::process::id().to_string());
    command.arg(&program.name).args(&program.arguments);
    if !matches!(place, Place::Session { .. }) {
        command.process_group(0);
    }
    command
}

/// Returns the path of the executable of this process, which works even if the file was replaced by
/// a newer version.
fn own_path() -> OsString {
    const LINUX: &str = "/proc/self/exe";
    if std::fs::exists(LINUX).unwrap_or(false) {
        return LINUX.into();
    }
    std::env::current_exe().map_or_else(|_| "secrets".into(), Into::into)
}

/// Runs the program if this process was started as the launcher (see the module docs), usually by
/// replacing this process; otherwise returns `None`. Returns an exit code if the program cannot be
/// started, or if the program has ended in a session that this process leads.
pub(crate) fn launch_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let place = Place::from_word(words.next()?.to_str()?)?;
    let supervisor = words.next()?.into_string().ok()?.parse().ok()?;
    let program = Program::from_words(words.collect())?;
    Some(launch(&program, place, supervisor))
}

fn launch(program: &Program, place: Place, supervisor: i32) -> ExitCode {
    // If the supervisor ends, nothing else would stop the program.
    let _ = set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    if getppid().as_raw() != supervisor {
        return ExitCode::from(128 + Signal::SIGTERM as u8);
    }
    match place {
        Place::Background => {}
        Place::Foreground => {
            if let Some(terminal) = Terminal::controlling() {
                terminal.give_to(nix::unistd::getpgrp());
            }
        }
        Place::Session { report } => return session::lead(program, report),
    }
    let mut command = program.command();
    let error = command.exec();
    cannot_start(&command, &program.name, &error).of_run().report(false)
}
