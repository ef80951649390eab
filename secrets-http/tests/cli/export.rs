//! Tests of the command `secrets export`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::home::ended;
use crate::project::Project;

/// Keys and values with characters that shells may interpret.
const TRICKY: [(&str, &str); 7] = [
    ("BACKSLASHES", "kvc_\\ \\\\ \\n"),
    ("DOLLAR", "kvc_$HOME ${PATH} $(id) `id`"),
    ("MANY_LINES", "kvc_a\nb\n"),
    ("QUOTES", "kvc_'\"'\"''"),
    ("SPACES", "  kvc_ \t "),
    ("SPECIAL", "kvc_!#&;|<>(){}[]*?~=%^"),
    ("UNICODE", "kvc_é日本😀"),
];

fn project() -> Project {
    let project = Project::create();
    for (key, value) in TRICKY {
        project.create_secret("staging", key, value);
    }
    project
}

/// Returns the values of the variables that a shell has after sourcing the file `secrets.sh`.
fn sourced(project: &Project, shell: &str) -> Vec<String> {
    let print = TRICKY.map(|(key, _)| format!("printf '%s\\0' \"${key}\"")).join("; ");
    let arguments = ["-c".to_owned(), format!(". ./secrets.sh; {print}")];
    let ended = ended(project.program(shell, arguments), "");
    assert_eq!(ended.code, Some(0), "{shell}: {ended:?}");
    ended.stdout.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn bash_dash_zsh_ksh_and_fish_source_the_same_values() {
    let project = project();
    project.ok(&["export", "--format", "shell", "--out", "secrets.sh"]);

    let expected = TRICKY.map(|(_, value)| value.to_owned());
    for shell in ["bash", "dash", "zsh", "ksh", "fish"] {
        assert_eq!(sourced(&project, shell), expected, "{shell}");
    }
}

#[test]
fn a_file_is_private_and_never_replaced_unasked() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");

    project.ok(&["export", "--out", "new.env"]);

    let mode = std::fs::metadata(project.path("new.env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    project.write("old.env", "old");
    project.run(&["export", "--out", "old.env"]).fails(73, "exists already");
    assert_eq!(std::fs::read_to_string(project.path("old.env")).unwrap(), "old");
    project.ok(&["export", "--out", "old.env", "--force"]);
    assert_eq!(std::fs::read_to_string(project.path("old.env")).unwrap(), "A='kvc_1'\n");
    project.run(&["export", "--out", "none/new.env"]).fails(73, "none/new.env");
    assert_eq!(std::fs::read_dir(project.path("")).unwrap().count(), 2, "nothing is left over");
}

#[test]
fn patterns_select() {
    let project = Project::create();
    for key in ["DB_HOST", "DB_PORT", "API_KEY"] {
        project.create_secret("staging", key, "kvc_1");
    }

    assert_eq!(
        project.ok(&["export", "--only", "DB_*", "--except", "*_PORT"]),
        "DB_HOST='kvc_1'\n"
    );
    assert_eq!(project.ok(&["export", "--except", "DB_*"]), "API_KEY='kvc_1'\n");
}

#[test]
fn a_manifest_has_a_name() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");

    let manifest = project.ok(&["export", "--format", "k8s"]);
    let named = project.ok(&["export", "--format", "k8s", "--name", "web-secrets"]);

    assert!(manifest.contains("name: \"staging\"") && manifest.contains("\"A\": \"a3ZjXzE=\""));
    assert!(named.contains("name: \"web-secrets\""));
    project.run(&["export", "--format", "k8s", "--name", "No"]).fails(64, "--name");
}

#[test]
fn a_key_that_a_format_cannot_represent_is_named() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_a\nb");

    let ended = project.run(&["export", "--format", "docker"]);

    assert!(!ended.fails(65, "A: must be one line").stderr.contains("kvc_"));
}

#[test]
fn values_are_masked_in_github_actions_only() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_a\n\nkvc_100%");
    project.run(&["export", "--mask-ci"]).fails(64, "GitHub Actions");

    let project = project.with("GITHUB_ACTIONS", "true");
    let ended = project.run(&["export", "--format", "json", "--mask-ci"]);

    assert!(ended.stderr.contains("::add-mask::kvc_a\n::add-mask::kvc_100%25\n"), "{ended:?}");
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json, json!({ "A": "kvc_a\n\nkvc_100%" }));
}
