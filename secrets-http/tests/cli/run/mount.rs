//! Tests of the option `--mount` of `secrets run`.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::{Log, SECRETS, signal, staging};

#[test]
fn the_secrets_are_a_private_file_that_is_deleted_afterwards() {
    let (_server, home) = staging(&[("A", "kvc_a"), ("B", "kvc_b")]);
    let script = "stat -c %a env.json; cat env.json; echo \"<$A>\"";

    let options = ["run", "--mount", "env.json:json", "--except", "B", "--", "sh", "-c", script];
    let printed = home.ok(&options);

    let (mode, rest) = printed.split_once('\n').unwrap();
    assert_eq!(mode, "600");
    assert!(rest.contains("\"A\"") && rest.contains("kvc_a") && !rest.contains("kvc_b"), "{rest}");
    assert!(rest.ends_with("<>\n"), "{rest}");
    assert!(!home.path("env.json").exists());
}

#[test]
fn a_file_in_the_runtime_folder_is_named_with_an_at_sign() {
    let (_server, home) = staging(&[("A", "kvc_a")]);
    let folder = home.path("");
    let home = home.with("XDG_RUNTIME_DIR", folder.to_str().unwrap());

    let printed = home.ok(&["run", "--mount", "@app.env", "--", "cat", "app.env"]);

    assert_eq!(printed.trim_end(), "A='kvc_a'");
}

#[test]
fn an_existing_file_is_not_touched() {
    let (_server, home) = staging(&[("A", "kvc_a")]);
    home.write("kept", "mine");

    home.run(&["run", "--mount", "kept", "--", "true"]).fails(125, "kept: ");

    assert_eq!(std::fs::read_to_string(home.path("kept")).unwrap(), "mine");
    home.run(&["run", "--mount", "new:toml", "--", "true"]).fails(125, "must be dotenv");
    home.run(&["run", "--mount", "new", "--", "no-such-program"]).fails(127, "no-such-program");
    assert!(!home.path("new").exists());
}

#[test]
fn a_change_rewrites_the_file_and_sends_a_signal() {
    let (_server, home) = staging(&[("A", "kvc_1")]);
    let log = Log::new(&home);
    let script = "trap 'cat app.env >> log' HUP; cat app.env >> log; while :; do sleep 0.02; done";
    let words = ["run", "--watch", "--mount", "app.env", "--", "bash", "-c", script];
    let mut child = home.command(words).stdin(Stdio::null()).spawn().unwrap();
    log.wait_until("the start", |lines| lines == ["A='kvc_1'"]);

    home.api("PUT", &format!("{SECRETS}/A"), &json!({ "value": "kvc_2" }));
    log.wait_until("the signal", |lines| lines == ["A='kvc_1'", "A='kvc_2'"]);
    let mode = std::fs::metadata(home.path("app.env")).unwrap().permissions().mode();
    signal(&child, "TERM");

    assert_eq!(crate::home::wait(&mut child), Some(143));
    assert_eq!(mode & 0o777, 0o600);
    assert!(!home.path("app.env").exists());
}

#[test]
fn a_file_that_cannot_be_written_is_written_later() {
    let (_server, home) = staging(&[("A", "kvc_1")]);
    let log = Log::new(&home);
    std::fs::create_dir(home.path("folder")).unwrap();
    let script =
        "trap 'cat folder/env >> log' HUP; cat folder/env >> log; while :; do sleep 0.02; done";
    let words = ["run", "--watch", "--mount", "folder/env", "--", "bash", "-c", script];
    let stderr = std::fs::File::create(home.path("stderr")).unwrap();
    let mut child = home.command(words).stdin(Stdio::null()).stderr(stderr).spawn().unwrap();
    log.wait_until("the start", |lines| lines == ["A='kvc_1'"]);

    std::fs::rename(home.path("folder"), home.path("moved")).unwrap();
    home.api("PUT", &format!("{SECRETS}/A"), &json!({ "value": "kvc_2" }));
    while !std::fs::read_to_string(home.path("stderr")).unwrap().contains("file not changed: ") {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::rename(home.path("moved"), home.path("folder")).unwrap();
    log.wait_until("the signal", |lines| lines == ["A='kvc_1'", "A='kvc_2'"]);
    signal(&child, "TERM");

    assert_eq!(crate::home::wait(&mut child), Some(143));
}

#[test]
fn names_that_no_variable_may_have_are_written_to_the_file() {
    let (_server, home) = staging(&[("LD_PRELOAD", "kvc_a"), ("a.b", "kvc_b")]);
    let run = |options: &[&str]| {
        let start = ["run", "--mount", "env.json:json"];
        home.run(&[&start, options, &["--", "cat", "env.json"]].concat())
    };

    let ended = run(&[]);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    let written: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(written, json!({ "LD_PRELOAD": "kvc_a", "a.b": "kvc_b" }));
    assert!(!ended.stderr.contains("no shell can read"), "{ended:?}");
    run(&["--require", "NONE"]).fails(125, "required secrets are missing: NONE");
    home.run(&["run", "--", "true"]).fails(125, "LD_PRELOAD");
}

#[test]
fn a_signal_as_soon_as_the_file_exists_leaves_no_file() {
    let (_server, home) = staging(&[("A", "kvc_a")]);
    let mut child = home
        .command(["run", "--mount", "app.env", "--mask", "--", "sleep", "60"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (path, until) = (home.path("app.env"), Instant::now() + Duration::from_secs(20));
    while !path.exists() {
        assert!(Instant::now() < until, "there is no file");
        std::thread::yield_now();
    }

    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();

    assert_eq!(crate::home::wait(&mut child), Some(143));
    assert_eq!(std::fs::read_dir(home.path("")).unwrap().count(), 0);
}
