//! Runs of the program on a terminal, with the program `script` of util-linux.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::home::{Home, wait};

/// Maximum time that a test waits for the terminal to show the expected text.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Running program that has a terminal of its own.
pub(crate) struct Script {
    child: Child,
    input: ChildStdin,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Script {
    /// Starts the program with these arguments, which are separated by spaces and need no quoting.
    pub(crate) fn start(home: &Home, arguments: &str) -> Self {
        Self::shell(home, &format!("{} {arguments}", env!("CARGO_BIN_EXE_secrets")))
    }

    /// Runs a command line in a shell. The program under test is in `PATH`.
    pub(crate) fn shell(home: &Home, command: &str) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_secrets")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let all = std::iter::once(program.to_owned()).chain(std::env::split_paths(&path));
        let mut child = home
            .program("script", ["-q", "-e", "-c", command, "/dev/null"])
            .env("PATH", std::env::join_paths(all).unwrap())
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, output) = mpsc::channel();
        let mut stdout = child.stdout.take().unwrap();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut bytes) {
                let _ = sender.send(bytes[..length].to_vec());
            }
        });
        let input = child.stdin.take().unwrap();
        Self { child, input, output, seen: String::new() }
    }

    /// Waits until the terminal has shown this text.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) -> &mut Self {
        let until = Instant::now() + TIMEOUT;
        while !self.seen.contains(text) {
            let left = until.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("no {text:?} ({error}): {:?}", self.seen),
            }
        }
        self
    }

    /// Waits until the terminal no longer shows typed characters. Characters that are typed earlier
    /// are discarded by the terminal.
    #[track_caller]
    pub(crate) fn await_hidden_input(&mut self) -> &mut Self {
        let id = self.child.id();
        let children = format!("/proc/{id}/task/{id}/children");
        let is_hidden = || {
            let children = fs::read_to_string(&children).ok()?;
            let terminal = format!("/proc/{}/fd/0", children.split_whitespace().next()?);
            let modes = Command::new("stty").args(["-a", "-F", &terminal]).output().ok()?;
            Some(String::from_utf8_lossy(&modes.stdout).contains(" -echo "))
        };
        let until = Instant::now() + TIMEOUT;
        while is_hidden() != Some(true) {
            assert!(Instant::now() < until, "the input is shown: {:?}", self.seen);
            thread::sleep(Duration::from_millis(10));
        }
        self
    }

    /// Returns everything that the terminal has shown so far.
    pub(crate) fn text(&self) -> String {
        self.seen.clone()
    }

    /// Types this text on the terminal.
    pub(crate) fn send(&mut self, text: &str) -> &mut Self {
        self.input.write_all(text.as_bytes()).unwrap();
        self.input.flush().unwrap();
        self
    }

    /// Waits until the program has ended. Returns its exit code and everything that the terminal
    /// has shown.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = wait(&mut self.child);
        while let Ok(bytes) = self.output.recv_timeout(TIMEOUT) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (code, self.seen)
    }
}
