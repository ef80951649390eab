//! Tests of the environment variables of the command that `secrets run` starts.

use serde_json::json;

use super::staging;
use crate::home::Home;
use crate::service::Scripted;

/// Source file with the names that a secret may not set unless `--allow` names them.
const RULES: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/secrets/run/environment.rs"));

/// Runs `env -0` with `secrets run` and these options, and returns the variables in alphabetical
/// order.
fn variables(home: &Home, options: &[&str]) -> Vec<String> {
    let arguments: Vec<_> = [&["run"], options, &["--", "env", "-0"]].concat();
    let printed = home.ok(&arguments);
    let mut lines: Vec<_> =
        printed.split_terminator('\0').map(str::to_owned).filter(|line| line != "_=").collect();
    lines.sort();
    lines
}

#[test]
fn the_command_gets_the_secrets_and_no_credential() {
    let value = "kvc_ line\n'\"$HOME\\ \u{20ac}";
    let (server, home) = staging(&[("DB_URL", "kvc_db"), ("TEXT", value), ("EMPTY", "")]);

    let printed = variables(&home.with("SECRETS_TOKEN_FILE", "/none"), &[]);

    assert!(printed.contains(&"DB_URL=kvc_db".to_owned()), "{printed:?}");
    assert!(printed.contains(&format!("TEXT={value}")), "{printed:?}");
    assert!(printed.contains(&"EMPTY=".to_owned()), "{printed:?}");
    assert!(printed.contains(&"SECRETS_PROJECT=web".to_owned()), "{printed:?}");
    assert!(printed.contains(&"SECRETS_ENVIRONMENT=staging".to_owned()), "{printed:?}");
    assert!(!printed.iter().any(|line| line.contains("SECRETS_TOKEN")), "{printed:?}");
    assert!(!printed.iter().any(|line| line.contains(&server.token)), "{printed:?}");
}

#[test]
fn the_credential_is_kept_if_asked() {
    let (server, home) = staging(&[]);

    let printed = variables(&home, &["--keep-token"]);

    assert!(printed.contains(&format!("SECRETS_TOKEN={}", server.token)));
}

#[test]
fn a_clean_environment_keeps_the_named_variables_only() {
    let (_server, home) = staging(&[("DB_URL", "kvc_db")]);
    let home = home.with("LC_ALL", "C").with("NOISE", "1").with("KEPT", "2");

    let printed = variables(&home, &["--clean", "--keep", "KEPT"]);

    let names: Vec<_> = printed.iter().map(|line| line.split('=').next().unwrap()).collect();
    let expected =
        ["DB_URL", "HOME", "KEPT", "LC_ALL", "PATH", "SECRETS_ENVIRONMENT", "SECRETS_PROJECT"];
    assert_eq!(names, expected);
}

#[test]
fn a_secret_overwrites_a_variable_unless_existing_ones_are_kept() {
    let (_server, home) = staging(&[("A", "kvc_a"), ("B", "kvc_b")]);
    let home = home.with("A", "mine").with("B", "mine");
    let seen = |options: &[&str]| -> Vec<String> {
        let all = variables(&home, options);
        all.into_iter().filter(|line| line.starts_with("A=") || line.starts_with("B=")).collect()
    };

    assert_eq!(seen(&[]), ["A=kvc_a", "B=kvc_b"]);
    assert_eq!(seen(&["--keep-existing"]), ["A=mine", "B=mine"]);
    assert_eq!(seen(&["--keep-existing=B"]), ["A=kvc_a", "B=mine"]);
}

#[test]
fn secrets_are_selected_and_renamed() {
    let (_server, home) =
        staging(&[("DB_URL", "kvc_1"), ("DB_KEY", "kvc_2"), ("MAIL", "kvc_3"), ("X", "kvc_4")]);
    let seen = |options: &[&str]| -> Vec<String> {
        variables(&home, options).into_iter().filter(|line| line.contains("=kvc_")).collect()
    };

    assert_eq!(seen(&["--only", "DB_*"]), ["DB_KEY=kvc_2", "DB_URL=kvc_1"]);
    assert_eq!(seen(&["--only", "DB_*", "--except", "*_KEY"]), ["DB_URL=kvc_1"]);
    assert_eq!(
        seen(&["--except", "DB_*", "--prefix", "APP_", "--rename", "X=Y"]),
        ["APP_MAIL=kvc_3", "Y=kvc_4"]
    );
    home.run(&["run", "--rename", "X=MAIL", "--", "true"]).fails(125, "MAIL: two secrets");
    home.run(&["run", "--rename", "NONE=Y", "--", "true"]).fails(125, "NONE");
    home.run(&["run", "--only", "[", "--", "true"]).fails(125, "pattern");
}

#[test]
fn the_project_file_selects_secrets() {
    let (_server, home) = staging(&[("A", "kvc_a"), ("ADMIN_KEY", "kvc_admin")]);
    home.write("secrets-project.toml", "[run]\nexcept = [\"ADMIN_*\"]\nrequire = [\"A\"]\n");

    let printed = variables(&home, &["--except", "NONE"]);

    assert!(printed.contains(&"A=kvc_a".to_owned()));
    assert!(!printed.iter().any(|line| line.contains("kvc_admin")));
}

#[test]
fn a_name_that_decides_what_is_executed_is_refused() {
    let (_server, home) = staging(&[("LD_PRELOAD", "kvc_x"), ("NODE_OPTIONS", "kvc_y")]);

    let refused = home.run(&["run", "--", "true"]);
    refused.fails(125, "LD_PRELOAD, NODE_OPTIONS");
    assert!(!refused.stderr.contains("kvc_"));
    let options = ["run", "--allow", "NODE_OPTIONS", "--except", "LD_*"];
    let printed = home.ok(&[&options[..], &["--", "printenv", "NODE_OPTIONS"]].concat());
    assert_eq!(printed, "kvc_y\n");
    home.run(&["run", "--only", "NODE_*", "--rename", "NODE_OPTIONS=PATH", "--", "true"])
        .fails(125, "PATH");
}

/// Returns the patterns of names that decide what is executed, as the program defines them.
fn code_loading() -> Vec<&'static str> {
    let (_, rest) = RULES.split_once("const CODE_LOADING: [&str; ").unwrap();
    let (list, _) = rest.split_once("];\n").unwrap();
    let (count, list) = list.split_once("] = [").unwrap();
    let patterns: Vec<_> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(patterns.len(), count.parse::<usize>().unwrap());
    patterns
}

#[test]
fn each_name_that_decides_what_is_executed_is_refused() {
    let mut refused: Vec<_> =
        code_loading().iter().map(|pattern| pattern.replace('*', "SOMETHING")).collect();
    refused.sort();
    // A pattern matches the whole name, or its start if `*` follows.
    let similar: Vec<_> = refused.iter().map(|name| format!("MY_{name}")).collect();
    let names = || refused.iter().chain(&similar);
    let secrets: Vec<_> = names().map(|name| json!({ "key": name, "value": "kvc_x" })).collect();
    let body = json!({ "secrets": secrets }).to_string();
    let home = Scripted::start(move |_, _| (200, body.clone())).home();

    let ended = home.run(&["run", "--", "true"]);

    ended.fails(125, &format!("are not set by secrets: {};", refused.join(", ")));
    for name in &refused {
        let others: Vec<_> = refused.iter().filter(|other| *other != name).cloned().collect();
        let options = ["run", "--allow", name, "--except", &others.join(",")];
        let printed = home.ok(&[&options[..], &["--", "/usr/bin/printenv", name]].concat());
        assert_eq!(printed, "kvc_x\n", "{name}");
    }
}

#[test]
fn a_value_that_no_variable_can_hold_is_refused_with_its_key() {
    let secrets = json!([{ "key": "A", "value": "kvc_a" }, { "key": "B", "value": "kvc_\0b" }]);
    let body = json!({ "secrets": secrets }).to_string();
    let home = Scripted::start(move |_, _| (200, body.clone())).home();

    let ended = home.run(&["run", "--", "touch", "started"]);

    ended.fails(125, "B: value: must not contain the character NUL");
    assert!(!ended.stderr.contains("kvc_"), "{ended:?}");
    assert!(!home.path("started").exists());
}

#[test]
fn a_required_key_must_exist() {
    let (_server, home) = staging(&[("A", "kvc_a")]);
    home.write(".env.example", "# needed\nA=\nB=\nC=\n");

    home.run(&["run", "--require", "A,D", "--", "true"]).fails(125, "missing: D");
    home.run(&["run", "--require-file", ".env.example", "--", "true"]).fails(125, "missing: B, C");
    home.run(&["run", "--require-file", "none", "--", "true"]).fails(125, "none: ");
    home.run(&["run", "--require", "A", "--except", "A", "--", "true"]).fails(125, "missing: A");
    home.write("secrets-project.toml", "[run]\nrequire_file = \".env.example\"\n");
    home.run(&["run", "--", "true"]).fails(125, "missing: B, C");
}

#[test]
fn a_key_that_no_shell_can_name_is_passed_on_with_a_warning() {
    let (_server, home) = staging(&[("a.b", "kvc_1"), ("c-d", "kvc_2")]);

    let ended = home.run(&["run", "--", "env"]);

    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("a.b=kvc_1\n") && ended.stdout.contains("c-d=kvc_2\n"));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("a.b, c-d"));
}

#[test]
fn an_environment_over_the_limit_of_the_system_is_refused_with_both_sizes() {
    let value = format!("kvc_{}", "x".repeat(60_000));
    let keys: Vec<_> = (0..10).map(|number| format!("LARGE_{number}")).collect();
    let secrets: Vec<_> = keys.iter().map(|key| (key.as_str(), value.as_str())).collect();
    let (_server, home) = staging(&secrets);
    // The limit is a quarter of the stack limit, here 512 KiB.
    let script = "ulimit -s 2048 && exec \"$0\" run -- true";
    let mut command = home.program("sh", ["-c", script]);
    command.arg(env!("CARGO_BIN_EXE_secrets"));

    let ended = crate::home::ended(command, "");

    ended.fails(125, "limit of 524288");
    assert!(ended.stderr.contains("have 60"), "{ended:?}");
}

#[test]
fn nothing_is_written_to_standard_error_without_a_terminal() {
    let (_server, home) = staging(&[("A", "kvc_a")]);

    assert_eq!(home.run(&["run", "--", "true"]).stderr, "");
}
