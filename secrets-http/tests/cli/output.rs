//! Tests of the output: colors, questions, and pipes that are closed.

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::Home;
use crate::project::Project;
use crate::repository::credential;
use crate::script::Script;
use crate::service::Scripted;

/// Starts a service for which `secrets run` prints a warning: no shell can read the name of the
/// secret.
fn warning() -> Scripted {
    let secrets = json!([{ "key": "a.b", "value": "kvc_1" }]);
    Scripted::start(move |_, _| (200, json!({ "secrets": secrets }).to_string()))
}

#[test]
fn a_pipe_gets_colors_only_if_they_are_asked_for() {
    let (home, forced) = (warning().home(), ("CLICOLOR_FORCE", "1"));
    let is_colored = |variables: &[(&str, &str)], color: &[&str]| {
        let mut command = home.command([color, &["run", "--", "true"]].concat());
        command.envs(variables.iter().copied());
        let ended = crate::home::ended(command, "");
        assert!(ended.stderr.contains("secrets: warning: "), "{ended:?}");
        ended.stderr.contains('\u{1b}')
    };

    assert!(!is_colored(&[], &[]));
    assert!(!is_colored(&[], &["--color", "auto"]));
    assert!(is_colored(&[], &["--color", "always"]));
    assert!(is_colored(&[forced], &[]));
    assert!(!is_colored(&[forced], &["--color", "never"]));
}

#[test]
fn a_terminal_gets_colors_unless_they_are_refused() {
    let service = warning();
    let is_colored = |home: Home, color: &str| {
        let (code, shown) = Script::start(&home, &format!("{color} run -- true")).end();
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("secrets: warning: "), "{shown}");
        shown.contains('\u{1b}')
    };

    assert!(is_colored(service.home(), ""));
    assert!(!is_colored(service.home(), "--color never"));
    assert!(!is_colored(service.home().with("NO_COLOR", "1"), ""));
    assert!(is_colored(service.home().with("NO_COLOR", "1"), "--color always"));
}

#[test]
fn the_help_text_and_errors_of_the_command_line_follow_the_option() {
    let home = Home::new();
    let is_colored_in_a_pipe = |words: &[&str]| {
        let ended = home.run(words);
        (ended.stdout + &ended.stderr).contains('\u{1b}')
    };

    for words in [&["--help"][..], &["--no-such"]] {
        assert!(!is_colored_in_a_pipe(words));
        assert!(is_colored_in_a_pipe(&[&["--color", "always"], words].concat()));
        assert!(is_colored_in_a_pipe(&[&["--color=always"], words].concat()));
    }
    let (_, shown) = Script::start(&home, "--color never --no-such").end();
    assert!(shown.contains("--no-such") && !shown.contains("\u{1b}[1m"), "{shown:?}");
}

#[test]
fn a_full_disk_is_an_error_for_each_output() {
    let home = Home::new();
    for words in ["--version", "--help", "list --help", "man", "completion bash"] {
        let mut command = home.command(words.split(' '));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let status = command.stdin(Stdio::null()).stdout(full).stderr(Stdio::null()).status();

        assert_eq!(status.unwrap().code(), Some(73), "{words}");
    }
}

#[test]
fn a_token_is_not_read_from_a_terminal_that_shows_it() {
    let login = "--no-input login http://127.0.0.1:9 --token-stdin";
    let (code, shown) = Script::start(&Home::new(), login).end();

    assert_eq!(code, Some(64), "{shown}");
    assert!(shown.contains("pipe the token"), "{shown}");
}

#[test]
fn a_command_without_data_of_the_service_has_a_json_document() {
    let project = Project::create().with("EDITOR", "true");
    let (url, token) = (project.server().url.clone(), project.server().token.clone());
    let parsed = |words: &[&str]| -> Value {
        serde_json::from_str(&project.ok(&[&["-o", "json"], words].concat())).unwrap()
    };
    assert!(project.program("git", ["init", "-q"]).status().unwrap().success());
    project.run_with(&["login", &url, "--token-stdin", "--store", "file"], &token).fails(0, "");

    let nothing = parsed(&["copy", "--from", "preview", "--to", "production"]);
    let unchanged = parsed(&["edit"]);
    let deleted = parsed(&["env", "delete", "preview", "--yes"]);
    let hook = parsed(&["scan", "hook", "install"]);
    let removed = parsed(&["scan", "hook", "uninstall"]);
    let created = parsed(&["init", "--yes"]);
    let left = parsed(&["logout"]);

    assert_eq!((&nothing["changes"], &unchanged["changes"]), (&json!([]), &json!([])));
    assert_eq!(deleted, json!({ "deleted": "preview" }));
    assert!(hook["hook"].as_str().unwrap().ends_with("/hooks/pre-commit"), "{hook}");
    assert_eq!(removed, hook);
    let file = json!({
        "file": "secrets-project.toml", "project": "web", "environment": "staging",
    });
    assert_eq!(created, file);
    assert_eq!(left, json!({ "servers": [url] }));
}

#[test]
fn an_import_of_several_sets_shows_its_progress() {
    let project = Project::create();
    let lines: Vec<_> = (0..1_001).map(|number| format!("KEY_{number}=kvc_x\n")).collect();
    project.write("many.env", &lines.concat());

    let (code, shown) = Script::start(&project, "import many.env").end();

    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("/1001 changes"), "{shown}");
    assert_eq!(project.values("staging").as_object().unwrap().len(), 1_001);
}

#[test]
fn a_question_is_an_error_if_questions_are_forbidden() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    let rotation = "rotation create db --type mysql --host db --database app --admin-username root";

    for (command, message) in [
        ("unset A", "Pass --yes to confirm"),
        ("env delete preview", "Pass --yes to confirm"),
        ("project delete web", "Pass --yes to confirm"),
        ("set B", "B: no value"),
        (rotation, "--password-file is needed"),
    ] {
        let (code, shown) = Script::start(&project, &format!("--no-input {command}")).end();

        assert_eq!(code, Some(64), "{command}: {shown}");
        assert!(shown.contains(message), "{command}: {shown}");
    }
    assert_eq!(project.values("staging"), json!({ "A": "kvc_1" }));
    let mut asked = Script::start(&project, "unset A");
    asked.expect("Delete A and its history").send("n");
    assert_eq!(asked.end().0, Some(130));
}

/// Commands that write to standard output, with their exit codes.
const COMMANDS: [(&[&str], i32); 12] = [
    (&["list"], 0),
    (&["-o", "json", "list"], 0),
    (&["-o", "name", "list"], 0),
    (&["get", "A"], 0),
    (&["export"], 0),
    (&["whoami"], 0),
    (&["audit"], 0),
    (&["-q", "scan"], 1),
    (&["man"], 0),
    (&["completion", "bash"], 0),
    (&["--version"], 0),
    (&["--help"], 0),
];

#[test]
fn a_closed_pipe_is_no_error() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.write("file", &credential(1));

    for (words, code) in COMMANDS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = project.command(words);
        command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let output = command.output().unwrap();

        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(code), ""), "{words:?}");
    }
}

#[test]
fn a_listing_in_a_pipe_ends_with_its_reader() {
    // The list is larger than the buffer of a pipe, so that the program writes after the end of
    // its reader.
    let secrets = (0..1_000).map(|number| json!({ "key": format!("KEY_{number:0200}") }));
    let body = json!({ "secrets": secrets.collect::<Vec<_>>() }).to_string();
    let home = Scripted::start(move |_, _| (200, body.clone())).home();

    for options in ["", "-o name", "-o json"] {
        let script = format!("\"$0\" {options} list | head -1; echo \"${{PIPESTATUS[*]}}\"");
        let command = home.program("bash", ["-c", script.as_str(), env!("CARGO_BIN_EXE_secrets")]);
        let ended = crate::home::ended(command, "");

        assert!(ended.stdout.ends_with("\n0 0\n"), "{options}: {ended:?}");
        assert_eq!((ended.stdout.lines().count(), ended.stderr.as_str()), (2, ""), "{options}");
    }
}
