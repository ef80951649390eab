//! Test server written in Python, as a separate process.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Running Python program, which ends when its standard input is closed. Stopped when dropped.
pub struct PythonServer {
    /// First line that the program has printed, such as its address.
    pub greeting: String,
    process: Child,
    output: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl PythonServer {
    /// Starts a program in the folder of the tests, with these environment variables, and waits
    /// until it has printed a line.
    #[must_use]
    pub fn start(program: &str, variables: &[(&str, &str)]) -> Self {
        let mut process = Command::new(tools().join("venv/bin/python"))
            .arg(format!("{}/{program}", env!("CARGO_MANIFEST_DIR")))
            .envs(variables.iter().copied())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|_| {
                panic!("no Python with the required packages: use ./tests/run, which installs them")
            });
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let greeting = line.trim().to_owned();
        let output = Arc::<Mutex<String>>::default();
        let (written, lines) = (Arc::clone(&output), process.stderr.take().unwrap());
        let reader = thread::spawn(move || {
            for line in BufReader::new(lines).lines() {
                *written.lock().unwrap() += &(line.unwrap() + "\n");
            }
        });
        Self { greeting, process, output, reader: Some(reader) }
    }

    /// Returns the text that the program has written to its standard error so far.
    #[must_use]
    pub fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    /// Stops the program, and returns all that it has written to its standard error.
    #[must_use]
    pub fn stop(mut self) -> String {
        drop(self.process.stdin.take());
        self.reader.take().unwrap().join().unwrap();
        self.output()
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().ok();
    }
}

/// Returns the folder of the tools that the test runner has installed, such as Python packages.
#[expect(clippy::disallowed_methods, reason = "the only configuration of the tests")]
fn tools() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools");
    std::env::var("SECRETS_TEST_TOOLS").map_or_else(|_| default.into(), PathBuf::from)
}
