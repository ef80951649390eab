//! Tests of supervision by `secrets run` without a terminal: exit codes, signals and process
//! groups.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Log, signal, signals, staging};
use crate::home::{Home, ended};

/// Starts a shell script under supervision, without standard input.
fn start(home: &Home, options: &[&str], script: &str) -> Child {
    let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
    home.command(words).stdin(Stdio::null()).spawn().unwrap()
}

#[test]
fn the_exit_code_of_a_supervised_command_is_that_of_the_command() {
    let (_server, home) = staging(&[("A", "kvc_a")]);

    for status in [0, 1, 7, 255] {
        let script = format!("exit {status}");
        assert_eq!(home.run(&["run", "--init", "--", "sh", "-c", &script]).code, Some(status));
    }
    for (signal, code) in [("KILL", 137), ("TERM", 143), ("34", 162)] {
        let script = format!("kill -{signal} $$");
        assert_eq!(home.run(&["run", "--init", "--", "sh", "-c", &script]).code, Some(code));
    }
    home.run(&["run", "--init", "--", "no-such-program"]).fails(127, "no-such-program: ");
    home.run(&["run", "--init", "--", "/"]).fails(126, "/: ");
    assert_eq!(home.ok(&["run", "--init", "--", "printenv", "A"]), "kvc_a\n");
}

#[test]
fn a_supervised_command_gets_its_words_unchanged_and_no_credential() {
    let (server, home) = staging(&[]);
    let words = ["two words", "", "it's \"quoted\"", "$HOME `id` *", "line\nline", "--", "-p"];

    let printed = home.ok(&[&["run", "--init", "printf", "%s\\0"], &words[..]].concat());
    let variables = home.ok(&["run", "--init", "--", "cat", "/proc/self/environ"]);

    assert_eq!(printed.split_terminator('\0').collect::<Vec<_>>(), words);
    assert!(!variables.contains("SECRETS_TOKEN") && !variables.contains(&server.token));
}

#[test]
fn a_signal_reaches_the_whole_group_at_once() {
    let (_server, home) = staging(&[]);
    let log = Log::new(&home);
    let begin = "echo ready >> log; while :; do sleep 0.01; done";
    let child = format!("trap 'echo child >> log; exit 0' TERM; {begin}");
    // The leader ends only after the child: if the child had to wait for the leader's end, both would
    // run forever.
    let trap = "until grep -q child log; do sleep 0.01; done; echo leader >> log; exit 0";
    let script = format!("sh -c \"$0\" & trap '{trap}' TERM; {begin}");
    let words = ["run", "--init", "--", "sh", "-c", &script, &child];
    let mut program = home.command(words).stdin(Stdio::null()).spawn().unwrap();
    log.wait_until("both", |lines| lines.len() == 2);

    signal(&program, "TERM");
    let code = crate::home::wait(&mut program);

    assert_eq!(log.lines()[2..], ["child", "leader"]);
    assert_eq!(code, Some(0));
}

#[test]
fn each_forwarded_signal_arrives_once() {
    let (_server, home) = staging(&[]);
    let log = Log::new(&home);
    let script = "for s in INT HUP QUIT USR1 USR2 WINCH; do trap \"echo $s >> log\" $s; done; \
                  trap 'exit 5' TERM; echo ready >> log; while :; do sleep 0.01; done";
    let mut child = start(&home, &["--init"], script);
    log.wait_until("the start", |lines| lines.len() == 1);

    let signals = ["INT", "HUP", "QUIT", "USR1", "USR2", "WINCH"];
    for (number, name) in signals.into_iter().enumerate() {
        signal(&child, name);
        log.wait_until(name, |lines| lines.len() == number + 2);
    }
    signal(&child, "TERM");

    assert_eq!(crate::home::wait(&mut child), Some(5));
    assert_eq!(log.lines()[1..], signals);
}

#[test]
fn ignored_signals_and_the_signal_mask_are_those_of_the_parent() {
    let (_server, home) = staging(&[]);
    let read = |words: &[&str]| -> Vec<String> {
        let start = ["env", "--block-signal=USR1", "--ignore-signal=HUP"];
        let status = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"];
        let all = [&start, words, &status].concat();
        signals(&ended(home.program(all[0], &all[1..]), "").stdout)
    };

    let supervised = read(&[env!("CARGO_BIN_EXE_secrets"), "run", "--init", "--"]);

    assert_eq!(supervised.len(), 3);
    assert_eq!(supervised, read(&[]));
}

#[test]
fn nohup_protects_a_supervised_command() {
    let (_server, home) = staging(&[]);
    let log = Log::new(&home);
    let script = "echo ready >> log; while [ ! -e go ]; do sleep 0.01; done; echo done >> log";
    let mut command = home.program("nohup", [env!("CARGO_BIN_EXE_secrets"), "run", "--init"]);
    let mut child = command
        .args(["--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    log.wait_until("the start", |lines| lines.len() == 1);

    signal(&child, "HUP");
    home.write("go", "");

    assert_eq!(crate::home::wait(&mut child), Some(0));
    assert_eq!(log.lines(), ["ready", "done"]);
}

#[test]
fn a_command_runs_without_a_terminal_and_without_input() {
    let (_server, home) = staging(&[("A", "kvc_a")]);

    let mut session =
        home.program("setsid", ["-w", env!("CARGO_BIN_EXE_secrets"), "run", "--init", "--"]);
    session.args(["sh", "-c", "echo $A; exit 3"]);
    let mut closed = home.program("sh", ["-c", "exec \"$0\" run --init -- printenv A <&-"]);
    closed.arg(env!("CARGO_BIN_EXE_secrets"));

    let ended_session = ended(session, "");
    assert_eq!((ended_session.code, ended_session.stdout.as_str()), (Some(3), "kvc_a\n"));
    assert_eq!(ended(closed, "").stdout, "kvc_a\n");
}

#[test]
fn the_command_ends_if_its_supervisor_is_killed() {
    let (_server, home) = staging(&[]);
    let log = Log::new(&home);
    let script = "trap 'echo ended >> log; exit' TERM; echo ready >> log; \
                  while :; do sleep 0.01; done";
    let mut child = start(&home, &["--init"], script);
    log.wait_until("the start", |lines| lines.len() == 1);

    child.kill().unwrap();

    assert_eq!(child.wait().unwrap().signal(), Some(9));
    log.wait_until("the end", |lines| lines.len() == 2);
}

#[test]
fn process_1_collects_orphans() {
    let (_server, home) = staging(&[]);
    // The middle process ends at once, so that the last one becomes an orphan.
    // A process that has ended is listed until its exit status is collected.
    let script = "sh -c 'sleep 0.1 & echo $! > orphan'; read id < orphan; \
        for i in $(seq 200); do ps -p $id > /dev/null || exit 4; sleep 0.1; done";
    let mut command = as_process_1(&home);
    command.arg(env!("CARGO_BIN_EXE_secrets")).args(["run", "--init", "--", "sh", "-c", script]);

    let ended = ended(command, "");

    assert_eq!(ended.code, Some(4), "{ended:?}");
}

/// Returns a command that runs the program in its arguments as process 1 of a PID namespace. Users
/// other than root need a user namespace for that.
fn as_process_1(home: &Home) -> Command {
    const NAMESPACE: [&str; 3] = ["--pid", "--fork", "--mount-proc"];
    const OF_USER: [&str; 5] = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let is_permitted = |options: &&[&str]| {
        let output = home.program("unshare", *options).arg("true").output();
        output.is_ok_and(|output| output.status.success())
    };
    let Some(options) = [&NAMESPACE[..], &OF_USER].into_iter().find(is_permitted) else {
        panic!("this test needs a PID namespace, and `unshare` may not create one");
    };
    home.program("unshare", options)
}

#[test]
fn a_supervised_command_in_a_pipe_ends_with_its_reader() {
    let (_server, home) = staging(&[]);
    let script = "\"$0\" run --init -- yes | head -1";
    let mut command = home.program("sh", ["-c", script]);
    command.arg(env!("CARGO_BIN_EXE_secrets"));
    let started = Instant::now();

    assert_eq!(ended(command, "").stdout, "y\n");
    assert!(started.elapsed() < Duration::from_secs(20));
}
