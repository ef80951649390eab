//! Program that `secrets run` runs, with its arguments.

use std::ffi::OsString;
use std::process::Command;

/// Shell that runs the script of `--shell`. It is never the shell in `$SHELL`, whose syntax may
/// differ.
#[cfg(unix)]
const SHELL: [&str; 2] = ["/bin/sh", "-c"];
#[cfg(not(unix))]
const SHELL: [&str; 2] = ["cmd", "/C"];

/// Program with its arguments, which are passed on unchanged.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// Name or path of the program.
    pub(crate) name: OsString,
    /// Arguments of the program.
    pub(crate) arguments: Vec<OsString>,
}

impl Program {
    /// Creates a program from a list of words: its name, followed by the arguments. Returns `None`
    /// if the list is empty.
    pub(crate) fn from_words(words: Vec<OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        Some(Self { name: words.next()?, arguments: words.collect() })
    }

    /// Returns the shell of the system, with a script as its argument.
    pub(crate) fn shell(script: OsString) -> Self {
        let [name, option] = SHELL;
        Self { name: name.into(), arguments: vec![option.into(), script] }
    }

    /// Returns the command that starts the program.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments);
        command
    }
}
