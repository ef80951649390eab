//! Servers that a single test starts, stops and kills, such as Redis. They run as the same
//! operating system user as the database servers that all tests share.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::ordinary_user::OrdinaryUser;
use crate::program::log_file;

/// Running server process. Dropping this value kills the process.
pub(crate) struct Server {
    child: Child,
}

/// Signal that a test sends to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Stop,
    Continue,
    Terminate,
}

impl Signal {
    fn flag(self) -> &'static str {
        match self {
            Self::Stop => "-STOP",
            Self::Continue => "-CONT",
            Self::Terminate => "-TERM",
        }
    }
}

/// Returns a loopback address and a port on which a test can start a server repeatedly. No other
/// process uses the address, because it is derived from the ID of this process.
pub(crate) fn address() -> (Ipv4Addr, u16) {
    static PORT: AtomicU16 = AtomicU16::new(7000);
    let address = 0x7f40_0000 | (std::process::id() & 0x3f_ffff);
    (Ipv4Addr::from_bits(address), PORT.fetch_add(1, Ordering::Relaxed))
}

impl Server {
    /// Starts a server program as this user, with these arguments and this standard input. Its
    /// output is written to the log file `log`. The program is killed when the test process ends.
    pub(crate) fn start(
        user: &OrdinaryUser,
        log: &str,
        program: &str,
        arguments: &[&str],
        input: &str,
    ) -> Self {
        let output = log_file(log);
        let mut command = user.command("setpriv");
        command.args(["--pdeathsig", "KILL", program]).args(arguments);
        command.stdin(Stdio::piped()).stderr(output.try_clone().unwrap()).stdout(output);
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Self { child }
    }

    /// Sends a signal to the server.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal.flag(), &id]).status().unwrap().success());
    }

    /// Sends a signal to the server and to the processes that it has started.
    pub(crate) fn signal_all(&self, signal: Signal) {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        self.signal(signal);
        for child in children.split_whitespace() {
            // Errors are ignored, because a process may have ended in the meantime.
            let _ =
                Command::new("kill").args([signal.flag(), child]).stderr(Stdio::null()).status();
        }
    }

    /// Waits until the server has ended.
    pub(crate) fn wait(mut self) {
        self.child.wait().unwrap();
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
