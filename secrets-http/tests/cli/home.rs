//! Home folder of a test user, and runs of the program `secrets` in it.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Maximum running time of a program. A program that has not ended by then is killed, so that the
/// test fails.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Home folder, working folder and environment variables of a test user.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// Result of a program run that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; `None` if a signal has ended the program.
    pub(crate) code: Option<i32>,
    /// Text that the program wrote to standard output.
    pub(crate) stdout: String,
    /// Text that the program wrote to standard error.
    pub(crate) stderr: String,
}

impl Home {
    /// Creates an empty home folder with a working folder in it.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder, variables: Vec::new() }
    }

    /// Sets an environment variable for later runs. An empty value removes the variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(existing, _)| existing != name);
        if !value.is_empty() {
            self.variables.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Returns the home folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of a file in the working folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join("work").join(name)
    }

    /// Writes a file in the working folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns a command that runs the program `secrets` in the working folder, with the user's
    /// environment variables and no others.
    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        self.program(env!("CARGO_BIN_EXE_secrets"), arguments)
    }

    /// Returns a command that runs another program, in the same way as [`Home::command`].
    pub(crate) fn program<S: AsRef<OsStr>>(
        &self,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder())
            // The home folder is below the target folder, which is in a Git repository.
            .env("GIT_CEILING_DIRECTORIES", self.folder())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs `secrets` with these arguments and empty standard input, and returns the result.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, "")
    }

    /// Runs `secrets` with these arguments and the text `input` on standard input, and returns the
    /// result.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ended {
        ended(self.command(arguments), input)
    }

    /// Runs `secrets` with these arguments, checks that it succeeds, and returns its standard
    /// output.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended.stdout
    }

    /// Sends a request with `secrets api`, checks that it succeeds, and returns the JSON response.
    pub(crate) fn api(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let arguments = match method {
            "GET" | "DELETE" => vec!["api", method, path],
            _ => vec!["api", method, path, "--input", "-"],
        };
        let ended = self.run_with(&arguments, &body);
        assert_eq!(ended.code, Some(0), "{method} {path}: {}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap_or(Value::Null)
    }
}

impl Ended {
    /// Checks that this run has failed with this exit code, and that its standard error contains
    /// this text.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, text: &str) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.contains(text), "{self:?}");
        self
    }
}

/// Runs a command with the text `input` on standard input until it ends, and returns the result.
pub(crate) fn ended(mut command: Command, input: &str) -> Ended {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
    // The program may end before it has read everything.
    thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut stderr = Vec::new();
    let errors = thread::spawn(move || {
        err.read_to_end(&mut stderr).unwrap();
        stderr
    });
    let code = wait(&mut child);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code, stdout: text(reader.join().unwrap()), stderr: text(errors.join().unwrap()) }
}

/// Waits until a program has ended, and returns its exit code. Kills the program if it does not end
/// in time.
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    let until = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the program did not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a condition is true.
pub(crate) fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "the condition does not hold");
        thread::sleep(Duration::from_millis(10));
    }
}
