//! Tests of the commands `secrets env`, `project`, `team`, `member`, `invite`, `rotation` and
//! `webhook`.

use serde_json::{Value, json};

use crate::home::Home;
use crate::rotation::create;
use crate::server::Server;
use crate::service::Scripted;

fn home(server: &Server) -> Home {
    let home = server.home();
    home.ok(&["project", "create", "Web", "--description", "first"]);
    home.with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging")
}

fn parsed(home: &Home, arguments: &[&str]) -> Value {
    serde_json::from_str(&home.ok(&[&["-o", "json"], arguments].concat())).unwrap()
}

#[test]
fn environments_are_created_changed_and_deleted() {
    let server = Server::start();
    let home = home(&server);

    home.ok(&["env", "create", "qa", "--inherits-from", "staging", "--description", "tests"]);
    assert!(home.ok(&["env", "list"]).contains("tests"));
    assert!(home.ok(&["-o", "name", "env", "list"]).contains("qa\n"));
    assert_eq!(parsed(&home, &["env", "list"])["environments"].as_array().unwrap().len(), 4);

    assert_eq!(home.ok(&["-o", "name", "env", "rename", "qa", "trial"]), "trial\n");
    let changed =
        parsed(&home, &["env", "update", "trial", "--inherits-nothing", "--description", ""]);
    assert_eq!((&changed["inherits_from"], &changed["description"]), (&Value::Null, &json!("")));
    assert_eq!(parsed(&home, &["env", "show", "trial"])["name"], "trial");
    home.run(&["env", "update", "trial"]).fails(64, "required");

    home.run(&["env", "delete", "trial"]).fails(64, "--yes");
    home.ok(&["env", "delete", "trial", "--yes"]);
    home.run(&["env", "show", "trial"]).fails(68, "not found");
    home.run(&["env", "create", "a b"]).fails(65, "name");
}

#[test]
fn a_change_of_an_environment_can_include_its_name() {
    let server = Server::start();
    let home = home(&server);
    let staging = parsed(&home, &["env", "show", "staging"])["id"].clone();
    home.ok(&["env", "create", "qa"]);

    let options = ["--new-name", "trial", "--inherits-from", "staging", "--description", "tests"];
    let changed = parsed(&home, &[&["env", "update", "qa"], &options[..]].concat());

    assert_eq!((&changed["name"], &changed["inherits_from"]), (&json!("trial"), &staging));
    assert_eq!(changed["description"], "tests");
    home.run(&["env", "show", "qa"]).fails(68, "not found");
    assert_eq!(home.ok(&["-o", "name", "env", "show", "trial"]), "trial\n");
}

#[test]
fn projects_are_created_changed_deleted_and_restored() {
    let server = Server::start();
    let home = home(&server);

    assert_eq!(home.ok(&["-o", "name", "project", "list"]), "web\n");
    assert!(home.ok(&["project", "show"]).contains("first"));
    assert_eq!(
        parsed(&home, &["project", "show", "web"])["environments"][0]["name"],
        "development"
    );
    assert_eq!(parsed(&home, &["project", "update", "web", "--name", "New"])["name"], "New");

    home.run(&["project", "update", "web"]).fails(64, "required");
    let id = parsed(&home, &["project", "show"])["id"].as_str().unwrap().to_owned();

    home.ok(&["project", "delete", "web", "--yes"]);
    assert_eq!(home.ok(&["project", "list"]), "");
    assert_eq!(home.ok(&["-o", "name", "project", "restore", &id]), "web\n");
}

#[test]
fn teams_are_listed_and_created() {
    let server = Server::start();
    let home = server.home();

    assert_eq!(home.ok(&["-o", "name", "team", "list"]), "dev-s-team\n");
    assert_eq!(parsed(&home, &["team", "show"])["role"], "owner");
    assert!(home.ok(&["team", "usage"]).contains("service tokens"));
    assert!(parsed(&home, &["team", "usage"])["usage"]["secrets"].is_object());

    home.ok(&["team", "create", "Second"]);
    home.run(&["team", "show"]).fails(64, "--team");
    assert_eq!(parsed(&home, &["team", "show", "--team", "Second"])["name"], "Second");
    home.run(&["team", "show", "--team", "none"]).fails(68, "team not found");
    home.ok(&["project", "create", "Other", "--team", "second"]);
    assert_eq!(parsed(&home.with("SECRETS_PROJECT", "other"), &["team", "show"])["name"], "Second");
}

#[test]
fn a_person_is_invited_accepts_and_becomes_a_member() {
    let server = Server::start();
    let home = home(&server);
    let other = server.home().with("SECRETS_TOKEN", &server.token_of("eve@example.com"));
    other.api("POST", "/auth/sync", &json!({}));

    let shown = home.ok(&["invite", "create", "eve@example.com", "--role", "admin"]);
    assert!(shown.contains("/invitations/"), "{shown}");
    assert_eq!(home.ok(&["-o", "name", "invite", "list"]), "eve@example.com\n");
    assert!(home.ok(&["invite", "resend", "eve@example.com"]).contains("/invitations/"));
    let link = parsed(&home, &["invite", "list"])[0]["accept_url"].as_str().unwrap().to_owned();
    assert!(other.ok(&["invite", "mine"]).contains("eve@example.com"));
    assert_eq!(
        other.run_with(&["-o", "name", "invite", "accept", "-"], &link).stdout,
        "dev-s-team\n"
    );

    assert!(home.ok(&["-o", "name", "member", "list"]).contains("eve@example.com\n"));
    assert_eq!(parsed(&home, &["member", "role", "eve@example.com", "member"])["role"], "member");
    let set = ["member", "permission", "set", "eve@example.com", "write"];
    assert_eq!(parsed(&home, &set)["role"], "write");
    assert!(home.ok(&["member", "permission", "list"]).contains("write"));
    assert!(other.run(&["-p", "web", "member", "permission", "mine"]).stdout.contains("staging"));
    home.ok(&["member", "permission", "remove", "eve@example.com", "--yes"]);
    home.run(&["member", "remove", "eve@example.com"]).fails(64, "--yes");
    home.ok(&["member", "remove", "eve@example.com", "--yes"]);
    home.run(&["member", "role", "eve@example.com", "admin"]).fails(68, "member not found");
}

#[test]
fn an_invitation_is_revoked() {
    let server = Server::start();
    let home = home(&server);
    home.ok(&["invite", "create", "eve@example.com"]);

    home.ok(&["invite", "revoke", "eve@example.com", "--yes"]);

    assert_eq!(home.ok(&["invite", "list"]), "");
}

#[test]
fn default_permissions_are_replaced_and_removed() {
    let server = Server::start();
    let home = home(&server);
    let default = |more: &[&str]| home.ok(&[&["member", "permission", "default"], more].concat());

    assert!(default(&["staging=read", "production=none"]).contains("staging"));
    assert!(default(&[]).contains("none"));
    default(&["--clear", "--yes"]);
    assert_eq!(default(&[]), "");
    home.run(&["member", "permission", "default", "staging"]).fails(64, "ENVIRONMENT=ACCESS");
}

#[test]
fn a_password_of_a_rotation_is_read_and_never_an_argument() {
    let server = Server::start();
    let home = home(&server);

    home.run(&create("postgresql", &[])).fails(64, "--password-file");
    let ended = home
        .run_with(&create("postgresql", &["--password-file", "-", "--dry-run"]), "kvc_password\n");

    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("false"), "{ended:?}");
    assert!(!(ended.stdout + &ended.stderr).contains("kvc_"));
    assert_eq!(home.ok(&["rotation", "list"]), "");
}

#[test]
fn rotations_are_created_paused_tested_and_deleted() {
    let server = Server::start();
    let home = home(&server);
    home.write("password", "kvc_password\n");

    let options = ["--password-file", "password", "--interval-days", "7", "--url-key", "DB_URL"];
    home.ok(&create("postgresql", &options));

    assert_eq!(home.ok(&["-o", "name", "rotation", "list"]), "db\n");
    assert_eq!(parsed(&home, &["rotation", "pause", "db"])["status"], "paused");
    assert_eq!(parsed(&home, &["rotation", "resume", "db"])["status"], "active");
    let update = ["rotation", "update", "db", "--interval-days", "9"];
    assert_eq!(parsed(&home, &update)["rotation_interval_days"], 9);
    assert!(home.ok(&["rotation", "show", "db"]).contains("postgresql"));
    home.run(&["rotation", "test", "db"]).fails(1, "");
    let ended = home.run(&["-o", "json", "rotation", "rotate", "db", "--wait"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(home.ok(&["rotation", "history", "db"]).contains("failed"));
    home.run(&["rotation", "delete", "db"]).fails(64, "--yes");
    home.ok(&["rotation", "delete", "db", "--yes"]);
    home.run(&["rotation", "show", "db"]).fails(68, "not found");
}

#[test]
fn webhooks_are_created_tested_and_deleted() {
    let server = Server::start();
    let home = home(&server);
    home.write("password", "kvc_password\n");
    home.ok(&create("postgresql", &["--password-file", "password"]));
    let url = "https://hooks.example.com/a";

    let created = parsed(&home, &["webhook", "create", "db", url, "--events", "rotation.failed"]);

    assert!(created["secret"].is_string());
    assert_eq!(created["events"], json!(["rotation.failed"]));
    let listed = home.ok(&["webhook", "list", "db"]);
    assert!(listed.contains(url) && !listed.contains("SIGNING"), "{listed}");
    assert_eq!(parsed(&home, &["webhook", "test", "db", url])["event"], "webhook.test");
    let deliveries = parsed(&home, &["webhook", "deliveries", "db", url]);
    let delivery = deliveries["deliveries"][0]["id"].as_str().unwrap();
    home.run(&["webhook", "redeliver", "db", url, delivery]).fails(65, "still pending");
    home.ok(&["webhook", "delete", "db", url, "--yes"]);
    home.run(&["webhook", "test", "db", url]).fails(68, "webhook not found");
}

#[test]
fn a_name_that_no_url_can_contain_is_not_found() {
    let service = Scripted::start(|_, _| (200, "{}".to_owned()));
    let home = service.home();

    for name in [".", "..", ".\t.", "a\nb"] {
        home.run(&["env", "delete", name, "--yes"]).fails(68, "not found: no name is `.` or `..`");
        home.run(&["-e", name, "get", "A"]).fails(68, "not found");
        home.run(&["get", name]).fails(68, "not found");
    }

    assert!(service.requests().is_empty(), "{:?}", service.requests());
}
