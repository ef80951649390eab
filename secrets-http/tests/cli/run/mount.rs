//! Tests of the option `--mount` of `secrets run`.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

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
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::fs::rename(home.path("moved"), home.path("folder")).unwrap();
    log.wait_until("the signal", |lines| lines == ["A='kvc_1'", "A='kvc_2'"]);
    signal(&child, "TERM");

    assert_eq!(crate::home::wait(&mut child), Some(143));
}
