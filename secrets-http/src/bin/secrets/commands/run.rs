//! `run`: runs a command with the secrets as environment variables.

use std::ffi::OsString;

use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::invocation::{Invocation, Place};
use crate::offline;
#[cfg(unix)]
use crate::run::SupervisionOptions;
use crate::run::{self, EnvironmentOptions, Program};

/// Options of the command `secrets run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    environment: EnvironmentOptions,
    #[cfg(unix)]
    #[command(flatten)]
    supervision: SupervisionOptions,
    /// Run this script in `/bin/sh` instead of a command.
    #[arg(long, value_name = "SCRIPT", conflicts_with = "command")]
    shell: Option<OsString>,
    /// Command with its arguments, which are passed on unchanged.
    #[arg(trailing_var_arg = true, required_unless_present = "shell", value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Run {
    /// Loads the secrets and runs the command.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let file = cx.settings.run();
        let rules = self.environment.rules(&file, cx.settings.project_folder.as_deref())?;
        let Some(program) =
            self.shell.map(Program::shell).or_else(|| Program::from_words(self.command))
        else {
            return Err(Failure::usage("a command is required"));
        };
        let service = offline::service(cx)?;
        let place = cx.place(&service).await?;
        let values = offline::load(cx, &service, &place).await?;
        #[cfg(unix)]
        let is_mounted = self.supervision.mount.is_some();
        #[cfg(not(unix))]
        let is_mounted = false;
        let environment = if is_mounted {
            rules.mounted(run::parent(), &place, &values)?
        } else {
            rules.compose(run::parent(), &place, &values)?
        };
        announce(cx, &place, &environment);
        #[cfg(unix)]
        if self.supervision.is_needed() {
            let (options, output) = (self.supervision, &cx.output);
            let inputs = run::Supervised { program, rules, place, options, output };
            return run::supervise(inputs, environment, values, service).await;
        }
        Ok(run::replace(&program, &environment))
    }
}

/// Prints the number of secrets, and warns about variables whose names cannot be used in a shell.
fn announce(cx: &Invocation, place: &Place, environment: &run::Environment) {
    let secrets = environment.secrets;
    cx.output.hint(&format!("{place}: {secrets} secret{}", if secrets == 1 { "" } else { "s" }));
    if !environment.unusual.is_empty() {
        let names = environment.unusual.join(", ");
        cx.output.warn(&format!("no shell can read variables of these names: {names}"));
    }
}
