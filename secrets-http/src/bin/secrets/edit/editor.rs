//! Text editor of the user.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::sync::oneshot;

use crate::failure::{Exit, Failure};
use crate::settings::{Variables, without_token};

/// Editors that open a window and return immediately, each with the options that make them wait
/// until the file is closed.
const WINDOWED: [(&str, &[&str]); 19] = [
    ("atom", &["--wait", "-w"]),
    ("bbedit", &["--wait", "-w"]),
    ("code", &["--wait", "-w"]),
    ("code-insiders", &["--wait", "-w"]),
    ("codium", &["--wait", "-w"]),
    ("cursor", &["--wait", "-w"]),
    ("gedit", &["--wait", "-w"]),
    ("gvim", &["--nofork", "-f"]),
    ("idea", &["--wait"]),
    ("kate", &["--block", "-b"]),
    ("mate", &["--wait", "-w"]),
    ("mvim", &["--nofork", "-f"]),
    ("open", &["--wait-apps", "-W"]),
    ("pycharm", &["--wait"]),
    ("subl", &["--wait", "-w"]),
    ("vscodium", &["--wait", "-w"]),
    ("windsurf", &["--wait", "-w"]),
    ("xed", &["--wait", "-w"]),
    ("zed", &["--wait", "-w"]),
];

/// Arguments that prevent Vim from copying the text to other files (swap, history, backup, undo).
const VIM_ARGUMENTS: [&str; 5] =
    ["-n", "-i", "NONE", "-c", "set noundofile nobackup nowritebackup"];

/// Environment variables that name the editor, in the order in which they are tried.
const VARIABLES: [&str; 3] = ["SECRETS_EDITOR", "VISUAL", "EDITOR"];

/// Command that starts the editor: program and arguments.
#[derive(Debug)]
pub(crate) struct Editor {
    words: Vec<String>,
    is_open: Cell<bool>,
}

impl Editor {
    /// Returns the editor that an environment variable names, or else `vi`.
    pub(crate) fn find(variables: Variables) -> Result<Self, Failure> {
        for name in VARIABLES {
            let Some(text) = variables.get(name)? else { continue };
            let words = shlex::split(&text).filter(|words| !words.is_empty()).ok_or_else(|| {
                Failure::configuration(format!("{name}: a quote is never closed"))
            })?;
            let editor = Self { words, is_open: Cell::new(false) };
            editor.check_waits(name)?;
            return Ok(editor);
        }
        Ok(Self { words: vec!["vi".to_owned()], is_open: Cell::new(false) })
    }

    /// True while the editor runs.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Opens a file in the editor and waits until the editor ends. If the future is dropped before,
    /// the editor is terminated.
    pub(crate) async fn edit(&self, path: &Path) -> Result<(), Failure> {
        let mut child = self.command(path).spawn().map_err(|error| {
            let message = format!("{}: {error}; SECRETS_EDITOR names an editor", self.words[0]);
            Failure::configuration(message)
        })?;
        let running = Running { process: child.id(), is_open: &self.is_open };
        self.is_open.set(true);
        let (sender, receiver) = oneshot::channel();
        std::thread::spawn(move || sender.send(child.wait()));
        let status = receiver.await;
        running.ended();
        match status {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(Failure::new(
                Exit::Data,
                format!("the editor ended with {status}; nothing was changed"),
            )),
            _ => Err(Failure::new(Exit::Defect, "the end of the editor was not seen")),
        }
    }

    fn command(&self, path: &Path) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if self.is_vim() {
            command.args(VIM_ARGUMENTS);
        }
        without_token(&mut command);
        command.arg(path);
        command
    }

    /// Returns the file name of the editor's program.
    fn name(&self) -> &str {
        name_of(Path::new(&self.words[0]))
    }

    /// True if the editor is Vim or Neovim, which may also be installed as `vi`. Other programs of
    /// this name would not start with the arguments for Vim.
    fn is_vim(&self) -> bool {
        match self.name() {
            "vi" => linked(&self.words[0]).is_some_and(|path| {
                let name = name_of(&path);
                name == "nvim" || name.starts_with("vim")
            }),
            name => matches!(name, "vim" | "nvim" | "gvim"),
        }
    }

    /// Fails if the editor would return before the user has saved the file. `variable` names the
    /// environment variable with the editor, for the message.
    fn check_waits(&self, variable: &str) -> Result<(), Failure> {
        let (name, arguments) = (self.name(), &self.words[1..]);
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        let program = &self.words[0];
        if let Some((_, flags)) = WINDOWED.iter().find(|(windowed, _)| *windowed == name)
            && !flags.iter().any(|flag| has(flag))
        {
            let message = format!(
                "{variable}: {program} returns before the file is saved; set {variable}=\"{program} {}\"",
                flags[0]
            );
            return Err(Failure::configuration(message));
        }
        if name == "emacsclient" && (has("-n") || has("--no-wait")) {
            let message = format!("{variable}: emacsclient must wait; remove -n or --no-wait");
            return Err(Failure::configuration(message));
        }
        Ok(())
    }
}

/// Returns the file name of a path; empty if the path has none or it is not valid Unicode.
fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns the path of a program's file, with symbolic links resolved; `None` if there is no such
/// file. A name without a slash is searched in the folders of the variable `PATH`.
fn linked(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).canonicalize().ok();
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).find_map(|folder| folder.join(program).canonicalize().ok())
}

/// Process of the editor, terminated when dropped.
struct Running<'a> {
    process: u32,
    is_open: &'a Cell<bool>,
}

impl Running<'_> {
    /// Marks the process as ended, so that dropping this value does not terminate it.
    fn ended(self) {
        self.is_open.set(false);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.is_open.replace(false) {
            terminate(self.process);
        }
    }
}

#[cfg(unix)]
fn terminate(process: u32) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    if let Ok(process) = i32::try_from(process) {
        // The process may have ended by itself.
        let _ = kill(Pid::from_raw(process), Signal::SIGTERM);
    }
}

#[cfg(not(unix))]
fn terminate(_process: u32) {}
