//! Tests of the command `secrets scan hook`.

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
fn outside_of_a_repository_there_is_no_hook() {
    Home::new().run(&["scan", "hook", "install"]).fails(66, "not a git repository");
}
