//! Tests of the command `secrets unset`.

use serde_json::json;

use crate::project::Project;
use crate::script::Script;

#[test]
fn a_deletion_needs_a_person_or_yes() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.create_secret("staging", "B", "kvc_1");

    project.run(&["unset", "A"]).fails(64, "--yes");
    project.run(&["unset", "A", "NONE", "--yes"]).fails(68, "NONE: secret not found");
    assert_eq!(project.values("staging"), json!({ "A": "kvc_1", "B": "kvc_1" }));

    project.ok(&["unset", "A", "--yes"]);
    let mut script = Script::start(&project, "unset B");
    script.expect("Delete B").send("y");
    assert_eq!(script.end().0, Some(0));
    assert_eq!(project.values("staging"), json!({}));
}

#[test]
fn an_inherited_value_that_shows_again_is_announced() {
    let project = Project::create().with("SECRETS_ENVIRONMENT", "preview");
    project.create_secret("production", "A", "kvc_1");
    project.create_secret("preview", "A", "kvc_2");

    let ended = project.run(&["unset", "A", "--yes"]);

    assert!(ended.stderr.contains("A: the value of production will show again"), "{ended:?}");
    assert_eq!(project.values("preview"), json!({ "A": "kvc_1" }));
    project.run(&["unset", "A", "--yes"]).fails(68, "inherited from production");
    project.ok(&["unset", "A", "--hide"]);
    assert_eq!(project.values("preview"), json!({}));
    project.ok(&["unset", "A", "--yes"]);
    assert_eq!(project.values("preview"), json!({ "A": "kvc_1" }));
}

#[test]
fn a_person_may_hide_instead_of_deleting() {
    let project = Project::create().with("SECRETS_ENVIRONMENT", "preview");
    project.create_secret("production", "A", "kvc_1");
    project.create_secret("preview", "A", "kvc_2");

    let mut script = Script::start(&project, "unset A");
    script.expect("Hide instead of deleting?").send("y");
    let (code, shown) = script.end();

    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(project.values("preview"), json!({}));
}
