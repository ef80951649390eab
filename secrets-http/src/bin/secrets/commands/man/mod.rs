//! `man`: prints manual pages, or the reference of all commands.

mod markdown;

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use crate::arguments::Arguments;
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;

/// Options of the command `secrets man`.
#[derive(Debug, Args)]
#[command(after_help = "Read a page with: secrets man list | man -l -")]
pub(crate) struct Man {
    /// Command whose page is printed, such as `env create` [default: the page of the program].
    command: Vec<String>,
    /// Write the pages of all commands to this folder.
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    all: Option<PathBuf>,
    /// Print the reference of all commands in Markdown.
    #[arg(long, hide = true, conflicts_with_all = ["command", "all"])]
    markdown: bool,
}

impl Man {
    /// Prints the manual page of a command, or writes the pages of all commands.
    pub(crate) fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        if self.markdown {
            cx.output.raw(markdown::reference(Arguments::command()).as_bytes())?;
            return Ok(Outcome::Done);
        }
        if let Some(folder) = &self.all {
            fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
                .map_err(|error| {
                    Failure::new(Exit::CannotCreate, format!("{}: {error}", folder.display()))
                })?;
            return Ok(Outcome::Done);
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(self.find()?).render(&mut page).map_err(|error| {
            Failure::new(Exit::Defect, format!("cannot write the page: {error}"))
        })?;
        cx.output.raw(&page)?;
        Ok(Outcome::Done)
    }

    /// Finds the command whose manual page is printed. The name of the returned command includes
    /// the names of its parents.
    fn find(&self) -> Result<clap::Command, Failure> {
        let mut command = Arguments::command();
        command.build();
        for word in &self.command {
            let found = command.find_subcommand(word).cloned();
            command = found.ok_or_else(|| Failure::usage("man: unknown command"))?;
        }
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-");
        Ok(command.name(name))
    }
}
