//! Entry point of the program `secrets`: the command line for people and pipelines.
//!
//! [`arguments`] parses the command line, [`settings`] combines it with variables and files, and
//! [`commands`] has a file for each command. A command uses the [`service`] over HTTP and writes
//! through [`output`]; it returns an [`Outcome`], or a [`Failure`]
//! with its exit code.

mod arguments;
mod browser;
mod changes;
mod clipboard;
mod commands;
mod comparison;
mod credentials;
mod edit;
mod failure;
mod import;
mod input;
mod invocation;
mod names;
mod offline;
mod output;
mod patterns;
mod resource;
mod run;
mod scan;
mod secret_list;
mod service;
mod settings;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Command};
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    forbid_core_files();
    #[cfg(unix)]
    if let Some(code) = run::launch_if_asked() {
        return code;
    }
    if commands::completion::complete() {
        return ExitCode::SUCCESS;
    }
    if arguments::version_is_asked() {
        return arguments::print_version();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return arguments::report(&error),
    };
    let in_json = arguments.global.output.is_json();
    match outcome(arguments) {
        Ok(outcome) => outcome.finish(in_json),
        Err(failure) => failure.report(in_json),
    }
}

/// Prevents the kernel from writing the memory of this process, which contains secret values, to a
/// core file, and other processes of the user from reading it. Ends when another program replaces
/// this process.
#[cfg(target_os = "linux")]
fn forbid_core_files() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Fails only for an unknown behavior.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Runs the command. Most failures of `secrets run` get the exit code 125.
fn outcome(arguments: Arguments) -> Result<Outcome, Failure> {
    let is_run = matches!(arguments.command, Command::Run(_));
    let result = perform(arguments);
    if is_run { result.map_err(Failure::of_run) } else { result }
}

/// Runs the command. If this process is then to be replaced, the async runtime is shut down first.
fn perform(arguments: Arguments) -> Result<Outcome, Failure> {
    let invocation = Invocation::new(&arguments.global)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Check for timers and I/O after each task, so that a fast endless response does not delay
        // the time limit.
        .event_interval(1)
        .build()
        .map_err(|error| {
            Failure::new(Exit::Defect, format!("cannot start the runtime: {error}"))
        })?;
    let result = runtime.block_on(commands::run(&invocation, arguments.command));
    // Do not wait for a DNS lookup that has not ended.
    runtime.shutdown_background();
    result
}
