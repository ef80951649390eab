//! Tests of the command `secrets run`.

mod environment;
mod mask;
mod mask_terminal;
mod mount;
mod replace;
mod supervise;
mod terminal;
mod tmux;
mod watch;

use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::home::Home;
use crate::server::Server;

/// API path of the secrets in the environment that these tests use.
pub(crate) const SECRETS: &str = "/projects/web/environments/staging/secrets";

/// Creates a server whose project `web` has these secrets in the environment `staging`, and a test
/// user (`Home`) whose settings name this environment.
pub(crate) fn staging(secrets: &[(&str, &str)]) -> (Server, Home) {
    let server = Server::start();
    let home = server.home().with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging");
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    for (key, value) in secrets {
        home.api("POST", SECRETS, &json!({ "key": key, "value": value }));
    }
    (server, home)
}

/// Maximum time that a test waits for an event.
const TIMEOUT: Duration = Duration::from_secs(30);

/// File to which commands under test append lines.
pub(crate) struct Log(PathBuf);

impl Log {
    /// Returns a log whose file is `log` in the working folder.
    pub(crate) fn new(home: &Home) -> Self {
        Self::at(home, "log")
    }

    /// Returns a log whose file has this name in the working folder.
    pub(crate) fn at(home: &Home, name: &str) -> Self {
        Self(home.path(name))
    }

    /// Returns the complete lines that the file contains so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        let end = text.rfind('\n').map_or(0, |end| end + 1);
        text[..end].lines().map(str::to_owned).collect()
    }

    /// Waits until the lines satisfy a condition, and returns them. `what` describes the condition
    /// for the error message.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, is_met: impl Fn(&[String]) -> bool) -> Vec<String> {
        let until = Instant::now() + TIMEOUT;
        loop {
            let lines = self.lines();
            if is_met(&lines) {
                return lines;
            }
            assert!(Instant::now() < until, "no {what}: {lines:?}");
            sleep(Duration::from_millis(10));
        }
    }
}

/// Returns the lines about signals in the text of a file `/proc/PID/status`. Signals from 32 on are
/// removed, because the C library uses the first of them itself, and ignores them in processes that
/// it starts.
pub(crate) fn signals(status: &str) -> Vec<String> {
    let set = |text: &str| u64::from_str_radix(text.trim(), 16).unwrap() & 0x7fff_ffff;
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, text)| format!("{name} {:08x}", set(text))).collect()
}

/// Sends a signal to a process.
pub(crate) fn signal(child: &Child, name: &str) {
    Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
}

/// Changes a secret to each of these values over one connection, as fast as possible.
fn set_all(home: &Home, key: &str, values: &[String]) {
    let variable = |name: &str| {
        let mut command = home.program("printenv", [name]);
        String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    let url = format!("{}/api/v1{SECRETS}/{key}", variable("SECRETS_URL"));
    let header = format!("header = \"Authorization: Bearer {}\"\n", variable("SECRETS_TOKEN"));
    let requests: Vec<_> = values
        .iter()
        .map(|value| {
            let body = json!({ "value": value }).to_string().replace('"', "\\\"");
            format!(
                "url = \"{url}\"\nrequest = PUT\n{header}header = \"Content-Type: application/json\"\n\
                 data = \"{body}\"\noutput = /dev/null\nfail\n"
            )
        })
        .collect();
    home.write("curl.conf", &requests.join("next\n"));
    let status = home.program("curl", ["-sS", "-K", "curl.conf"]).status().unwrap();
    assert!(status.success());
}
