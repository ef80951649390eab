//! Start of the program that `secrets run` supervises.

use super::Program;
use super::child::Child;
use super::environment::Environment;
use super::launch::{self, launcher};
use super::mask::Masking;
use super::session::Report;
use super::terminal::Terminal;
use crate::failure::{Exit, Failure, cannot_start};

/// Starts the program as a child process. It runs in the foreground of the terminal if this process
/// is in the foreground.
pub(super) fn start(
    program: &Program,
    environment: &Environment,
    terminal: Option<&Terminal>,
    masking: Option<&Masking>,
) -> Result<Child, Failure> {
    let has_pty = masking.is_some_and(|masking| masking.pty.is_some());
    let is_foreground = terminal.is_some_and(Terminal::is_ours);
    let failed = |error: &_| {
        let message = format!("{}: {error}", program.name.display());
        Failure::new(Exit::Run, message)
    };
    let report = has_pty.then(Report::create).transpose().map_err(|error| failed(&error))?;
    let place = match &report {
        Some(report) => report.place(),
        None if is_foreground => launch::Place::Foreground,
        None => launch::Place::Background,
    };
    let mut command = launcher(program, place);
    environment.apply_to(&mut command);
    if let Some(masking) = masking {
        masking.attach(&mut command).map_err(|error| failed(&error))?;
    }
    let child = match report {
        Some(report) => report.start(&mut command),
        None => Child::start(&mut command),
    };
    child.map_err(|error| cannot_start(&command, &program.name, &error))
}
