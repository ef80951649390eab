//! Home folder of a user of the program, and runs of the program in it.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Time after which a program that should have ended is killed, and the test fails.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Home folder, working folder and environment variables of a user.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// Result of a program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; `None` if a signal ended the program.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Home {
    /// Creates an empty home with a working folder.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder, variables: Vec::new() }
    }

    /// Sets a variable; an empty value removes it.
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

    /// Returns a path in the working folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join("work").join(name)
    }

    /// Writes a file in the working folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns a command that runs the program in the working folder, with these variables and no
    /// others.
    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        self.program(env!("CARGO_BIN_EXE_secrets"), arguments)
    }

    /// Returns a command for any program, like [`Home::command`].
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
            // The home is below the target folder, and so in a repository.
            .env("GIT_CEILING_DIRECTORIES", self.folder())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program without standard input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, "")
    }

    /// Runs the program with this text on standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ended {
        ended(self.command(arguments), input)
    }

    /// Runs the program, which must succeed, and returns standard output.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended.stdout
    }

    /// Sends a request, which must succeed, and returns the JSON response.
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
    /// Checks the exit code and that standard error contains this text.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, text: &str) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.contains(text), "{self:?}");
        self
    }
}

/// Runs a command to its end.
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

/// Waits for a program, and kills it if it does not end.
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
