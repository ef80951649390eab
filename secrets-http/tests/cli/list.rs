//! Tests of the command `secrets list`.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::Project;
use crate::service::Scripted;

#[test]
fn a_pattern_selects_keys() {
    let project = Project::create();
    for key in ["DB_HOST", "DB_PORT", "API_KEY"] {
        project.create_secret("staging", key, "kvc_1");
    }

    assert_eq!(project.ok(&["-o", "name", "list", "DB_*"]), "DB_HOST\nDB_PORT\n");
    assert_eq!(project.ok(&["-o", "name", "list", "*_PORT", "API_KEY"]), "API_KEY\nDB_PORT\n");
    let json: Value = serde_json::from_str(&project.ok(&["-o", "json", "list", "API*"])).unwrap();
    assert_eq!(json["secrets"].as_array().unwrap().len(), 1);
    project.run(&["list", "{A"]).fails(64, "pattern");
}

#[test]
fn the_origin_of_a_secret_is_listed() {
    let project = Project::create();
    project.create_secret("production", "A", "kvc_1");
    project.create_secret("production", "B", "kvc_1");
    project.hide("preview", "B");

    let listed = project.ok(&["-e", "preview", "list"]);

    assert!(listed.lines().any(|line| line.starts_with('A') && line.contains("production")));
    assert!(listed.lines().any(|line| line.starts_with('B') && line.contains("(hidden)")));
}

#[test]
fn the_user_who_changed_a_secret_is_named_to_members() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.update_secret("staging", "A", "kvc_2");
    let me = project.api("GET", "/users/me", &Value::Null);
    let (id, email) = (me["id"].as_str().unwrap(), me["email"].as_str().unwrap());
    // A service token may not list the members of the team.
    let reader = project.server().home().with("SECRETS_TOKEN", &project.token(&["read"]));
    let reader = reader.with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging");

    for (command, count) in [(&["list"][..], 1), (&["history", "A"], 2)] {
        let shown = project.ok(command);
        assert_eq!(
            (shown.matches(email).count(), shown.matches(id).count()),
            (count, 0),
            "{shown}"
        );
        let json = project.ok(&[&["-o", "json"], command].concat());
        assert!(json.contains(id) && !json.contains(email), "{json}");
        let read = reader.ok(command);
        assert_eq!((read.matches(email).count(), read.matches(id).count()), (0, count), "{read}");
    }
}

#[test]
fn a_list_does_not_wait_long_for_the_names_of_users() {
    let service = Scripted::start(|request, _| {
        if !request.ends_with("/secrets") {
            thread::sleep(Duration::from_mins(1));
        }
        let secret = json!({
            "key": "A", "version": 1, "updated_at": "2026-11-23T21:59:00Z", "updated_by": "the-id",
        });
        (200, json!({ "secrets": [secret] }).to_string())
    });
    let begin = Instant::now();

    let listed = service.home().ok(&["--timeout", "50s", "list"]);

    assert!(listed.contains("the-id"), "{listed}");
    // The limit is three seconds.
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn the_grid_shows_the_state_in_each_environment() {
    let project = Project::create();
    for (environment, key) in
        [("production", "A"), ("production", "B"), ("preview", "A"), ("staging", "C")]
    {
        project.create_secret(environment, key, "kvc_1");
    }
    project.create_secret("production", "D", "kvc_1");
    project.hide("preview", "D");

    let grid = project.ok(&["list", "--all-environments"]);

    let row = |key: &str| {
        let line = grid.lines().find(|line| line.starts_with(key)).unwrap();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(row("KEY"), ["KEY", "development", "staging", "production", "preview"]);
    assert_eq!(row("A"), ["A", "-", "-", "v1", "v1, overrides production"]);
    assert_eq!(row("B"), ["B", "-", "-", "v1", "from production"]);
    assert_eq!(row("C"), ["C", "-", "v1", "-", "-"]);
    assert_eq!(row("D"), ["D", "-", "-", "v1", "hidden"]);
    assert_eq!(project.ok(&["-o", "name", "list", "-a", "[AB]"]), "A\nB\n");
}

#[test]
fn no_listing_shows_a_value() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    project.update_secret("staging", "A", "kvc_2");
    project.create_secret("production", "A", "kvc_3");

    for arguments in [
        &["-v", "list"][..],
        &["-v", "list", "--all-environments"],
        &["-v", "history", "A"],
        &["-v", "diff", "staging", "production"],
        &["-v", "check", "A"],
        &["-v", "copy", "--from", "staging", "--to", "production", "--dry-run"],
        &["-v", "set", "A=kvc_4"],
        &["-v", "rollback", "A", "--to", "1"],
        &["-v", "unset", "A", "--yes"],
    ] {
        for format in ["table", "json", "name"] {
            let ended = project.run(&[&["-o", format], arguments].concat());
            let shown = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!shown.contains("kvc_"), "{arguments:?}: {shown}");
        }
    }
}
