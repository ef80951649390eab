//! `completion`: prints the script for a shell that completes commands, options and names.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, CommandFactory as _};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::arguments::Arguments;
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::names;

/// Name of this program, in the completion script.
const PROGRAM: &str = "secrets";

/// Environment variable that the completion script sets when it starts this program to get
/// candidates.
const VARIABLE: &str = "_SECRETS_COMPLETE";

/// Options of the command `secrets completion`.
#[derive(Debug, Args)]
#[command(after_help = "\
Bash: source <(secrets completion bash), in ~/.bashrc\n\
Zsh: source <(secrets completion zsh), in ~/.zshrc after compinit\n\
Fish: secrets completion fish | source, in ~/.config/fish/config.fish\n\
PowerShell: secrets completion powershell | Out-String | Invoke-Expression, in $PROFILE\n\
Elvish: eval (secrets completion elvish | slurp), in rc.elv")]
pub(crate) struct Completion {
    /// Shell that reads the script.
    shell: Shell,
}

impl Completion {
    /// Prints the completion script.
    pub(crate) fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let mut script = Vec::new();
        let shells = Shells::builtins();
        let defect = || Failure::new(Exit::Defect, "this shell has no script");
        shells
            .completer(&self.shell.to_string())
            .ok_or_else(defect)?
            .write_registration(VARIABLE, PROGRAM, PROGRAM, &program(), &mut script)
            .map_err(|_| defect())?;
        cx.output.raw(&script)?;
        Ok(Outcome::Done)
    }
}

/// Returns the program that the completion script starts: the path of this program if it was
/// started by a path, otherwise its name.
fn program() -> String {
    let is_path = |name: &OsString| Path::new(name).components().count() > 1;
    let path = std::env::args_os().next().filter(is_path).and(std::env::current_exe().ok());
    path.map_or_else(|| PROGRAM.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Writes candidates for completion to standard output and returns true, if this program was
/// started by the completion script of a shell. Otherwise, returns false.
pub(crate) fn complete() -> bool {
    let environment =
        CompleteEnv::with_factory(|| names::complete_names(Arguments::command())).var(VARIABLE);
    let folder = std::env::current_dir().ok();
    // Errors are ignored, because a message would disturb the command line.
    environment.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or(true)
}
