//! Tests of the command `secrets get`.

use crate::project::Project;
use crate::script::Script;

#[test]
fn several_keys_are_one_document() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.create_secret("staging", "B", "kvc_ 2");

    assert_eq!(project.ok(&["get", "B", "A"]), "B='kvc_ 2'\nA='kvc_1'\n");
    let json = project.ok(&["get", "A", "B", "--format", "json"]);
    assert_eq!(json, "{\n  \"A\": \"kvc_1\",\n  \"B\": \"kvc_ 2\"\n}\n");
    project.run(&["get", "A", "NONE"]).fails(68, "NONE: secret not found");
    project.run(&["get", "A", "B", "--copy"]).fails(64, "exactly one key");
}

#[test]
fn an_earlier_version_is_printed() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    for value in ["kvc_2", "kvc_3"] {
        project.update_secret("staging", "A", value);
    }

    assert_eq!(project.ok(&["get", "A", "--version", "1"]), "kvc_1");
    assert_eq!(project.ok(&["get", "A", "--version", "2"]), "kvc_2");
    assert_eq!(project.ok(&["get", "A", "--version", "3"]), "kvc_3");
    project.run(&["get", "A", "--version", "4"]).fails(68, "no version 4");
}

#[test]
fn a_field_of_a_json_value_is_printed() {
    let project = Project::create();
    let value = r#"{"database":{"password":"kvc_p","port":5432},"hosts":["kvc_a","kvc_b"]}"#;
    project.create_secret("staging", "CONFIG", value);
    project.create_secret("staging", "TEXT", "kvc_text");

    let field = |path: &str| project.ok(&["get", "CONFIG", "--json-field", path]);
    assert_eq!(field("database.password"), "kvc_p");
    assert_eq!(field("database.port"), "5432");
    assert_eq!(field("hosts.1"), "kvc_b");
    let missing = project.run(&["get", "CONFIG", "--json-field", "database.user"]);
    assert!(!missing.fails(68, "no field database.user").stderr.contains("kvc_"));
    let text = project.run(&["get", "TEXT", "--json-field", "a"]);
    assert!(!text.fails(65, "not JSON").stderr.contains("kvc_"));
}

#[test]
fn a_value_is_copied_by_a_program_of_the_desktop() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.write("bin/xclip", "#!/bin/sh\necho \"$@\" > arguments\ncat > copied\n");
    let program = project.path("bin/xclip");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let programs = std::env::var_os("PATH").unwrap().into_string().unwrap();
    let path = format!("{}:{programs}", project.path("bin").display());
    let project = project.with("PATH", &path).with("DISPLAY", ":0");

    let shown = project.ok(&["get", "A", "--copy"]);

    assert_eq!(shown, "");
    assert_eq!(std::fs::read_to_string(project.path("copied")).unwrap(), "kvc_1");
    let arguments = std::fs::read_to_string(project.path("arguments")).unwrap();
    assert_eq!(arguments, "-selection clipboard\n");
}

#[test]
fn over_ssh_the_terminal_copies() {
    let project = Project::create().with("SSH_TTY", "/dev/pts/0");
    project.create_secret("staging", "A", "kvc_1");

    let (code, shown) = Script::start(&project, "get A --copy").end();

    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("\u{1b}]52;c;a3ZjXzE=\u{7}"), "{shown:?}");
    assert!(!shown.contains("kvc_"));
}

#[test]
fn a_value_on_a_terminal_ends_with_a_line_break() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");

    let (_, shown) = Script::start(&project, "get A").end();

    assert_eq!(shown, "kvc_1\r\n");
}
