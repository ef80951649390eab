//! Tests of the command `secrets set`.

use serde_json::json;

use crate::home::Home;
use crate::project::Project;
use crate::script::Script;

#[test]
fn values_come_from_arguments_standard_input_and_files() {
    let project = Project::create();
    project.write("value", "kvc_file\n");

    project.ok(&["set", "A=kvc_a", "B=kvc_=b", "EMPTY="]);
    assert_eq!(project.run_with(&["set", "C"], "kvc_c\n").code, Some(0));
    assert_eq!(project.run_with(&["set", "D"], "kvc_1\nkvc_2\n\n").code, Some(0));
    project.ok(&["set", "E", "--from-file", "value"]);
    assert_eq!(project.run_with(&["set", "G", "--from-file", "-"], "kvc_g\n").code, Some(0));

    let expected = json!({
        "A": "kvc_a", "B": "kvc_=b", "C": "kvc_c", "D": "kvc_1\nkvc_2\n", "E": "kvc_file\n",
        "EMPTY": "", "G": "kvc_g\n",
    });
    assert_eq!(project.values("staging"), expected);
    project.run(&["set", "F"]).fails(64, "standard input is empty");
    project.run(&["set", "F", "--from-file", "-"]).fails(64, "standard input is empty");
    project.run(&["set", "F", "--from-file", "none"]).fails(66, "none");
    project.run(&["set", "1F=kvc_1"]).fails(64, "the key");
}

#[test]
fn a_person_is_asked_without_echo() {
    let project = Project::create();

    let mut script = Script::start(&project, "set A");
    script.expect("Value of A").await_hidden_input().send("kvc_typed\n");
    let (code, shown) = script.end();

    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("kvc_"), "{shown}");
    assert_eq!(project.ok(&["get", "A"]), "kvc_typed");
}

#[test]
fn a_value_in_an_argument_leads_to_a_hint_on_a_terminal() {
    let project = Project::create();

    let (_, shown) = Script::start(&project, "set A=kvc_1").end();

    assert!(shown.contains("the shell may remember this value"), "{shown}");
    assert!(!project.run(&["set", "A=kvc_2"]).stderr.contains("remember"));
}

#[test]
fn a_generated_value_has_the_length_and_differs() {
    let project = Project::create();

    project.ok(&["set", "A", "B", "--generate"]);
    project.ok(&["set", "C", "--generate=100"]);

    let values = project.values("staging");
    let value = |key: &str| values[key].as_str().unwrap().to_owned();
    assert_eq!((value("A").len(), value("B").len(), value("C").len()), (32, 32, 100));
    assert_ne!(value("A"), value("B"));
    assert!(value("C").chars().all(|c| c.is_ascii_alphanumeric()));
    project.run(&["set", "A", "--generate=7"]).fails(64, "8");
    // Replaces the generated values: secret values of tests begin with `kvc_`.
    project.ok(&["set", "A=kvc_1", "B=kvc_1", "C=kvc_1"]);
}

#[test]
fn a_version_other_than_expected_is_a_conflict() {
    let project = Project::create();
    project.ok(&["set", "A=kvc_1", "--if-version", "0", "--description", "first"]);
    project.ok(&["set", "A=kvc_2", "--if-version", "1"]);

    let ended = project.run(&["set", "A=kvc_3", "B=kvc_3", "--if-version", "1"]);

    ended.fails(71, "A in staging: expected version 1, but has version 2");
    assert_eq!(project.values("staging"), json!({ "A": "kvc_2" }));
    let listed = project.ok(&["list"]);
    assert!(listed.contains("first"), "a description stays: {listed}");
}

#[test]
fn a_hidden_key_has_no_inherited_value() {
    let project = Project::create();
    project.create_secret("production", "A", "kvc_1");
    project.create_secret("production", "B", "kvc_1");

    project.ok(&["-e", "preview", "set", "A", "--hide"]);

    assert_eq!(project.values("preview"), json!({ "B": "kvc_1" }));
    project.run(&["set", "A=kvc_1", "--hide"]).fails(64, "without a value");
}

#[test]
fn a_refused_argument_is_not_repeated() {
    let home = Home::new();
    let long = format!("A=kvc_{}", "x".repeat(100_000));

    for (arguments, text) in [
        (["A=kvc_1", "MY KEY=kvc_2"], "argument 2: the key "),
        (["kvc 1", "A=kvc_2"], "argument 1: the key "),
        ([long.as_str(), "B=kvc_2"], "argument 1: the value "),
    ] {
        let ended = home.run(&[&["set"], &arguments[..]].concat());

        assert!(!ended.fails(64, text).stderr.contains("kvc"), "{ended:?}");
    }
}
