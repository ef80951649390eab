//! Tests of the command `secrets token`.

use serde_json::{Value, json};

use crate::home::Home;
use crate::project::Project;
use crate::server::Server;

fn home(server: &Server) -> Home {
    let home = server.home();
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    home.with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging")
}

/// True if the service accepts a token.
fn works(server: &Server, token: &str) -> bool {
    server.home().with("SECRETS_TOKEN", token.trim_end()).run(&["whoami"]).code == Some(0)
}

#[test]
fn a_token_is_printed_raw_and_once() {
    let server = Server::start();
    let home = home(&server);

    let token = home.ok(&["token", "create", "ci"]);

    assert!(token.starts_with("env_") && token.ends_with('\n') && token.lines().count() == 1);
    assert!(works(&server, &token));
    assert!(!home.ok(&["token", "list"]).contains(token.trim_end()));
    assert!(!home.ok(&["-o", "json", "token", "list"]).contains(token.trim_end()));
    assert_eq!(home.ok(&["-o", "name", "token", "list"]), "ci\n");
}

#[test]
fn the_scope_of_a_token_is_that_of_the_settings_unless_it_is_given() {
    let server = Server::start();
    let home = home(&server);
    let created = |arguments: &[&str]| -> Value {
        let arguments = [&["-o", "json", "token", "create", "ci"], arguments].concat();
        serde_json::from_str(&home.ok(&arguments)).unwrap()
    };

    let default = created(&[]);
    assert_eq!(default["permissions"], json!(["read"]));
    assert_eq!(default["environment_ids"].as_array().unwrap().len(), 1);
    let options = [
        "--all-projects",
        "--permissions",
        "read,write",
        "--expires-in-days",
        "3",
        "--ip-allowlist",
        "10.0.0.0/8,192.0.2.1",
        "--team",
        "dev-s-team",
    ];
    let given = created(&options);
    assert_eq!(given["all_projects"], true);
    assert_eq!(given["all_environments"], true);
    assert_eq!(given["permissions"], json!(["read", "write"]));
    assert_eq!(given["ip_allowlist"].as_array().unwrap().len(), 2);
    assert!(given["expires_at"].is_string());
    home.run(&["token", "create", "x", "--expires-at", "never"]).fails(65, "expires_at");
}

#[test]
fn a_token_of_one_environment_needs_no_project_file() {
    let project = Project::create();
    project.create_secret("staging", "A", "kvc_1");
    let user = |token: &str| {
        let token = token.trim_end();
        Home::new().with("SECRETS_URL", &project.server().url).with("SECRETS_TOKEN", token)
    };
    let narrow = user(&project.ok(&["token", "create", "ci", "--permissions", "read,write"]));
    let wide =
        user(&project.ok(&["token", "create", "wide", "--environments", "staging,production"]));
    let all = user(&project.ok(&["token", "create", "all", "--all-projects"]));

    assert_eq!(narrow.ok(&["run", "--", "printenv", "A"]), "kvc_1\n");
    assert_eq!(narrow.ok(&["get", "A"]), "kvc_1");
    narrow.ok(&["set", "B=kvc_2"]);
    assert_eq!(narrow.ok(&["-o", "name", "list"]), "A\nB\n");

    wide.run(&["list"]).fails(64, "no environment: name one with -e ENVIRONMENT");
    assert_eq!(wide.ok(&["-e", "staging", "get", "B"]), "kvc_2");
    all.run(&["list"]).fails(64, "no project: name one with -p PROJECT");
    assert_eq!(all.ok(&["-p", "web", "-e", "staging", "get", "B"]), "kvc_2");
}

#[cfg(unix)]
#[test]
fn a_token_is_written_to_a_new_file_that_only_the_user_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start();
    let home = home(&server);

    let shown = home.ok(&["token", "create", "ci", "--out", "token"]);

    let token = std::fs::read_to_string(home.path("token")).unwrap();
    assert!(works(&server, &token));
    assert!(!shown.contains(token.trim_end()) && shown.contains("ci"));
    let mode = std::fs::metadata(home.path("token")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    home.run(&["token", "create", "second", "--out", "token"]).fails(73, "token: ");
    assert_eq!(std::fs::read_to_string(home.path("token")).unwrap(), token);
    assert_eq!(home.ok(&["-o", "name", "token", "list"]), "ci\n");
    home.run(&["-p", "none", "token", "create", "x", "--out", "other"]).fails(68, "project");
    assert!(!home.path("other").exists(), "no empty file is left");
}

#[test]
fn a_rotated_token_works_for_the_grace_period_only() {
    let server = Server::start();
    let home = home(&server);
    let first = home.ok(&["token", "create", "ci"]);

    let second = home.ok(&["token", "rotate", "ci", "--grace", "1h"]);
    assert!(works(&server, &first) && works(&server, &second));

    let third = home.ok(&["token", "rotate", "ci"]);
    assert!(!works(&server, &second) && works(&server, &third));
}

#[test]
fn a_revoked_token_works_no_more() {
    let server = Server::start();
    let home = home(&server);
    let token = home.ok(&["token", "create", "ci"]);

    home.run(&["token", "revoke", "ci"]).fails(64, "--yes");
    home.ok(&["token", "revoke", "ci", "--yes"]);

    assert!(!works(&server, &token));
    home.run(&["token", "revoke", "ci", "--yes"]).fails(68, "token not found");
    home.ok(&["token", "create", "twin"]);
    home.ok(&["token", "create", "twin"]);
    home.run(&["token", "revoke", "twin", "--yes"]).fails(64, "pass the ID");
}

#[test]
fn an_option_or_variable_limits_a_token_of_named_projects_to_an_environment() {
    let server = Server::start();
    let home = home(&server);
    let environments = |home: &Home, options: &[&str]| {
        let create = ["-o", "json", "token", "create", "ci", "--projects", "web"];
        let printed = home.ok(&[&create[..], options].concat());
        serde_json::from_str::<Value>(&printed).unwrap()["environment_ids"].clone()
    };
    let id = |name: &str| {
        let path = format!("/projects/web/environments/{name}");
        home.api("GET", &path, &Value::Null)["id"].clone()
    };
    let (staging, production) = (id("staging"), id("production"));

    assert_eq!(environments(&home, &[]), json!([staging]));
    assert_eq!(environments(&home, &["-e", "production"]), json!([production]));
    assert_eq!(environments(&home, &["--environments", "production"]), json!([production]));
    home.write("secrets-project.toml", "environment = \"staging\"\n");
    let home = home.with("SECRETS_ENVIRONMENT", "");
    assert_eq!(environments(&home, &[]), json!([]));
}

#[test]
fn a_token_of_all_projects_has_no_environment() {
    let server = Server::start();
    let home = home(&server);
    let create = ["token", "create", "ci", "--all-projects"];

    home.run(&[&create[..], &["-e", "staging"]].concat())
        .fails(64, "--environment cannot be used with --all-projects");
    home.run(&[&create[..], &["--environments", "staging"]].concat())
        .fails(64, "cannot be used with");

    assert_eq!(home.ok(&["-o", "name", "token", "list"]), "");
}
