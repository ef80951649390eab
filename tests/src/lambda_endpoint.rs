//! Test server with the API of AWS Lambda, as a separate process (`lambda/endpoint.py`). It runs
//! the rotation function of `examples/rotation-proxy`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Secret that the service and the rotation function share. It signs and encrypts their messages.
pub const SHARED_SECRET: &str = "kvc_shared_0123456789abcdefghijklmnop";

/// Local stand-in for AWS Lambda, which runs the rotation function of `examples/rotation-proxy`.
/// Stopped when dropped.
pub struct LambdaEndpoint {
    /// URL of the server.
    pub url: String,
    process: Child,
    output: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl LambdaEndpoint {
    /// Starts the server. Its functions use [`SHARED_SECRET`].
    #[must_use]
    pub fn start() -> Self {
        let folder = env!("CARGO_MANIFEST_DIR");
        let mut process = Command::new(tools().join("venv/bin/python"))
            .arg(format!("{folder}/lambda/endpoint.py"))
            .env("SHARED_SECRET", SHARED_SECRET)
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
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        let output = Arc::<Mutex<String>>::default();
        let (written, lines) = (Arc::clone(&output), process.stderr.take().unwrap());
        let reader = thread::spawn(move || {
            for line in BufReader::new(lines).lines() {
                *written.lock().unwrap() += &(line.unwrap() + "\n");
            }
        });
        Self { url, process, output, reader: Some(reader) }
    }

    /// Returns what the server process has written to its standard error so far, including the log
    /// of the functions.
    #[must_use]
    pub fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    /// Stops the server process, and returns everything that it has written to its standard error.
    #[must_use]
    pub fn stop(mut self) -> String {
        drop(self.process.stdin.take());
        self.reader.take().unwrap().join().unwrap();
        self.output()
    }
}

impl Drop for LambdaEndpoint {
    fn drop(&mut self) {
        // The endpoint ends when its standard input is closed.
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
