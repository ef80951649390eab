//! Tests of the command `secrets init`.

use std::os::unix::fs::MetadataExt as _;

use serde_json::json;

use crate::home::Home;
use crate::screen::Screen;
use crate::server::Server;

const PROJECT_FILE: &str = "secrets-project.toml";

fn read(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.path(name)).unwrap()
}

fn signed_in(server: &Server) -> Home {
    let home = server.home();
    home.api("POST", "/projects", &json!({ "name": "Web API" }));
    home
}

#[test]
fn options_are_written_to_the_project_file() {
    let server = Server::start();
    let home = signed_in(&server);
    let init = ["init", "--project", "web-api", "--environment", "staging", "--yes"];

    home.ok(&init);

    let expected = format!(
        "# Names only, never values. Commit this file.\nserver = \"{}\"\nproject = \"web-api\"\n\
         environment = \"staging\"\n",
        server.url
    );
    assert_eq!(read(&home, PROJECT_FILE), expected);
    assert_eq!(std::fs::metadata(home.path(PROJECT_FILE)).unwrap().mode() & 0o777, 0o644);
    assert_eq!(read(&home, ".gitignore"), "secrets-project.local.toml\n");
    home.run(&init).fails(71, "exists already");
}

#[test]
fn force_changes_the_names_and_keeps_the_rest() {
    let server = Server::start();
    let home = signed_in(&server);
    home.write(PROJECT_FILE, "project = \"old\" # name\n\n[run]\nexcept = [\"ADMIN_*\"] # why\n");
    home.write(".gitignore", "target\n/secrets-project.local.toml");

    home.ok(&["init", "-p", "web-api", "-e", "production", "--yes", "--force"]);

    let text = read(&home, PROJECT_FILE);
    assert!(text.starts_with("project = \"web-api\""), "{text}");
    assert!(text.contains("environment = \"production\"\n"), "{text}");
    assert!(text.ends_with("[run]\nexcept = [\"ADMIN_*\"] # why\n"), "{text}");
    assert_eq!(read(&home, ".gitignore"), "target\n/secrets-project.local.toml");
}

#[test]
fn names_that_do_not_exist_are_not_written() {
    let server = Server::start();
    let home = signed_in(&server);

    home.run(&["init", "-p", "none", "-e", "staging", "--yes"]).fails(68, "project not found");
    home.run(&["init", "-p", "web-api", "-e", "none", "--yes"]).fails(68, "environment not found");
    home.run(&["init", "--yes"]).fails(64, "--project");
    home.run(&["init", "-p", "web-api"]).fails(64, "--environment");
    Home::new().run(&["init", "--yes"]).fails(67, "not signed in");

    assert!(!home.path(PROJECT_FILE).exists() && !home.path(".gitignore").exists());
}

#[test]
fn project_and_environment_are_chosen_from_lists() {
    let server = Server::start();
    let home = signed_in(&server);
    home.write(".gitignore", "target");
    let screen = Screen::start(&home);

    screen.keys(&["secrets init", "Enter"]);
    screen.shows("web-api (Web API)");
    screen.shows("a new project");
    screen.keys(&["Enter"]);
    screen.shows("production");
    screen.keys(&["Down", "Enter"]);
    screen.shows("Wrote secrets-project.toml for web-api/staging.");

    assert!(read(&home, PROJECT_FILE).contains("environment = \"staging\""));
    assert_eq!(read(&home, ".gitignore"), "target\nsecrets-project.local.toml\n");
}

#[test]
fn a_new_project_is_created() {
    let server = Server::start();
    let home = server.home();
    let screen = Screen::start(&home);

    screen.keys(&["secrets init -e production", "Enter"]);
    screen.shows("a new project");
    screen.keys(&["Enter"]);
    screen.shows("Name of the project");
    screen.keys(&["Mail", "Enter"]);
    screen.shows("Wrote secrets-project.toml for mail/production.");
}
