//! Replacing this process by the program.

use crate::failure::{HiddenCommand, Outcome, Replacement};

use super::Program;
use super::environment::Environment;

/// Prepares the program that replaces this process. `main` drops the runtime before the replacement;
/// all descriptors of this program are close-on-exec, and `std` resets SIGPIPE and keeps the signal
/// mask.
pub(crate) fn replace(program: &Program, environment: &Environment) -> Outcome {
    let mut command = program.command();
    environment.apply_to(&mut command);
    let name = program.name.clone();
    Outcome::Replace(Box::new(Replacement { command: HiddenCommand(command), name }))
}
