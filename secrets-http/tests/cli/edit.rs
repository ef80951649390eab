//! Tests of the command `secrets edit`.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::home::{Ended, ended, wait};
use crate::project::Project;

/// Creates a project with the secrets A, B and C, and an editor that is a shell script.
fn project(script: &str) -> Project {
    let project = Project::create();
    for key in ["A", "B", "C"] {
        project.create_secret("staging", key, "kvc_1");
    }
    with_editor(project, script)
}

/// Sets a shell script as the editor of the project's user. The script runs in the working folder;
/// `$1` is the edited file, and the file `round` counts how often it has run.
fn with_editor(project: Project, script: &str) -> Project {
    let count =
        "echo x >> round; round=$(wc -l < round); echo \"$1\" >> paths; cp \"$1\" text-$round";
    project.write("editor.sh", &format!("set -e\n{count}\n{script}\n"));
    fs::create_dir_all(project.path("memory")).unwrap();
    let editor = format!("sh '{}'", project.path("editor.sh").display());
    let memory = project.path("memory").display().to_string();
    project.with("SECRETS_EDITOR", &editor).with("XDG_RUNTIME_DIR", &memory)
}

fn rounds(project: &Project) -> usize {
    fs::read_to_string(project.path("round")).unwrap().lines().count()
}

/// Returns the text with which the editor was opened the `round`-th time.
fn text(project: &Project, round: usize) -> String {
    fs::read_to_string(project.path(&format!("text-{round}"))).unwrap()
}

/// Checks that all files that were opened in the editor have been deleted.
#[track_caller]
fn nothing_is_left(project: &Project) {
    let left = fs::read_dir(project.path("memory")).unwrap().count();
    assert_eq!(left, 0, "files for the editor are left");
}

fn edit(project: &Project) -> Ended {
    project.run(&["edit"])
}

#[test]
fn changes_of_the_file_are_applied() {
    let project = project(
        "sed -i \"s/^A=.*/# new\\n# lines\\nA='kvc_2'/; /^B=/d\" \"$1\"; echo 'D=kvc_4' >> \"$1\"",
    );

    let ended = edit(&project);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    for line in ["~ A", "- B", "+ D", "1 created, 1 updated, 1 deleted"] {
        assert!(ended.stderr.contains(line), "{line}: {ended:?}");
    }
    assert!(!ended.stderr.contains("kvc_"));
    let expected = json!({ "A": "kvc_2", "C": "kvc_1", "D": "kvc_4" });
    assert_eq!(project.values("staging"), expected);
    let again = with_editor(project, "true");
    edit(&again);
    assert!(text(&again, 2).contains("\n# new\n# lines\nA='kvc_2'\n"), "{}", text(&again, 2));
}

#[test]
fn an_unchanged_file_does_nothing() {
    let project = project("true");

    let ended = edit(&project);

    assert!(ended.code == Some(0) && ended.stderr.contains("unchanged"), "{ended:?}");
    nothing_is_left(&project);
    assert!(project.ok(&["list"]).lines().skip(1).all(|line| line.contains('1')));
}

#[test]
fn only_a_description_is_changed() {
    let project = project("sed -i 's/^A=/# about\\nA=/' \"$1\"");

    let ended = edit(&project);

    assert!(ended.stderr.contains("~ A (description)"), "{ended:?}");
    assert_eq!(project.ok(&["history", "A"]).lines().count(), 2, "the version is the same");
    assert!(project.ok(&["list"]).contains("about"));
}

#[test]
fn the_file_is_private_and_removed() {
    let project = project("stat -c %a \"$1\" \"$(dirname \"$1\")\" > modes; touch \"$1.swp\"");

    edit(&project);

    assert_eq!(fs::read_to_string(project.path("modes")).unwrap(), "600\n700\n");
    let path = fs::read_to_string(project.path("paths")).unwrap();
    assert!(path.starts_with(&project.path("memory").display().to_string()), "{path}");
    nothing_is_left(&project);
}

#[test]
fn inherited_keys_are_comments_with_their_origin() {
    let project = Project::create().with("SECRETS_ENVIRONMENT", "preview");
    project.create_secret("production", "A", "kvc_1");
    project.create_secret("production", "B", "kvc_1");
    project.create_secret("production", "C", "kvc_1");
    project.hide("preview", "C");
    let project = with_editor(project, "sed -i 's/^#B=.*/B=kvc_2/; s/^#C=.*/C=kvc_3/' \"$1\"");

    let ended = edit(&project);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = text(&project, 1);
    assert!(shown.contains("#A=  # from production\n#B=  # from production\n#C=  # hidden\n"));
    assert!(!shown.contains("kvc_"), "{shown}");
    let expected = json!({ "A": "kvc_1", "B": "kvc_2", "C": "kvc_3" });
    assert_eq!(project.values("preview"), expected);
}

#[test]
fn an_invalid_line_is_marked_and_the_file_opened_again() {
    let project = project(
        "if [ $round = 1 ]; then sed -i \"s/^A=.*/A='kvc_2/; /^C=/d\" \"$1\"; \
         else sed -i \"s/^A='kvc_2/A='kvc_2'/\" \"$1\"; fi",
    );

    let ended = edit(&project);

    assert_eq!((ended.code, rounds(&project)), (Some(0), 2), "{ended:?}");
    let marked = "#! secrets: the next line is invalid";
    assert!(text(&project, 2).contains(marked), "{}", text(&project, 2));
    assert_eq!(project.values("staging"), json!({ "A": "kvc_2", "B": "kvc_1" }));
}

#[test]
fn marked_lines_that_stay_change_nothing() {
    let project = project("if [ $round = 1 ]; then echo nonsense >> \"$1\"; fi");

    edit(&project).fails(65, "nothing was written");

    assert_eq!(rounds(&project), 2);
    nothing_is_left(&project);
}

#[test]
fn an_editor_that_always_saves_garbage_ends() {
    let project = project("echo kvc_garbage > \"$1\"");

    let ended = edit(&project);

    assert!(!ended.fails(65, "problems are left").stderr.contains("kvc_"));
    assert_eq!(project.values("staging"), json!({ "A": "kvc_1", "B": "kvc_1", "C": "kvc_1" }));
}

#[test]
fn a_conflict_shows_both_sides() {
    let project = project("");
    let update = format!(
        "SECRETS_TOKEN={} {} -q set A=kvc_theirs B=kvc_theirs",
        project.server().token,
        env!("CARGO_BIN_EXE_secrets")
    );
    let script = format!(
        "if [ $round = 1 ]; then {update}; sed -i \"s/^A=.*/A='kvc_mine'/\" \"$1\"; \
         else sed -i '/CONFLICT/d' \"$1\"; fi"
    );
    let project = with_editor(project, &script);

    let ended = edit(&project);

    assert_eq!(ended.code, Some(0), "{ended:?}");
    let second = text(&project, 2);
    assert!(second.contains("CONFLICT: A: meanwhile changed to version 2"), "{second}");
    assert!(second.contains("A='kvc_mine'") && second.contains("B='kvc_theirs'"), "{second}");
    let expected = json!({ "A": "kvc_mine", "B": "kvc_theirs", "C": "kvc_1" });
    assert_eq!(project.values("staging"), expected);
}

/// Creates a project with an editor that changes A and B, while another user changes them too. When
/// it is opened again, the editor runs the script `later`.
fn conflicting(later: &str) -> Project {
    let project = project("");
    let update = format!(
        "SECRETS_TOKEN={} {} -q set A=kvc_theirs B=kvc_theirs",
        project.server().token,
        env!("CARGO_BIN_EXE_secrets")
    );
    let change = "sed -i \"s/^\\([AB]\\)=.*/\\1='kvc_mine'/\" \"$1\"";
    with_editor(project, &format!("if [ $round = 1 ]; then {update}; {change}; {later}; fi"))
}

#[test]
fn a_conflict_is_applied_or_discarded_only_by_a_decision() {
    let project = conflicting(
        "elif [ $round = 2 ]; then sed -i '/CONFLICT: A:/d' \"$1\"; \
         else sed -i '/^B=/d' \"$1\"",
    );

    let ended = project.run(&["edit", "--yes"]);

    assert_eq!((ended.code, rounds(&project)), (Some(0), 3), "{ended:?}");
    assert!(ended.stderr.contains("(delete its line, or the secret): B\n"), "{ended:?}");
    assert!(ended.stderr.contains("B: your change is discarded"), "{ended:?}");
    let third = text(&project, 3);
    assert!(third.contains("CONFLICT: B:") && !third.contains("CONFLICT: A:"), "{third}");
    let expected = json!({ "A": "kvc_mine", "B": "kvc_theirs", "C": "kvc_1" });
    assert_eq!(project.values("staging"), expected);
}

#[test]
fn a_conflict_without_a_decision_changes_nothing() {
    let project = conflicting("elif [ $round = 2 ]; then sed -i '/CONFLICT: A:/d' \"$1\"");

    let ended = project.run(&["edit", "--yes"]);

    ended.fails(65, "nothing was written");
    assert_eq!(rounds(&project), 3);
    nothing_is_left(&project);
    let expected = json!({ "A": "kvc_theirs", "B": "kvc_theirs", "C": "kvc_1" });
    assert_eq!(project.values("staging"), expected);
}

#[test]
fn an_editor_that_fails_or_removes_the_file_changes_nothing() {
    for (script, message) in [
        ("echo D=kvc_4 >> \"$1\"; exit 3", "exit status: 3"),
        ("echo D=kvc_4 >> \"$1\"; kill -9 $$", "signal: 9"),
        ("rm \"$1\"", "was removed"),
        ("printf '\\377\\376' > \"$1\"", "UTF-8"),
    ] {
        let project = project(script);

        edit(&project).fails(65, message).fails(65, "nothing was changed");

        nothing_is_left(&project);
        assert_eq!(project.values("staging"), json!({ "A": "kvc_1", "B": "kvc_1", "C": "kvc_1" }));
    }
}

#[test]
fn a_signal_ends_the_editor_and_removes_the_file() {
    let project = project("echo $$ > editor.pid; mv editor.pid started; exec sleep 60");
    let mut child = project.command(["edit"]).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !project.path("started").exists() {
        assert!(Instant::now() < until, "the editor did not start");
        std::thread::sleep(Duration::from_millis(5));
    }

    ended(project.program("kill", ["-TERM", &child.id().to_string()]), "");

    assert_eq!(wait(&mut child), Some(128 + 15));
    nothing_is_left(&project);
    let editor = fs::read_to_string(project.path("started")).unwrap();
    let path = format!("/proc/{}", editor.trim());
    while fs::exists(&path).unwrap() {
        assert!(Instant::now() < until, "the editor still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_editor_that_returns_at_once_is_refused() {
    let project = project("true");
    for (editor, advice) in [
        ("code", "SECRETS_EDITOR=\"code --wait\""),
        ("/usr/bin/subl -n", "subl --wait"),
        ("gvim", "gvim --nofork"),
        ("emacsclient -n", "must wait"),
        ("'open", "quote"),
        ("none-such-editor", "SECRETS_EDITOR names an editor"),
    ] {
        let ended = ended(
            {
                let mut command = project.command(["edit"]);
                command.env("SECRETS_EDITOR", editor);
                command
            },
            "",
        );
        ended.fails(78, advice);
    }
    nothing_is_left(&project);
}
