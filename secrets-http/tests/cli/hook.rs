//! Tests of the command `secrets scan hook`.

use std::path::Path;

use serde_json::{Value, json};

use crate::home::{Home, ended};
use crate::repository::credential;

/// Creates an executable script.
fn script(home: &Home, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    home.write(name, text);
    std::fs::set_permissions(home.path(name), PermissionsExt::from_mode(0o755)).unwrap();
}

/// Checks that a commit with a credential is stopped by the hook, and that commits without one
/// succeed.
fn checks_commits(home: &Home, folder: &str) {
    let git = |arguments: &[&str]| {
        let mut command = home.program("git", arguments);
        command.current_dir(home.path(folder));
        ended(command, "")
    };
    home.write(&format!("{folder}/bad"), &credential(1));
    assert_eq!(git(&["add", "."]).code, Some(0));
    let stopped = git(&["commit", "-qm", "bad"]);
    stopped.fails(1, "the commit was stopped");
    assert!(stopped.stdout.contains("bad:1:1: ") || stopped.stderr.contains("bad:1:1: "));
    home.write(&format!("{folder}/bad"), "good\n");
    assert_eq!(git(&["add", "."]).code, Some(0));
    assert_eq!(git(&["commit", "-qm", "good"]).code, Some(0));
    assert_eq!(git(&["commit", "-q", "--allow-empty", "-m", "empty"]).code, Some(0));
}

#[test]
fn the_hook_stops_commits_with_credentials() {
    let home = Home::with_repository();

    home.ok(&["scan", "hook", "install"]);

    checks_commits(&home, ".");
    home.ok(&["scan", "hook", "uninstall"]);
    assert!(!home.path(".git/hooks/pre-commit").exists());
    home.ok(&["scan", "hook", "uninstall"]);
}

#[test]
fn the_hook_works_in_a_worktree_with_spaces_in_its_path() {
    let home = Home::with_repository();
    home.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    home.git(&["worktree", "add", "-q", "-b", "other", "a work 'tree'"]);
    let mut install = home.command(["scan", "hook", "install"]);
    install.current_dir(home.path("a work 'tree'"));

    assert_eq!(ended(install, "").code, Some(0));

    checks_commits(&home, "a work 'tree'");
}

#[test]
fn an_existing_hook_is_kept_and_put_back() {
    let home = Home::with_repository();
    let existing = "#!/bin/sh\necho \"$#\" >> kept-ran\n";
    script(&home, ".git/hooks/pre-commit", existing);

    home.ok(&["scan", "hook", "install"]);
    home.ok(&["scan", "hook", "install"]);

    checks_commits(&home, ".");
    let runs = std::fs::read_to_string(home.path("kept-ran")).unwrap();
    assert_eq!(runs, "0\n0\n", "the kept hook runs only after a scan without findings");
    home.ok(&["scan", "hook", "uninstall"]);
    let hook = std::fs::read_to_string(home.path(".git/hooks/pre-commit")).unwrap();
    assert_eq!(hook, existing);
    assert!(!home.path(".git/hooks/pre-commit.kept").exists());
}

#[test]
fn a_second_hook_is_not_overwritten() {
    let home = Home::with_repository();
    script(&home, ".git/hooks/pre-commit", "#!/bin/sh\n");
    home.ok(&["scan", "hook", "install"]);
    script(&home, ".git/hooks/pre-commit", "#!/bin/sh\n# another\n");

    home.run(&["scan", "hook", "install"]).fails(71, "pre-commit.kept");
}

#[test]
fn the_setting_core_hooks_path_is_honoured() {
    let home = Home::with_repository();
    home.git(&["config", "core.hooksPath", "my hooks"]);
    home.write("deep/folder/file", "");
    let mut install = home.command(["scan", "hook", "install"]);
    install.current_dir(home.path("deep"));

    assert_eq!(ended(install, "").code, Some(0));

    assert!(home.path("my hooks/pre-commit").exists());
    checks_commits(&home, "deep/folder");
}

#[test]
fn the_entry_for_the_program_pre_commit_stops_commits_with_credentials() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../.pre-commit-hooks.yaml");
    let hooks: Value = yaml_serde::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let [hook] = hooks.as_array().unwrap().as_slice() else { panic!("{hooks}") };
    // With these settings, pre-commit runs the entry with the user's `PATH`, without the names of
    // files, and also if no file is staged.
    assert_eq!(hook["language"], "system");
    assert_eq!((&hook["pass_filenames"], &hook["always_run"]), (&json!(false), &json!(true)));
    let program = Path::new(env!("CARGO_BIN_EXE_secrets")).parent().unwrap().display();
    let path = format!("{program}:{}", std::env::var_os("PATH").unwrap().display());
    let home = Home::with_repository().with("PATH", &path).with("PRE_COMMIT", "1");
    let entry = format!("#!/bin/sh\nexec {}\n", hook["entry"].as_str().unwrap());
    script(&home, ".git/hooks/pre-commit", &entry);
    let commit = |message: &str| ended(home.program("git", ["commit", "-qm", message]), "");

    home.write("bad", &credential(1));
    home.git(&["add", "bad"]);
    let stopped = commit("bad");
    stopped.fails(1, "1 found");
    // Git shows the standard output of a hook on standard error.
    assert!((stopped.stdout + &stopped.stderr).contains("bad:1:1: "));

    home.write("bad", "good\n");
    home.git(&["add", "bad"]);
    home.write("unstaged", &credential(2));
    assert_eq!(commit("good").code, Some(0));
    home.git(&["commit", "-q", "--allow-empty", "-m", "empty"]);
    assert_eq!(home.git(&["log", "--format=%s"]), "empty\ngood\n");
}

#[test]
fn outside_of_a_repository_there_is_no_hook() {
    Home::new().run(&["scan", "hook", "install"]).fails(66, "not a git repository");
}
