//! Output of this program: data on standard output, messages on standard error.

mod list;
mod new_file;
mod printable;
mod progress;
mod prompt;
mod time;

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::Value;
use zeroize::Zeroizing;

pub(crate) use list::{Column, cell};
pub(crate) use new_file::NewFile;
pub(crate) use printable::{escaped_json, printable, printable_lines};
pub(crate) use time::{ago, date};

use crate::arguments::{Global, OutputFormat};
use crate::failure::{Exit, Failure};

/// Style of messages that are less important than the data.
const DIM: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// Output of one run of this program.
#[derive(Debug)]
pub(crate) struct Output {
    /// Format of the data.
    pub(crate) format: OutputFormat,
    /// True if the program may ask the user.
    pub(crate) is_interactive: bool,
    is_quiet: bool,
}

#[expect(clippy::unused_self, reason = "all output goes through one value")]
impl Output {
    /// Creates the output according to the global options.
    pub(crate) fn new(global: &Global) -> Self {
        global.color.apply();
        let is_interactive = !global.no_input && crate::arguments::is_interactive();
        Self { format: global.output, is_interactive, is_quiet: global.quiet }
    }

    /// Writes a line of data to standard output, without characters that control a terminal.
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        write(format!("{}\n", printable(text)).as_bytes())
    }

    /// Writes bytes to standard output unchanged. On a terminal, characters that control the
    /// terminal are replaced.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        if !io::stdout().is_terminal() {
            return write(bytes);
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        let text = Zeroizing::new(text);
        match printable_lines(&text) {
            Cow::Borrowed(text) => write(text.as_bytes()),
            Cow::Owned(text) => {
                write(Zeroizing::new(text).as_bytes())?;
                self.hint(
                    "\ncontrol characters are not shown; a file or a pipe gets all characters",
                );
                Ok(())
            }
        }
    }

    /// Returns standard output, for data that is written in parts. Returns `None` on a terminal,
    /// for which [`raw`](Self::raw) replaces characters.
    pub(crate) fn stream(&self) -> Option<io::Stdout> {
        let stdout = io::stdout();
        (!stdout.is_terminal()).then_some(stdout)
    }

    /// Writes a JSON document to standard output.
    pub(crate) fn json(&self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document)
            .map(Zeroizing::new)
            .map_err(|error| Failure::new(Exit::Defect, format!("cannot write JSON: {error}")))?;
        write(escaped_json(text).as_bytes())?;
        write(b"\n")
    }

    /// Writes an object to standard output: as unchanged JSON, or as one line for each column that
    /// is not empty. With the output format `name`, only the first column is written.
    pub(crate) fn object(&self, object: &Value, columns: &[Column]) -> Result<(), Failure> {
        match self.format {
            OutputFormat::Json => self.json(object),
            OutputFormat::Name => self.line(&cell(object, columns.first().map_or("", |c| c.field))),
            OutputFormat::Table => {
                let width = columns.iter().map(|column| column.title.len()).max().unwrap_or(0);
                for column in columns {
                    let text = column.text(object);
                    if !text.is_empty() {
                        let title = format!("{}:", column.title.to_lowercase());
                        self.line(&format!("{title:<width$}  {text}", width = width + 1))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes the result of a command that returns no data of the service: as JSON to standard
    /// output with `-o json`, otherwise as a message to standard error.
    pub(crate) fn result(&self, message: &str, document: &impl Serialize) -> Result<(), Failure> {
        if self.format.is_json() {
            return self.json(document);
        }
        self.note(message);
        Ok(())
    }

    /// Writes a message to standard error, unless `--quiet` is given.
    pub(crate) fn note(&self, message: &str) {
        if !self.is_quiet {
            anstream::eprintln!("{}", printable_lines(message));
        }
    }

    /// Writes a message to standard error that requires an action of the user, such as opening a
    /// page. It is written even if `--quiet` is given.
    #[expect(clippy::unused_self, reason = "like the other messages")]
    pub(crate) fn instruct(&self, message: &str) {
        anstream::eprintln!("{}", printable_lines(message));
    }

    /// Writes a message to standard error, if standard error is a terminal.
    pub(crate) fn hint(&self, message: &str) {
        if !self.is_quiet && io::stderr().is_terminal() {
            anstream::eprintln!("{DIM}{}{DIM:#}", printable_lines(message));
        }
    }

    /// Writes a warning to standard error.
    pub(crate) fn warn(&self, message: &str) {
        let message = printable_lines(message);
        anstream::eprintln!("{WARNING}secrets: warning: {message}{WARNING:#}");
    }

    /// True if a progress bar may be shown.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.is_quiet && self.format != OutputFormat::Json && io::stderr().is_terminal()
    }
}

/// Writes bytes to standard output.
fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Checks the result of writing to standard output. A closed pipe is not an error, because its
/// reader, such as `head`, needs no more data.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::CannotCreate, format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
