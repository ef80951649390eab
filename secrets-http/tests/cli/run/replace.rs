//! Tests of `secrets run` without supervision: the command replaces the process.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{signals, staging};
use crate::home::ended;

#[test]
fn the_process_id_is_unchanged() {
    let (_server, home) = staging(&[]);
    let mut command = home.command(["run", "--", "sh", "-c", "echo $$ $PPID"]);

    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();

    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.trim(), format!("{id} {}", std::process::id()));
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    let (_server, home) = staging(&[]);

    for status in [0, 1, 7, 125, 255] {
        let script = format!("exit {status}");
        assert_eq!(home.run(&["run", "--", "sh", "-c", &script]).code, Some(status));
    }
    let mut killed = home.command(["run", "--", "sh", "-c", "kill -9 $$"]);
    let status = killed.status().unwrap();
    assert_eq!(status.signal(), Some(9));
    let shell = "\"$0\" run -- sh -c 'kill -9 $$'; echo $?";
    let mut command = home.program("sh", ["-c", shell]);
    command.arg(env!("CARGO_BIN_EXE_secrets"));
    assert_eq!(ended(command, "").stdout, "137\n");
}

#[test]
fn failures_before_the_start_have_their_own_statuses() {
    let (mut server, home) = staging(&[]);
    home.write("data", "no program");

    home.run(&["run", "--", "no-such-program"]).fails(127, "no-such-program: ");
    home.run(&["run", "--", "./data"]).fails(126, "./data: ");
    home.run(&["run", "--", "/"]).fails(126, "/: ");
    home.run(&["run", "--no-such-option", "--", "true"]).fails(125, "--no-such-option");
    home.run(&["run"]).fails(125, "COMMAND");
    home.run(&["run", "-e", "none", "--", "true"]).fails(125, "not found");
    home.run(&["--ca-file", "none", "run", "--", "true"]).fails(125, "none");
    server.kill();
    home.run(&["run", "--", "true"]).fails(125, "refused");
}

#[test]
fn words_arrive_unchanged() {
    let (_server, home) = staging(&[]);
    let words: [&[u8]; 9] = [
        b"two words",
        b"",
        b"it's \"quoted\"",
        b"$HOME `id` *",
        b"line\nline",
        b"\xff\xfe",
        b"--",
        b"-p",
        b"--shell",
    ];
    let words = words.map(|word| OsString::from_vec(word.to_vec()));
    let print = ["printf", "%s\\0"].map(OsString::from);
    let expected: Vec<u8> =
        words.iter().flat_map(|word| [word.as_encoded_bytes(), b"\0"].concat()).collect();

    for start in [&["run", "--"][..], &["run"]] {
        let start = start.iter().map(OsString::from);
        let all: Vec<_> = start.chain(print.clone()).chain(words.clone()).collect();
        let output = home.command(all).output().unwrap();
        assert_eq!(output.stdout, expected, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_script_runs_in_the_shell_of_the_system() {
    let (_server, home) = staging(&[("A", "kvc_a")]);
    let home = home.with("SHELL", "/usr/bin/fish");

    assert_eq!(home.ok(&["run", "--shell", "test \"$A\" = kvc_a && echo $0"]), "/bin/sh\n");
    home.run(&["run", "--shell", "true", "--", "true"]).fails(125, "--shell");
}

#[test]
fn signal_mask_and_ignored_signals_are_those_of_the_parent() {
    let (_server, home) = staging(&[]);
    let status = |prefix: &[&str], words: &[&str]| -> Vec<String> {
        let read = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"];
        let all = [prefix, words, &read].concat();
        signals(&ended(home.program(all[0], &all[1..]), "").stdout)
    };
    let secrets = [env!("CARGO_BIN_EXE_secrets"), "run", "--"];
    // `env` sets what its command inherits: SIGUSR1 is blocked, SIGHUP ignored.
    let prefix = ["env", "--block-signal=USR1", "--ignore-signal=HUP"];

    let (direct, through) = (status(&prefix, &[]), status(&prefix, &secrets));

    assert_eq!(direct.len(), 3);
    assert_eq!(direct, through);
    assert!(through[0].ends_with("200"), "{through:?}");
    assert!(through[1].ends_with("0001"), "{through:?}");
}

#[test]
fn a_command_in_a_pipe_ends_with_its_reader() {
    let (_server, home) = staging(&[]);
    let mut command = home.command(["run", "--", "yes"]);

    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();

    let until = Instant::now() + Duration::from_secs(10);
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = child.try_wait().unwrap();
    let _ = child.kill();
    assert_eq!(first, "y\n");
    assert_eq!(status.and_then(|status| status.signal()), Some(13));
}

#[test]
fn no_descriptor_is_left_open() {
    let (_server, home) = staging(&[]);

    // Both runs of `ls` inherit the file descriptors that the test itself has inherited.
    let direct = ended(home.program("ls", ["/proc/self/fd"]), "").stdout;
    let through = home.ok(&["run", "--", "ls", "/proc/self/fd"]);

    assert_eq!(through, direct);
}

#[test]
fn an_interrupt_before_the_start_ends_the_program() {
    let home = crate::home::Home::new()
        .with("SECRETS_PROJECT", "web")
        .with("SECRETS_ENVIRONMENT", "staging")
        .with("SECRETS_TOKEN", "kvc_token");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let home = home.with("SECRETS_URL", &format!("http://{}", listener.local_addr().unwrap()));
    let mut command = home.command(["run", "--", "touch", "started"]);

    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let _connection = listener.accept().unwrap();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();

    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert!(!home.path("started").exists());
}
