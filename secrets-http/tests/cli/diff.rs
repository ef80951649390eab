//! Tests of the command `secrets diff`.

use serde_json::{Value, json};

use crate::project::Project;
use crate::service::Scripted;

fn project() -> Project {
    let project = Project::create();
    for (environment, key, value) in [
        ("staging", "SAME", "kvc_1"),
        ("production", "SAME", "kvc_1"),
        ("staging", "OTHER", "kvc_2"),
        ("production", "OTHER", "kvc_3"),
        ("staging", "ONLY_STAGING", "kvc_4"),
        ("production", "ONLY_PRODUCTION", "kvc_5"),
    ] {
        project.create_secret(environment, key, value);
    }
    project
}

fn signs(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split("  (").next().unwrap().to_owned()).collect()
}

#[test]
fn environments_are_compared_without_values() {
    let project = project();

    let ended = project.run(&["diff", "staging", "production", "--all"]);

    assert_eq!(ended.code, Some(1));
    let expected = ["+ ONLY_PRODUCTION", "- ONLY_STAGING", "~ OTHER", "= SAME"];
    assert_eq!(signs(&ended.stdout), expected);
    assert!(!ended.stdout.contains("kvc_"));
    let ended = project.run(&["diff", "production"]);
    assert_eq!(signs(&ended.stdout), expected[..3], "the chosen environment is the first");
}

#[test]
fn equal_environments_have_exit_code_0() {
    let project = project();

    let ended = project.run(&["diff", "production", "preview"]);

    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    project.run(&["diff", "production", "none"]).fails(68, "not found");
    let all = project.ok(&["diff", "production", "preview", "--all"]);
    assert!(all.contains("= SAME  (v1 -> from production)"), "{all}");
}

#[test]
fn a_hidden_key_counts_as_missing() {
    let project = project();
    project.hide("preview", "SAME");

    let ended = project.run(&["diff", "production", "preview"]);

    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "- SAME  (v1 -> hidden)\n"));
}

#[test]
fn only_keys_are_compared_on_request() {
    let project = project();

    let ended = project.run(&["diff", "staging", "production", "--keys-only"]);

    assert_eq!(signs(&ended.stdout), ["+ ONLY_PRODUCTION", "- ONLY_STAGING"]);
}

#[test]
fn values_are_printed_on_request() {
    let project = project();

    let ended = project.run(&["diff", "staging", "production", "--values"]);

    assert!(ended.stdout.contains("    - kvc_2\n    + kvc_3\n"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("kvc_1"), "equal values are not printed");
    let json = project.run(&["-o", "json", "diff", "staging", "production"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["differences"][2]["state"], "changed");
    assert!(!json.to_string().contains("kvc_"));
}

#[test]
fn an_environment_is_compared_with_a_file() {
    let project = project();
    project.write("local.env", "SAME=kvc_1\nOTHER=kvc_9\nNEW=kvc_1\n");

    let ended = project.run(&["diff", "staging", "local.env"]);

    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout, "+ NEW\n- ONLY_STAGING\n~ OTHER\n");
    project.ok(&["export", "--out", "same.env"]);
    assert_eq!(project.ok(&["diff", "./same.env"]), "");
    project.run(&["diff", "staging", "none.env"]).fails(66, "none.env");
}

#[test]
fn each_side_is_read_once() {
    let service = Scripted::start(|_, _| {
        let secret = json!({ "key": "A", "value": "kvc_1", "version": 1 });
        (200, json!({ "secrets": [secret] }).to_string())
    });
    let home = service.home();

    let ended = home.run_with(&["diff", "staging", "-", "--values"], "A=kvc_2\n");

    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.stdout, "~ A\n    - kvc_1\n    + kvc_2\n");
    let export = "GET /api/v1/projects/web/environments/staging/secrets/export";
    assert_eq!(service.requests(), [export]);
    home.run(&["diff", "-", "-"]).fails(64, "only one side");
}
