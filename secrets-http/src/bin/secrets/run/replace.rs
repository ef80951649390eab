//! Replacement of this process by the program that `secrets run` runs, without supervision.

use crate::failure::{HiddenCommand, Outcome, Replacement};

use super::Program;
use super::environment::Environment;

/// Prepares the replacement of this process by the program, which `main` carries out after it has
/// dropped the async runtime. The program inherits no file descriptor of this process, because all
/// are close-on-exec. The standard library resets SIGPIPE and keeps the signal mask.
pub(crate) fn replace(program: &Program, environment: &Environment) -> Outcome {
    let mut command = program.command();
    environment.apply_to(&mut command);
    let name = program.name.clone();
    Outcome::Replace(Box::new(Replacement { command: HiddenCommand(command), name }))
}
