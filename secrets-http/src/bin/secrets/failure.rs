//! Results of a command: outcomes, and failures with their exit codes and messages.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::process::{Command, ExitCode};

use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::output::{escaped_json, printable};

/// Exit code of a failure. Values from 64 on follow `sysexits.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Invalid command line.
    Usage = 64,
    /// Invalid input, such as a file, a bundle or a signature.
    Data = 65,
    /// Missing input file.
    NoInput = 66,
    /// Not signed in, or the session has ended.
    NotSignedIn = 67,
    /// Unknown project, environment or key.
    NotFound = 68,
    /// Service unreachable or unavailable.
    Unavailable = 69,
    /// Bug in this program.
    Defect = 70,
    /// Version conflict, or an object that exists already.
    Conflict = 71,
    /// Output file that cannot be created.
    CannotCreate = 73,
    /// The rate limit lasts longer than `--timeout`.
    RateLimited = 75,
    /// Response that this program cannot read.
    Protocol = 76,
    /// Permission denied by the service.
    Forbidden = 77,
    /// Invalid settings or project file.
    Configuration = 78,
    /// Failure of `secrets run` itself before the command was started.
    Run = 125,
    /// `secrets run`: the command cannot be executed.
    CannotExecute = 126,
    /// `secrets run`: the command was not found.
    CommandNotFound = 127,
    /// Interrupted by Ctrl-C.
    Interrupted = 130,
}

/// Error that ends the program. The message never contains a value or a credential.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Exit code.
    pub(crate) exit: Exit,
    /// Error message in lower case, without a full stop. It may have several lines.
    pub(crate) message: String,
    /// Error code for scripts, from the service's response or set by this program.
    pub(crate) code: Option<String>,
    /// Details of the service's error response.
    pub(crate) details: Option<Value>,
}

/// Result of a command that did not fail.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The command has succeeded: exit code 0.
    Done,
    /// Exit code 1: the answer to the command's question is negative, for example because `diff`
    /// has found a difference.
    Negative,
    /// Exit code of a program that was started and has ended.
    Status(u8),
    /// Another program must replace this process.
    Replace(Box<Replacement>),
}

/// Program that replaces this process.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// Command that starts the program. Its environment contains secrets.
    pub(crate) command: HiddenCommand,
    /// Name of the program, for messages.
    pub(crate) name: OsString,
}

/// Command whose environment contains secrets; `Debug` does not show it.
pub(crate) struct HiddenCommand(pub(crate) Command);

impl std::fmt::Debug for HiddenCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HiddenCommand(..)")
    }
}

impl Failure {
    /// Creates a failure with this exit code and message.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), code: None, details: None }
    }

    /// Creates a failure for an invalid command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Creates a failure for invalid settings.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Exit::Configuration, message)
    }

    /// True if the failure may end by itself: the service is unreachable, or refuses requests for
    /// some time.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self.exit, Exit::Unavailable | Exit::RateLimited)
    }

    /// Changes the exit code of the failure to 125, which `secrets run` uses for all failures of
    /// this program itself.
    pub(crate) fn of_run(mut self) -> Self {
        if !matches!(self.exit, Exit::CannotExecute | Exit::CommandNotFound | Exit::Interrupted) {
            self.exit = Exit::Run;
        }
        self
    }

    /// Writes the message to standard error, as JSON if `in_json` is set, and returns the exit code
    /// for `main`.
    pub(crate) fn report(&self, in_json: bool) -> ExitCode {
        // If standard error is closed, the exit code still reports the failure.
        let mut stderr = io::stderr().lock();
        if in_json {
            let mut body = json!({ "error": self.message });
            if let Some(code) = &self.code {
                body["code"] = json!(code);
            }
            if let Some(details) = &self.details {
                body["details"] = details.clone();
            }
            let body = escaped_json(Zeroizing::new(body.to_string()));
            let _ = writeln!(stderr, "{}", *body);
        } else {
            for line in self.message.lines() {
                let _ = writeln!(stderr, "secrets: {}", printable(line));
            }
        }
        ExitCode::from(self.exit as u8)
    }
}

impl Outcome {
    /// Returns the exit code for `main`. If the outcome is a replacement, replaces this process
    /// instead.
    pub(crate) fn finish(self, in_json: bool) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::Negative => ExitCode::from(1),
            Self::Status(status) => ExitCode::from(status),
            Self::Replace(replacement) => replacement.replace().report(in_json),
        }
    }
}

impl Replacement {
    /// Replaces this process by the program. Returns only if that fails.
    #[cfg(unix)]
    fn replace(mut self) -> Failure {
        use std::os::unix::process::CommandExt as _;
        let error = self.command.0.exec();
        cannot_start(&self.command.0, &self.name, &error)
    }

    /// Fails, because a process can be replaced only on Unix.
    #[cfg(not(unix))]
    fn replace(self) -> Failure {
        let error = io::Error::from(io::ErrorKind::Unsupported);
        cannot_start(&self.command.0, &self.name, &error)
    }
}

/// Returns the failure for a program that cannot be started. As in shells, the exit code is 127 if
/// the program does not exist, and 126 otherwise. If the arguments and the environment are too
/// large, it is 125, and the message contains their size and the limit.
pub(crate) fn cannot_start(command: &Command, name: &OsStr, error: &io::Error) -> Failure {
    let name = name.to_string_lossy();
    let exit = match error.kind() {
        io::ErrorKind::NotFound => Exit::CommandNotFound,
        io::ErrorKind::ArgumentListTooLong => {
            let (size, limit) = (size(command), size_limit());
            let message = format!(
                "{name}: arguments and environment have {size} bytes, more than the system's limit\
                 {limit}; --only and --except pass on fewer secrets, --mount writes them to a file"
            );
            return Failure::new(Exit::Run, message);
        }
        _ => Exit::CannotExecute,
    };
    Failure::new(exit, format!("{name}: {error}"))
}

/// Returns the size in bytes of a command's arguments and environment variables, as the system
/// counts it: each string has a terminator and a pointer.
fn size(command: &Command) -> usize {
    const OVERHEAD: usize = 1 + size_of::<usize>();
    let arguments = command.get_args().map(|word| word.len() + OVERHEAD);
    let variables = command
        .get_envs()
        .map(|(name, value)| name.len() + value.map_or(0, OsStr::len) + 1 + OVERHEAD);
    command.get_program().len() + OVERHEAD + arguments.chain(variables).sum::<usize>()
}

#[cfg(unix)]
fn size_limit() -> String {
    let limit = nix::unistd::sysconf(nix::unistd::SysconfVar::ARG_MAX).ok().flatten();
    limit.map(|limit| format!(" of {limit}")).unwrap_or_default()
}

#[cfg(not(unix))]
fn size_limit() -> String {
    String::new()
}
