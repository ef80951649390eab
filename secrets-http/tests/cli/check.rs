//! Tests of the command `secrets check`.

use crate::project::Project;

#[test]
fn missing_keys_are_named_with_exit_code_1() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.write(".env.example", "# needed\nA=\nexport B=example\nC=\n");

    assert_eq!(project.ok(&["check", "A"]), "");
    let ended = project.run(&["check", "--require", ".env.example", "D"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "B\nC\nD\n"));
    let ended = project.run(&["-o", "json", "check", "A", "B"]);
    assert_eq!((ended.code, ended.stdout.contains("\"B\"")), (Some(1), true));
    project.run(&["check"]).fails(64, "no keys");
    project.run(&["check", "--require", "none"]).fails(66, "none");
    project.write("bad", "kvc_nonsense\n");
    assert!(
        !project.run(&["check", "--require", "bad"]).fails(65, "line 1").stderr.contains("kvc_")
    );
}

#[test]
fn the_project_file_names_required_keys() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    let file = "[run]\nrequire = [\"A\", \"B\"]\nrequire_file = \"keys.env\"\n";
    project.write("secrets-project.toml", file);
    project.write("keys.env", "C=\n");

    let ended = project.run(&["check"]);

    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "B\nC\n"));
}

#[test]
fn a_hidden_key_is_missing_and_an_inherited_one_is_not() {
    let project = Project::create().with("SECRETS_ENVIRONMENT", "preview");
    project.create_secret("production", "A", "kvc_1");
    project.create_secret("production", "B", "kvc_1");
    project.hide("preview", "B");

    let ended = project.run(&["check", "A", "B"]);

    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "B\n"));
}
