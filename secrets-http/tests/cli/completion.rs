//! Tests of the command `secrets completion`: the protocol between the completion script and the
//! program, and the script in real shells.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::home::{Home, until};
use crate::screen::Screen;
use crate::server::Server;

fn server_with_secrets() -> (Server, Home) {
    let server = Server::start();
    let home = server.home();
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    home.api("POST", "/projects", &json!({ "name": "Mail" }));
    for key in ["DATABASE_URL", "DATABASE_USER", "SMTP_HOST"] {
        let body = json!({ "key": key, "value": format!("kvc_{key}") });
        home.api("POST", "/projects/web/environments/staging/secrets", &body);
    }
    (server, home)
}

/// Returns the completion candidates for the last word of the command line `words`.
fn candidates(home: &Home, words: &[&str]) -> Vec<String> {
    let mut command = home.command([&["--", "secrets"], words].concat());
    command
        .env("_SECRETS_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let ended = crate::home::ended(command, "");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    ended.stdout.lines().map(str::to_owned).collect()
}

/// Waits until completion offers exactly these candidates. On a busy machine, a single completion
/// may reach its time limit.
fn offers(home: &Home, words: &[&str], expected: &[&str]) {
    until(|| {
        let mut offered = candidates(home, words);
        offered.sort();
        offered == expected
    });
}

fn cache(home: &Home) -> PathBuf {
    home.folder().join(".cache/secrets/names.json")
}

#[test]
fn names_are_completed_from_the_service() {
    let (_server, home) = server_with_secrets();

    offers(&home, &["-p", ""], &["mail", "web"]);
    offers(&home, &["list", "--project", "w"], &["web"]);
    offers(&home, &["-p", "web", "-e", ""], &["development", "production", "staging"]);
    let words = ["-p", "web", "-e", "staging", "get", "DATA"];
    offers(&home, &words, &["DATABASE_URL", "DATABASE_USER"]);
    assert!(candidates(&home, &["log"]).contains(&"login".to_owned()));
}

#[test]
fn names_are_kept_for_a_time_without_values() {
    let (mut server, home) = server_with_secrets();
    let words = ["-p", "web", "-e", "staging", "get", "SMTP"];
    offers(&home, &words, &["SMTP_HOST"]);
    let text = std::fs::read_to_string(cache(&home)).unwrap();
    assert_eq!(std::fs::metadata(cache(&home)).unwrap().mode() & 0o777, 0o600);
    assert!(!text.contains("kvc_") && !text.contains(&server.token));

    // Recently loaded names come from the cache, because the service is not running.
    server.kill();
    assert_eq!(candidates(&home, &words), ["SMTP_HOST"]);
    assert!(candidates(&home, &["-p", ""]).is_empty());

    // Old names are loaded again, or used if the service is not running.
    let aged = text.replace("\"loaded_at\":\"20", "\"loaded_at\":\"19");
    std::fs::write(cache(&home), aged).unwrap();
    assert_eq!(candidates(&home, &words), ["SMTP_HOST"]);
    server.restart();
    let home = home.with("SECRETS_TOKEN", &server.token);
    home.ok(&["api", "DELETE", "projects/web/environments/staging/secrets/SMTP_HOST"]);
    offers(&home, &words, &[]);
}

#[test]
fn completion_is_silent_and_quick_without_a_service() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let home = Home::new().with("SECRETS_URL", &url).with("SECRETS_TOKEN", "kvc_token");

    let started = std::time::Instant::now();
    assert!(candidates(&home, &["-p", ""]).is_empty());
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(candidates(&Home::new(), &["-p", ""]).is_empty());
    let broken = Home::new();
    broken.write("secrets-project.toml", "unknown = 1");
    assert!(candidates(&broken, &["-p", ""]).is_empty());
}

#[test]
fn a_name_with_characters_of_a_shell_is_not_offered() {
    let service = crate::service::Scripted::start(|_, _| {
        let projects = json!([{ "slug": "$(touch x)" }, { "slug": "web" }, { "slug": "a b" }]);
        (200, json!({ "projects": projects }).to_string())
    });
    let home = Home::new().with("SECRETS_URL", &service.url).with("SECRETS_TOKEN", "kvc_token");

    offers(&home, &["-p", ""], &["web"]);
}

#[test]
fn each_shell_has_a_script() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = home.ok(&["completion", shell]);
        assert!(script.contains("_SECRETS_COMPLETE"), "{shell}: {script}");
        assert!(script.contains(env!("CARGO_BIN_EXE_secrets")), "{shell}: {script}");
    }
    home.run(&["completion", "tcsh"]).fails(64, "invalid value");
}

#[test]
fn a_key_is_completed_by_tab() {
    let (_server, home) = server_with_secrets();
    let home = home.with("SECRETS_PROJECT", "web").with("SECRETS_ENVIRONMENT", "staging");
    // This call writes the names to the cache.
    offers(&home, &["get", "SMTP"], &["SMTP_HOST"]);
    let load = "source <(secrets completion bash)";
    in_shell(&home, "bash --norc --noprofile -i", load);
    in_shell(
        &home,
        "zsh -f -i",
        "autoload -U compinit; compinit -u -D; source <(secrets completion zsh)",
    );
    in_shell(&home, "fish --no-config -i", "secrets completion fish | source");
}

/// Loads the completion script in a shell, which must be installed, and checks that Tab completes
/// the start of a key.
fn in_shell(home: &Home, shell: &str, load: &str) {
    let program = shell.split(' ').next().unwrap();
    let version = Command::new(program).arg("--version").output();
    assert!(version.is_ok(), "this test needs bash, zsh and fish; {program} is not installed");
    let screen = Screen::start_with(home, shell);
    screen.keys(&[load, "Enter"]);
    screen.keys(&["echo lo''aded", "Enter"]);
    screen.shows("loaded");
    screen.keys(&["secrets get SMTP", "Tab"]);
    screen.shows("secrets get SMTP_HOST");
}
