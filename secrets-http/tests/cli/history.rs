//! Tests of the commands `secrets history` and `secrets rollback`.

use crate::project::Project;

#[test]
fn versions_are_listed_and_values_only_on_request() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.update_secret("staging", "A", "kvc_2");

    let listed = project.ok(&["history", "A"]);
    let revealed = project.ok(&["history", "A", "--reveal"]);

    let words = |text: &str| -> Vec<Vec<String>> {
        let words = |line: &str| line.split_whitespace().take(2).map(str::to_owned).collect();
        text.lines().skip(1).map(words).collect()
    };
    assert_eq!(words(&listed), [["2", "current"], ["1", "created"]]);
    assert!(!listed.contains("kvc_"));
    assert!(revealed.contains("kvc_1") && revealed.contains("kvc_2"), "{revealed}");
    project.run(&["history", "NONE"]).fails(68, "not found");
}

#[test]
fn as_many_versions_are_listed_as_the_service_keeps() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_0");
    for number in 1..=101 {
        project.update_secret("staging", "A", &format!("kvc_{number}"));
    }

    let versions = |limit: &str| {
        let listed = project.ok(&["-o", "name", "history", "A", "-n", limit]);
        listed.lines().map(|line| line.parse().unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(versions("2"), [102, 101, 100]);
    // The plan keeps 100 previous versions.
    assert_eq!(versions("1000"), (2..=102).rev().collect::<Vec<_>>());
}

#[test]
fn a_rollback_is_a_new_version() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.update_secret("staging", "A", "kvc_2");

    let ended = project.run(&["rollback", "A", "--to", "1", "--if-version", "2"]);

    assert!(ended.stderr.contains("version 3 has the value of version 1"), "{ended:?}");
    assert_eq!(project.ok(&["get", "A"]), "kvc_1");
    project.run(&["rollback", "A", "--to", "2", "--if-version", "2"]).fails(71, "");
    project.run(&["rollback", "A", "--to", "9"]).fails(68, "");
}
