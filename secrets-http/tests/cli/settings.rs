//! Tests of the precedence of settings, and of project files that are refused.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::process::Command;

use serde_json::Value;

use crate::home::Home;

const PROJECT_FILE: &str = "secrets-project.toml";
const LOCAL_FILE: &str = "secrets-project.local.toml";

/// Returns the value of a setting and its source, as the command `status` prints them.
fn setting(home: &Home, arguments: &[&str], name: &str) -> (String, String) {
    setting_in(home, "", arguments, name)
}

/// Returns the same as [`setting`], when the command is run in a folder below the working folder.
fn setting_in(home: &Home, folder: &str, arguments: &[&str], name: &str) -> (String, String) {
    let mut command = home.command([&["-o", "json"], arguments, &["status"]].concat());
    command.current_dir(home.path(folder));
    let ended = crate::home::ended(command, "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let status: Value = serde_json::from_str(&ended.stdout).unwrap();
    let row = status["status"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    (text("value"), text("source"))
}

fn environment(home: &Home, arguments: &[&str]) -> String {
    setting(home, arguments, "environment").0
}

fn git(home: &Home, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "init.defaultBranch=main", "-c", "user.name=t", "-c", "user.email=t@t"])
        .args(arguments)
        .current_dir(home.path(""))
        .env("HOME", home.folder())
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
}

#[test]
fn an_option_wins_over_a_variable_over_files_over_the_default() {
    let server = |name: &str| format!("https://{name}.example.com");
    let home = Home::new();
    let found = |home: &Home, arguments: &[&str]| setting(home, arguments, "server");
    let ends = |(value, source): (String, String), name: &str, end: &str| {
        assert_eq!(value, server(name));
        assert!(source.contains(end), "{source}");
    };

    assert_eq!(found(&home, &[]).0, "");
    home.write("../.config/secrets/config.toml", &format!("server = \"{}\"", server("user")));
    ends(found(&home, &[]), "user", "config.toml (server)");
    home.write(PROJECT_FILE, &format!("server = \"{}\"", server("project")));
    ends(found(&home, &[]), "project", "secrets-project.toml (server)");
    home.write(LOCAL_FILE, &format!("server = \"{}\"", server("local")));
    ends(found(&home, &[]), "local", "secrets-project.local.toml (server)");
    let home = home.with("SECRETS_URL", &server("variable"));
    ends(found(&home, &[]), "variable", "variable SECRETS_URL");
    ends(found(&home, &["--server", &server("option")]), "option", "option --server");
}

#[test]
fn project_and_environment_follow_the_same_order() {
    for (name, option, variable) in [
        ("project", "--project", "SECRETS_PROJECT"),
        ("environment", "--environment", "SECRETS_ENVIRONMENT"),
    ] {
        let home = Home::new();
        home.write(PROJECT_FILE, &format!("{name} = \"file\""));
        assert_eq!(setting(&home, &[], name).0, "file");
        home.write(LOCAL_FILE, &format!("{name} = \"local\""));
        assert_eq!(setting(&home, &[], name).0, "local");
        let home = home.with(variable, "variable");
        assert_eq!(setting(&home, &[], name).0, "variable");
        assert_eq!(setting(&home, &[option, "option"], name).0, "option");
    }
}

#[test]
fn an_empty_variable_counts_as_absent() {
    let home = Home::new();
    home.write(PROJECT_FILE, "environment = \"file\"");
    let mut command = home.command(["-o", "json", "status"]);
    command.env("SECRETS_ENVIRONMENT", "");

    let ended = crate::home::ended(command, "");

    assert!(ended.stdout.contains("\"file\""), "{ended:?}");
}

#[test]
fn a_branch_names_the_environment_unless_option_or_variable_do() {
    let home = Home::new();
    home.write(PROJECT_FILE, "environment = \"development\"\n[branches]\nmain = \"staging\"");
    assert_eq!(environment(&home, &[]), "development");
    git(&home, &["init", "-q"]);

    let (value, source) = setting(&home, &[], "environment");
    assert_eq!(value, "staging");
    assert!(source.ends_with("(branch main)"), "{source}");
    assert_eq!(environment(&home, &["-e", "option"]), "option");
    git(&home, &["checkout", "-q", "-b", "topic"]);
    assert_eq!(environment(&home, &[]), "development");
    git(&home, &["checkout", "-q", "-b", "main"]);
    home.write(LOCAL_FILE, "environment = \"local\"");
    assert_eq!(environment(&home, &[]), "local");
    let home = home.with("SECRETS_ENVIRONMENT", "variable");
    assert_eq!(environment(&home, &[]), "variable");
}

#[test]
fn the_longest_path_names_the_project() {
    let home = Home::new();
    let text = "project = \"all\"\n[paths.services]\nproject = \"services\"\n\
                [paths.\"services/mail\"]\nproject = \"mail\"\nenvironment = \"staging\"";
    home.write(PROJECT_FILE, text);
    for folder in ["services/mail/src", "services/mailbox", "other"] {
        std::fs::create_dir_all(home.path(folder)).unwrap();
    }
    let project = |folder: &str| setting_in(&home, folder, &[], "project").0;

    assert_eq!(project(""), "all");
    assert_eq!(project("other"), "all");
    assert_eq!(project("services/mailbox"), "services");
    assert_eq!(project("services/mail/src"), "mail");
    let (value, source) = setting_in(&home, "services/mail", &[], "environment");
    assert_eq!(value, "staging");
    assert!(source.ends_with("(path services/mail)"), "{source}");
}

#[test]
fn the_search_ends_at_the_repository_and_at_the_home_folder() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("clone/src")).unwrap();
    home.write(PROJECT_FILE, "project = \"outer\"");
    let project = || setting_in(&home, "clone/src", &[], "project").0;

    assert_eq!(project(), "outer");
    std::fs::create_dir(home.path("clone/.git")).unwrap();
    assert_eq!(project(), "");

    let nested = Home::new();
    std::fs::create_dir_all(nested.path("user/work")).unwrap();
    nested.write(PROJECT_FILE, "project = \"outer\"");
    let user = nested.path("user").display().to_string();
    let nested = nested.with("HOME", &user);
    assert_eq!(setting_in(&nested, "user/work", &[], "project").0, "");
}

#[test]
fn a_project_file_that_cannot_be_trusted_is_refused() {
    let home = Home::new();
    let refused = |rule: &str| home.run(&["status"]).fails(78, rule).stderr.clone();

    home.write(PROJECT_FILE, "projekt = \"web\"");
    assert!(refused("unknown field `projekt`").contains(PROJECT_FILE));
    home.write(PROJECT_FILE, "project = 1");
    refused("project = 1");
    home.write(PROJECT_FILE, "[paths.\"../other\"]\nproject = \"web\"");
    refused("paths must be relative");
    home.write(PROJECT_FILE, &format!("# {}\n", "x".repeat(300_000)));
    refused("at most 262144 bytes");
    home.write(PROJECT_FILE, "project = \"web\"");
    let path = home.path(PROJECT_FILE);
    std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    refused("writable by everybody");
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    home.ok(&["status"]);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused("must be a file");
}

#[test]
fn a_project_file_of_another_user_is_refused() {
    let home = Home::new();
    home.write(PROJECT_FILE, "project = \"web\"");
    let mut command = home.command(["status"]);
    if chown(home.path(PROJECT_FILE), Some(65_534), None).is_err() {
        // Only root can change the owner of a file. Other users run the program as root of a user
        // namespace, where files of the real root belong to another user.
        std::fs::remove_file(home.path(PROJECT_FILE)).unwrap();
        symlink("/etc/passwd", home.path(PROJECT_FILE)).unwrap();
        command = home.program("unshare", ["--user", "--map-root-user"]);
        command.arg(env!("CARGO_BIN_EXE_secrets")).arg("status");
    }

    crate::home::ended(command, "").fails(78, "belongs to another user");
}

#[test]
fn the_use_of_copies_is_a_setting() {
    let offline = |home: &Home, arguments: &[&str]| setting(home, arguments, "offline");
    let pair = |value: &str, source: &str| (value.to_owned(), source.to_owned());

    assert_eq!(offline(&Home::new(), &[]), pair("on", "default"));
    let ci = Home::new().with("CI", "true");
    assert_eq!(offline(&ci, &[]), pair("off", "variable CI"));
    let on = ci.with("SECRETS_OFFLINE", "on");
    assert_eq!(offline(&on, &[]), pair("on", "variable SECRETS_OFFLINE"));
    assert_eq!(offline(&on, &["--offline"]), pair("only", "option --offline"));
    assert_eq!(offline(&on, &["--no-offline"]), pair("off", "option --no-offline"));
    on.with("SECRETS_OFFLINE", "maybe").run(&["status"]).fails(78, "must be on, off or only");
}
