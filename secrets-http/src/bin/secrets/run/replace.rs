//! Replacing this process by the program.

use crate::failure::{HiddenCommand, Outcome, Replacement};

use super::Program;
use super::environment::Environment;

/// Prepares the replacement of this process by the program. `main` drops the runtime first. No file
/// descriptor of this program is inherited, because all are close-on-exec; `std` resets SIGPIPE and
/// keeps the signal mask.
pub(crate) fn replace(program: &Program, environment: &Environment) -> Outcome {
    let mut command = program.command();
    environment.apply_to(&mut command);
    let name = program.name.clone();
    Outcome::Replace(Box::new(Replacement { command: HiddenCommand(command), name }))
}
