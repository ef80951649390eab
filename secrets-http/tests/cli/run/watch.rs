//! Tests of the option `--watch` of `secrets run`.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Log, SECRETS, signal, staging};
use crate::home::{Home, wait};
use crate::service::Scripted;

/// Shell command that appends the value of the secret `A` to the log, and then runs until it is
/// stopped.
const LOGGING: &str = "echo \"$A\" >> log; exec sleep 1000";

/// Running command `secrets run --watch`. It is killed when this value is dropped.
struct Watched(Child);

impl Drop for Watched {
    fn drop(&mut self) {
        signal(&self.0, "TERM");
        let _ = self.0.wait();
    }
}

fn start(home: &Home, options: &[&str], script: &str) -> Watched {
    let words = [&["run", "--watch"], options, &["--", "sh", "-c", script]].concat();
    let stderr = std::fs::File::create(home.path("stderr")).unwrap();
    Watched(home.command(words).stdin(Stdio::null()).stderr(stderr).spawn().unwrap())
}

fn set(home: &Home, key: &str, value: &str) {
    home.api("PUT", &format!("{SECRETS}/{key}"), &json!({ "value": value }));
}

#[test]
fn a_change_restarts_the_command_with_the_new_values() {
    let (_server, home) = staging(&[("A", "kvc_1"), ("OTHER", "kvc_x")]);
    let log = Log::new(&home);
    let _watched = start(&home, &["--except", "OTHER"], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);

    set(&home, "OTHER", "kvc_y");
    set(&home, "A", "kvc_2");
    log.wait_until("a restart", |lines| lines == ["kvc_1", "kvc_2"]);
    set(&home, "A", "kvc_3");
    log.wait_until("a second restart", |lines| lines == ["kvc_1", "kvc_2", "kvc_3"]);
}

#[test]
fn a_change_of_other_secrets_does_not_restart_the_command() {
    let (_server, home) = staging(&[("A", "kvc_1"), ("OTHER", "kvc_x")]);
    let log = Log::new(&home);
    let _watched = start(&home, &["--only", "A"], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);

    // The program detects the changes in order, so the first change has had no effect when the
    // second change restarts the command.
    set(&home, "OTHER", "kvc_y");
    std::thread::sleep(Duration::from_millis(1_500));
    set(&home, "A", "kvc_2");

    log.wait_until("one restart", |lines| lines == ["kvc_1", "kvc_2"]);
}

#[test]
fn changes_within_a_second_are_one_restart() {
    let (_server, home) = staging(&[("A", "kvc_0")]);
    let log = Log::new(&home);
    let _watched = start(&home, &[], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_0"]);
    let values: Vec<_> = (1..=100).map(|number| format!("kvc_{number}")).collect();

    let started = Instant::now();
    // One curl process sends all changes over one connection.
    super::set_all(&home, "A", &values);
    let seconds = started.elapsed().as_secs();

    let is_last = |lines: &[String]| lines.last().is_some_and(|line| line == "kvc_100");
    let lines = log.wait_until("a restart with the last value", is_last);
    // A restart follows a second without changes, so there may be several restarts on a slow
    // machine.
    let restarts = lines.len() as u64 - 1;
    assert!(restarts <= 1 + seconds, "{restarts} restarts in {seconds} seconds");
}

#[test]
fn a_stubborn_group_is_killed_before_the_restart() {
    let (_server, home) = staging(&[("A", "kvc_1")]);
    let log = Log::new(&home);
    let stubborn = "trap '' TERM; echo $$ >> ids; while :; do sleep 0.05; done";
    let script = format!("echo \"$A\" >> log; sh -c \"{stubborn}\" & sh -c \"{stubborn}\"");
    let script = script.replace("$$", "\\$\\$");
    let watched = start(&home, &["--grace", "1s"], &script);
    let ids = Log::at(&home, "ids");
    let first = ids.wait_until("both processes", |lines| lines.len() == 2);

    set(&home, "A", "kvc_2");
    log.wait_until("a restart", |lines| lines == ["kvc_1", "kvc_2"]);

    for id in first {
        let path = format!("/proc/{id}");
        assert!(!std::path::Path::new(&path).exists(), "{id} is alive");
    }
    let second = ids.wait_until("both new processes", |lines| lines.len() == 4);
    drop_stubborn(watched, &second[2..]);
}

/// Stops `secrets run` although its processes `ids` ignore the signal of the supervisor: kills
/// these processes first.
fn drop_stubborn(watched: Watched, ids: &[String]) {
    for id in ids {
        std::process::Command::new("kill").args(["-KILL", id]).status().unwrap();
    }
    drop(watched);
}

#[test]
fn the_signal_before_a_restart_is_an_option() {
    let (_server, home) = staging(&[("A", "kvc_1")]);
    let log = Log::new(&home);
    let script =
        "trap 'echo INT >> log; exit' INT; echo \"$A\" >> log; while :; do sleep 0.02; done";
    let _watched = start(&home, &["--signal", "int"], script);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);

    set(&home, "A", "kvc_2");

    log.wait_until("a restart", |lines| lines == ["kvc_1", "INT", "kvc_2"]);
    home.run(&["run", "--watch", "--signal", "NONE", "--", "true"])
        .fails(125, "must be the name of a signal");
    home.run(&["run", "--signal", "INT", "--", "true"]).fails(125, "--watch");
}

#[test]
fn a_restart_waits_for_a_random_time_up_to_the_splay() {
    let (_server, home) = staging(&[("A", "kvc_1")]);
    let (log, delayed) = (Log::new(&home), Log::at(&home, "delayed"));
    let script = LOGGING.replace("log", "delayed");
    // The random time is shorter than the test in one of a million runs at most.
    let _delayed = start(&home, &["--splay", "10000d"], &script);
    let _watched = start(&home, &["--splay", "100ms"], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);
    delayed.wait_until("the other start", |lines| lines == ["kvc_1"]);

    set(&home, "A", "kvc_2");
    log.wait_until("a restart", |lines| lines == ["kvc_1", "kvc_2"]);
    // Both programs have seen the first change when the second change restarts the command.
    set(&home, "A", "kvc_3");
    log.wait_until("a second restart", |lines| lines == ["kvc_1", "kvc_2", "kvc_3"]);

    assert_eq!(delayed.lines(), ["kvc_1"]);
}

#[test]
fn the_command_continues_if_the_changed_secrets_cannot_be_fetched() {
    let service = Scripted::start(|request, number| match (request, number) {
        ("GET /api/v1/projects/web/environments/staging/watch", _) => {
            (200, "id:r1\ndata:{}\n\n".to_owned())
        }
        (_, 0) => (200, json!({ "secrets": [{ "key": "A", "value": "kvc_1" }] }).to_string()),
        _ => (500, json!({ "error": "internal error", "code": "internal" }).to_string()),
    });
    let home = service.home();
    let log = Log::new(&home);
    let mut watched = start(&home, &[], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);

    let stderr = Log::at(&home, "stderr");
    let warning = "warning: changes cannot be seen, trying again: internal error";
    stderr.wait_until("a warning", |lines| lines.iter().any(|line| line.contains(warning)));

    assert!(watched.0.try_wait().unwrap().is_none());
    assert_eq!(log.lines(), ["kvc_1"]);
    let child = format!("/proc/{0}/task/{0}/children", watched.0.id());
    assert_ne!(std::fs::read_to_string(child).unwrap(), "", "the command is running");
}

#[test]
fn no_change_is_lost_while_the_service_is_down() {
    let (mut server, home) = staging(&[("A", "kvc_1")]);
    let log = Log::new(&home);
    let _watched = start(&home, &[], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);
    set(&home, "A", "kvc_2");
    log.wait_until("a restart", |lines| lines == ["kvc_1", "kvc_2"]);

    server.kill();
    server.restart();
    let home_again =
        server.home().with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging");
    set(&home_again, "A", "kvc_3");

    log.wait_until("a restart after the outage", |lines| lines == ["kvc_1", "kvc_2", "kvc_3"]);
}

#[test]
fn a_command_that_ends_by_itself_is_not_restarted() {
    let (_server, home) = staging(&[("A", "kvc_1")]);

    let ended = home.run(&["run", "--watch", "--", "sh", "-c", "exit 9"]);

    assert_eq!(ended.code, Some(9));
}

#[test]
fn a_signal_to_the_supervisor_ends_the_watch() {
    let (_server, home) = staging(&[("A", "kvc_1")]);
    let log = Log::new(&home);
    let mut watched = start(&home, &[], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);

    signal(&watched.0, "TERM");

    assert_eq!(wait(&mut watched.0), Some(143));
}

#[test]
fn a_withdrawn_permission_ends_the_command_if_asked() {
    let (_server, home) = staging(&[("A", "kvc_1")]);
    let log = Log::new(&home);
    let mut watched = start(&home, &["--on-revoked", "stop"], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);

    home.api("DELETE", "/projects/web", &json!({}));

    assert_eq!(wait(&mut watched.0), Some(125));
    let stderr = std::fs::read_to_string(home.path("stderr")).unwrap();
    assert!(stderr.contains("access was withdrawn"), "{stderr}");
    assert!(!stderr.contains("kvc_"), "{stderr}");
}

#[test]
fn a_withdrawn_permission_is_a_warning_by_default() {
    let (_server, home) = staging(&[("A", "kvc_1")]);
    let log = Log::new(&home);
    let mut watched = start(&home, &[], LOGGING);
    log.wait_until("the start", |lines| lines == ["kvc_1"]);

    home.api("DELETE", "/projects/web", &json!({}));

    let stderr = Log::at(&home, "stderr");
    stderr.wait_until("a warning", |lines| lines.iter().any(|line| line.contains("withdrawn")));
    assert!(watched.0.try_wait().unwrap().is_none());
}
