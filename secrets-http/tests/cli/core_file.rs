//! Test that no memory of the program is written to a core file.

use std::cell::RefCell;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use crate::home::{Home, until};

/// Number of the signal SIGQUIT, whose default action is to write a core file.
const SIGQUIT: i32 = 3;

/// Starts a program without a limit for core files, ends it with SIGQUIT once `is_ready` returns
/// true for its process ID, and returns whether a core file was written.
fn writes_core_file(
    home: &Home,
    program: &str,
    arguments: &[&str],
    is_ready: impl Fn(u32) -> bool,
) -> bool {
    let script = "ulimit -c unlimited && exec \"$0\" \"$@\"";
    let shell = ["-c", script, program].into_iter().chain(arguments.iter().copied());
    let mut command = home.program("/bin/sh", shell);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    until(|| is_ready(child.id()));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-QUIT", &id]).status().unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(SIGQUIT), "{status}");
    status.core_dumped()
}

#[test]
fn a_signal_leaves_no_core_file() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let home = Home::new().with("SECRETS_URL", &url).with("SECRETS_TOKEN", "env_token");
    silent.set_nonblocking(true).unwrap();

    // Shows that this system writes core files.
    let is_sleeping =
        |id| fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name == "sleep\n");
    assert!(writes_core_file(&home, "sleep", &["60"], is_sleeping));
    let get = ["get", "KEY", "-p", "web", "-e", "staging"];
    let program = env!("CARGO_BIN_EXE_secrets");
    // The connection stays open.
    let accepted = RefCell::new(Vec::new());
    let is_waiting =
        |_| silent.accept().map(|connection| accepted.borrow_mut().push(connection)).is_ok();
    assert!(!writes_core_file(&home, program, &get, is_waiting));
}
