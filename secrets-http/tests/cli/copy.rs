//! Tests of the command `secrets copy`.

use serde_json::json;

use crate::project::Project;

fn project() -> Project {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.create_secret("staging", "B", "kvc_2");
    project.create_secret("production", "A", "kvc_old");
    project
}

#[test]
fn another_value_is_not_replaced_unless_asked() {
    let project = project();

    project
        .run(&["copy", "--from", "staging", "--to", "production"])
        .fails(71, "production holds other values of A");
    assert_eq!(project.values("production"), json!({ "A": "kvc_old" }));

    project.ok(&["copy", "--from", "staging", "--to", "production", "--missing"]);
    assert_eq!(project.values("production"), json!({ "A": "kvc_old", "B": "kvc_2" }));
    project.ok(&["promote", "--to", "production", "--overwrite"]);
    assert_eq!(project.values("production"), json!({ "A": "kvc_1", "B": "kvc_2" }));
}

#[test]
fn a_dry_run_writes_nothing() {
    let project = project();

    let ended = project.run(&["copy", "--to", "production", "--overwrite", "--dry-run"]);

    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("~ A in production: updated"), "{ended:?}");
    assert!(ended.stderr.contains("+ B in production: created"), "{ended:?}");
    assert!(ended.stderr.contains("nothing was written"), "{ended:?}");
    assert_eq!(project.values("production"), json!({ "A": "kvc_old" }));
}

#[test]
fn keys_and_patterns_select() {
    let project = project();
    project.create_secret("staging", "DB_HOST", "kvc_3");

    project.ok(&["copy", "--to", "development", "DB_*"]);

    assert_eq!(project.values("development"), json!({ "DB_HOST": "kvc_3" }));
    project.run(&["copy", "--to", "development", "NONE"]).fails(68, "NONE: staging has no such");
    project.run(&["copy", "--to", "staging"]).fails(64, "same environment");
    project.run(&["copy", "--to", "none"]).fails(68, "not found");
}

#[test]
fn an_inherited_value_is_copied() {
    let project = project();

    project.ok(&["copy", "--from", "preview", "--to", "development"]);

    assert_eq!(project.values("development"), json!({ "A": "kvc_old" }));
}
