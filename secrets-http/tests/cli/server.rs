//! Server `secrets-http dev`, run as a child process for tests.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::home::Home;

/// Running server with its own data. It is stopped when this value is dropped.
pub(crate) struct Server {
    child: Child,
    /// Address of the server.
    pub(crate) url: String,
    /// Token of the user `dev@example.com`.
    pub(crate) token: String,
    folder: PathBuf,
    _data: tempfile::TempDir,
}

impl Server {
    /// Starts a server on a free port, with rate limits that no test reaches.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with additional environment variables.
    pub(crate) fn start_with(variables: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let folder = data.path().join("data");
        let (child, url, token) = spawn(&folder, "127.0.0.1:0", variables);
        Self { child, url, token, folder, _data: data }
    }

    /// Kills the server process.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server again at the same address, after a call of `kill`.
    pub(crate) fn restart(&mut self) {
        let address = self.url.trim_start_matches("http://").to_owned();
        (self.child, self.url, self.token) = spawn(&self.folder, &address, &[]);
    }

    /// Returns everything that the server has written to standard error.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.with_extension("log")).unwrap()
    }

    /// Returns a token of the user with this e-mail address.
    pub(crate) fn token_of(&self, email: &str) -> String {
        let output = Command::new(program())
            .args(["dev", "token", "--email", email, "--data-dir"])
            .arg(&self.folder)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Creates a test user (`Home`) whose environment variables contain the address of this server
    /// and the token of its first user.
    pub(crate) fn home(&self) -> Home {
        Home::new().with("SECRETS_URL", &self.url).with("SECRETS_TOKEN", &self.token)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &PathBuf, address: &str, variables: &[(&str, &str)]) -> (Child, String, String) {
    let mut child = Command::new(program())
        .args(["dev", "--data-dir"])
        .arg(folder)
        .env("SECRETS_LISTEN", address)
        .env("SECRETS_RATE_LIMIT_PER_IP", "0")
        .env("SECRETS_RATE_LIMIT_PER_PRINCIPAL", "0")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(
            File::options().create(true).append(true).open(folder.with_extension("log")).unwrap(),
        )
        .spawn()
        .unwrap();
    let (mut url, mut token) = (String::new(), String::new());
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some(value) = line.strip_prefix("export SECRETS_URL=") {
            value.clone_into(&mut url);
        }
        if let Some(value) = line.strip_prefix("export SECRETS_TOKEN=") {
            value.clone_into(&mut token);
            break;
        }
    }
    (child, url, token)
}

/// Returns the path of the server program, which is built beside the program under test.
fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_secrets")).with_file_name("secrets-http")
}
