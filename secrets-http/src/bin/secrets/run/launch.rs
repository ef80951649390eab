//! Start of the program in a child process: the steps between `fork` and `exec`.
//!
//! The supervisor starts this program itself with the hidden word [`WORD`], because code between
//! `fork` and `exec` of the same process cannot be written without `unsafe`. The launcher performs
//! the steps and is then replaced by the program, so that the program has the process ID that the
//! supervisor knows.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::sys::signal::Signal;
use nix::unistd::{getppid, setsid};
use rustix::process::{ioctl_tiocsctty, set_parent_process_death_signal};

use super::Program;
use super::terminal::Terminal;
use crate::failure::cannot_start;

/// First argument of this program as the launcher.
const WORD: &str = "launch-supervised-program";

/// Relation of the program to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Process group of its own, in the background of the terminal or without one.
    Background,
    /// Process group of its own, which becomes the foreground group of the terminal.
    Foreground,
    /// Session of its own, whose controlling terminal is standard input.
    Session,
}

impl Place {
    const ALL: [Self; 3] = [Self::Background, Self::Foreground, Self::Session];

    fn as_str(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Foreground => "foreground",
            Self::Session => "session",
        }
    }
}

/// Command for the launcher of a program, in a process group or session of its own.
pub(super) fn launcher(program: &Program, place: Place) -> Command {
    let mut command = Command::new(own_path());
    command.arg0("secrets").arg(WORD).arg(place.as_str()).arg(std::process::id().to_string());
    command.arg(&program.name).args(&program.arguments);
    if place != Place::Session {
        command.process_group(0);
    }
    command
}

/// Path of this program, also if its file was replaced by a newer version.
fn own_path() -> OsString {
    const LINUX: &str = "/proc/self/exe";
    if std::fs::exists(LINUX).unwrap_or(false) {
        return LINUX.into();
    }
    std::env::current_exe().map_or_else(|_| "secrets".into(), Into::into)
}

/// If this process was started as a launcher, sets up the process and replaces it by the program.
/// Returns `None` if it was started otherwise, and the exit code if the program cannot be started.
pub(crate) fn launch_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let place = words.next()?;
    let place = Place::ALL.into_iter().find(|known| OsStr::new(known.as_str()) == place)?;
    let supervisor = words.next()?.into_string().ok()?.parse().ok()?;
    let program = Program::from_words(words.collect())?;
    Some(launch(&program, place, supervisor))
}

fn launch(program: &Program, place: Place, supervisor: i32) -> ExitCode {
    // A program without a supervisor would be left alone.
    let _ = set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    if getppid().as_raw() != supervisor {
        return ExitCode::from(128 + Signal::SIGTERM as u8);
    }
    match place {
        Place::Background => {}
        Place::Foreground => {
            if let Some(terminal) = Terminal::of_stdin() {
                terminal.give_to(nix::unistd::getpgrp());
            }
        }
        Place::Session => {
            let _ = setsid();
            let _ = ioctl_tiocsctty(std::io::stdin());
        }
    }
    let mut command = program.command();
    let error = command.exec();
    cannot_start(&command, &program.name, &error).of_run().report(false)
}
