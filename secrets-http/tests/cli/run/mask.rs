//! Tests of the option `--mask` of `secrets run`: values in the output of the command.

use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use serde_json::json;

use super::{Log, SECRETS, TIMEOUT, signal, signals, staging};
use crate::home::{Home, ended, wait};

/// Arguments of `secrets run` with masking and a long mask delay, for tests that must not depend on
/// the time between two writes.
const PATIENT: [&str; 4] = ["run", "--mask", "--mask-delay", "1h"];

/// Runs a Python script with [`PATIENT`] masking, and returns its masked output. The speed of the
/// script does not change the output.
fn masked(home: &Home, script: &str) -> String {
    home.ok(&[&PATIENT[..], &["--", "python3", "-c", script]].concat())
}

#[test]
fn a_value_written_byte_by_byte_is_masked() {
    let (_server, home) = staging(&[("A", "kvc_split_value")]);
    let script = "import os\nfor b in (b'<' + os.environb[b'A'] + b'> kvc_split_') * 3: os.write(1, bytes([b]))";

    assert_eq!(masked(&home, script), "<***> kvc_split_".repeat(3));
}

#[test]
fn a_value_at_each_boundary_of_a_buffer_is_masked() {
    let (_server, home) = staging(&[("A", "kvc_boundary")]);
    // Buffers of pipes and of programs end at multiples of 4,096 bytes.
    let script = "import os, sys\n\
        for place in [4096, 65536]:\n    \
        for shift in range(13):\n        \
        sys.stdout.write('x' * (place - shift) + os.environ['A'] + 'y' * 20 + '\\n')";

    let printed = masked(&home, script);

    let mut lines = printed.lines();
    for place in [4096, 65536] {
        for shift in 0..13 {
            let expected = format!("{}***{}", "x".repeat(place - shift), "y".repeat(20));
            assert!(lines.next() == Some(expected.as_str()), "{place} - {shift}");
        }
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn encoded_values_are_masked() {
    let value = "kvc_\"quoted\" & é/ü";
    let (_server, home) = staging(&[("A", value), ("SHORT", "kvc_5")]);
    let script = "import base64, json, os, urllib.parse as u\n\
        a = os.environ['A']\n\
        print([a])\nprint(json.dumps(a), json.dumps(a, ensure_ascii=False))\n\
        print(u.quote(a), u.quote(a, safe=''), u.quote_plus(a))\n\
        print(base64.b64encode(a.encode()).decode().rstrip('='))\n\
        print('basic', base64.b64encode(('user:' + a).encode()).decode())\nprint(os.environ['SHORT'])";

    let printed = masked(&home, script);

    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines[..2], ["['***']", "\"***\" \"***\""]);
    assert_eq!(lines[2], "*** *** ***");
    assert_eq!(lines[3], "***");
    assert!(lines[4].starts_with("basic dXNlcj") && lines[4].contains("***"), "{printed}");
    // Values of fewer than 6 bytes are not masked.
    assert_eq!(lines[5], "kvc_5");
}

#[test]
fn each_long_line_of_a_value_is_masked() {
    let (_server, home) = staging(&[("KEY", "kvc_first_line\nkvc_second_line\n}\n")]);
    let script = "import os\nkey = os.environ['KEY']\nprint(key, end='')\n\
        for line in key.splitlines(): print('-', line)";

    assert_eq!(masked(&home, script), "***- ***\n- ***\n- }\n");
}

#[test]
fn the_longest_of_several_values_is_masked() {
    let (_server, home) = staging(&[("A", "kvc_one"), ("B", "kvc_one_and_two")]);

    let printed = masked(&home, "print('kvc_one_and_two kvc_one_and kvc_on')");

    assert_eq!(printed, "*** ***_and kvc_on\n");
}

#[test]
fn both_streams_are_masked_and_kept_apart() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    let script =
        "echo \"out $A\"; echo \"err $A\" >&2; test -t 1 && exit 9; test -t 2 && exit 9; cat";

    let ended = home.run_with(&["run", "--mask", "--", "sh", "-c", script], "input\n");

    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "out ***\ninput\n"));
    assert_eq!(ended.stderr, "err ***\n");
}

#[test]
fn streams_to_the_same_file_keep_their_order() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    let script = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i $A; echo err $i $A >&2; done";
    let mut command = home.program("sh", ["-c", "exec \"$0\" run --mask -- sh -c \"$1\" 2>&1"]);
    command.arg(env!("CARGO_BIN_EXE_secrets")).arg(script);

    let lines: Vec<_> = (1..=9).map(|i| format!("out {i} ***\nerr {i} ***\n")).collect();

    assert_eq!(ended(command, "").stdout, lines.concat());
}

#[test]
fn masking_is_off_by_default() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);

    assert_eq!(home.ok(&["run", "--init", "--", "printenv", "A"]), "kvc_value_a\n");
    assert_eq!(home.ok(&["run", "--mask", "--", "printenv", "A"]), "***\n");
}

#[test]
fn the_exit_code_and_all_output_of_a_masked_command_arrive() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);

    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137)] {
        // The beginning of a value, which is held back, is written at the end.
        let script = format!("seq 20000; printf kvc_val; {script}");
        let ended = home.run(&[&PATIENT[..], &["--", "sh", "-c", &script]].concat());

        assert_eq!(ended.code, Some(code));
        assert!(ended.stdout.ends_with("19999\n20000\nkvc_val"), "{script}");
        assert_eq!(ended.stdout.len(), 108_894 + 7);
    }
    home.run(&["run", "--mask", "--", "no-such-program"]).fails(127, "no-such-program: ");
}

#[test]
fn a_masked_command_inherits_the_same_signals_and_descriptors() {
    let (_server, home) = staging(&[]);
    let read = |words: &[&str], command: &[&str]| {
        let start = ["env", "--block-signal=USR1", "--ignore-signal=HUP"];
        let all = [&start, words, command].concat();
        ended(home.program(all[0], &all[1..]), "").stdout
    };
    let masked = [env!("CARGO_BIN_EXE_secrets"), "run", "--mask", "--"];
    let status = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"];
    let signals = |words: &[&str]| signals(&read(words, &status));

    assert_eq!(signals(&masked).len(), 3);
    assert_eq!(signals(&masked), signals(&[]));
    let descriptors = ["ls", "/proc/self/fd"];
    assert_eq!(read(&masked, &descriptors), read(&[], &descriptors));
}

#[test]
fn signals_reach_a_masked_command_once() {
    let (_server, home) = staging(&[]);
    let log = Log::new(&home);
    let script = "for s in INT HUP QUIT USR1 USR2 WINCH; do trap \"echo $s >> log\" $s; done; \
                  trap 'exit 5' TERM; echo ready >> log; while :; do sleep 0.01; done";
    let mut child = home
        .command(["run", "--mask", "--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    log.wait_until("the start", |lines| lines.len() == 1);

    let signals = ["INT", "HUP", "QUIT", "USR1", "USR2", "WINCH"];
    for (number, name) in signals.into_iter().enumerate() {
        signal(&child, name);
        log.wait_until(name, |lines| lines.len() == number + 2);
    }
    signal(&child, "TERM");

    assert_eq!(wait(&mut child), Some(5));
    assert_eq!(log.lines()[1..], signals);
}

#[test]
fn a_masked_command_in_a_pipe_ends_with_its_reader() {
    let (_server, home) = staging(&[]);
    let mut command = home.program("sh", ["-c", "\"$0\" run --mask -- yes | head -1"]);
    command.arg(env!("CARGO_BIN_EXE_secrets"));

    assert_eq!(ended(command, "").stdout, "y\n");
}

/// Starts a thread that reads pieces of text from `source`, and returns the channel on which it
/// sends them.
fn receive(mut source: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut space = [0; 4096];
        while let Ok(length @ 1..) = source.read(&mut space) {
            let _ = sender.send(String::from_utf8_lossy(&space[..length]).into_owned());
        }
    });
    receiver
}

#[test]
fn the_output_of_a_job_that_outlives_the_command_is_masked_until_its_end() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    let log = Log::new(&home);
    // The job writes to the pipe of the command, which is no longer read after its end.
    let script = "(trap '' PIPE; until [ -e go ]; do sleep 0.01; done; echo \"late $A\"; echo $? >> log) & \
                  echo \"now $A\"";

    let printed = home.ok(&[&PATIENT[..], &["--", "sh", "-c", script]].concat());
    home.write("go", "");

    assert_eq!(printed, "now ***\n");
    // The write of the job fails; its output is not shown unmasked.
    let lines = log.wait_until("the end of the job", |lines| lines.len() == 1);
    assert_ne!(lines, ["0"]);
}

#[test]
fn a_job_and_the_command_write_to_the_same_masked_stream() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    let script = "import os, subprocess\n\
        job = subprocess.Popen(['sh', '-c', 'for i in 1 2 3; do printf \"job $A\\\\n\"; done'])\n\
        job.wait()\n\
        for part in ['shell kvc_', 'value', '_a', ' end\\n']: os.write(1, part.encode())";

    assert_eq!(masked(&home, script), "job ***\njob ***\njob ***\nshell *** end\n");
}

#[test]
fn a_prompt_that_begins_like_a_value_appears_after_the_delay() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    // The command waits for the test, so that the time of the test does not matter.
    let script = "printf 'kvc_val'; until [ -e go ]; do sleep 0.01; done; printf ue_a";
    let mut child = home
        .command(["run", "--mask", "--", "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = receive(child.stdout.take().unwrap());

    assert_eq!(output.recv_timeout(TIMEOUT).unwrap(), "kvc_val");
    home.write("go", "");

    // The rest completes the value.
    assert_eq!(output.recv_timeout(TIMEOUT).unwrap(), "***");
    assert_eq!(wait(&mut child), Some(0));
}

#[test]
fn a_prompt_unlike_a_value_appears_without_delay() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);
    let script = "printf 'Name? '; until [ -e go ]; do sleep 0.01; done";
    let words = [&PATIENT[..], &["--", "sh", "-c", script]].concat();
    let mut child =
        home.command(words).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let output = receive(child.stdout.take().unwrap());

    assert_eq!(output.recv_timeout(TIMEOUT).unwrap(), "Name? ");

    home.write("go", "");
    assert_eq!(wait(&mut child), Some(0));
}

#[test]
fn new_and_old_values_are_masked_after_a_restart() {
    let (_server, home) = staging(&[("A", "kvc_old_value")]);
    let script = "echo \"$A kvc_old_value\"; echo start >> log; exec sleep 1000";
    let words = [&PATIENT[..], &["--watch", "--", "sh", "-c", script]].concat();
    let stdout = std::fs::File::create(home.path("stdout")).unwrap();
    let mut child = home.command(words).stdin(Stdio::null()).stdout(stdout).spawn().unwrap();
    let log = Log::new(&home);
    log.wait_until("the start", |lines| lines.len() == 1);

    home.api("PUT", &format!("{SECRETS}/A"), &json!({ "value": "kvc_new_value" }));
    log.wait_until("a restart", |lines| lines.len() == 2);
    signal(&child, "TERM");

    assert_eq!(wait(&mut child), Some(143));
    assert_eq!(Log::at(&home, "stdout").lines(), ["*** ***", "*** ***"]);
}

#[test]
fn values_of_a_mounted_file_are_masked() {
    let (_server, home) = staging(&[("A", "kvc_value_a")]);

    let words = ["--mount", "app.env", "--init", "--", "cat", "app.env"];
    let printed = home.ok(&[&PATIENT[..], &words].concat());

    assert_eq!(printed.trim_end(), "A='***'");
}
