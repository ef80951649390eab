//! Tests that the program connects to the service only: no telemetry, and no check for updates.

use serde_json::json;

use crate::home::Home;
use crate::service::Scripted;

/// Creates a test user (`Home`) with this server, whose connections all go through a proxy.
fn behind(proxy: &Scripted, server: &str) -> Home {
    let names =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let home = proxy.home().with("SECRETS_URL", server);
    names.iter().fold(home, |home, name| home.with(name, &proxy.url))
}

/// Responses to the requests of the commands in [`COMMANDS`].
fn response(request: &str) -> String {
    let body = match request.rsplit('/').next().unwrap() {
        "me" => json!({ "name": "ci" }),
        "A" => json!({ "secret": { "key": "A", "version": 1, "value": "kvc_a" } }),
        "audit" => json!({ "logs": [] }),
        "projects" => json!({ "projects": [] }),
        "changes" => json!({
            "dry_run": false, "created": 1, "updated": 0, "same": 0, "hidden": 0, "deleted": 0,
            "described": 0, "changes": [],
        }),
        _ => json!({ "secrets": [] }),
    };
    body.to_string()
}

/// Commands that contact the service.
const COMMANDS: [&[&str]; 9] = [
    &["whoami"],
    &["list"],
    &["get", "A"],
    &["set", "A=kvc_a"],
    &["run", "--", "true"],
    &["run", "--init", "--", "true"],
    &["export"],
    &["project", "list"],
    &["api", "GET", "/audit"],
];

#[test]
fn each_connection_is_to_the_service() {
    let proxy = Scripted::start(|_, _| (502, String::new()));
    let home = behind(&proxy, "https://secrets.example.com");

    for words in COMMANDS {
        let code = if words[0] == "run" { 125 } else { 69 };
        home.run(words).fails(code, "https://secrets.example.com: ");
    }
    home.ok(&["status"]);
    home.run_with(&["login", "https://secrets.example.com", "--token-stdin"], "kvc_x")
        .fails(69, "");

    let requests = proxy.requests();
    assert!(requests.len() >= COMMANDS.len() + 2, "{requests:?}");
    for request in requests {
        assert_eq!(request, "CONNECT secrets.example.com:443");
    }
}

#[test]
fn each_request_of_a_command_that_succeeds_is_to_the_service() {
    // The proxy of this test can answer plain HTTP, but not HTTPS.
    let proxy = Scripted::start(|request, _| (200, response(request)));
    let home = behind(&proxy, "http://secrets.example.com");

    for words in COMMANDS {
        home.ok(&[&["--insecure-http"], words].concat());
    }

    let requests = proxy.requests();
    assert!(requests.len() >= COMMANDS.len(), "{requests:?}");
    for request in requests {
        assert!(request.contains(" http://secrets.example.com/api/v1/"), "{request}");
    }
}

#[test]
fn a_command_that_needs_no_service_makes_no_connection() {
    let proxy = Scripted::start(|_, _| (502, String::new()));
    let home = behind(&proxy, "https://secrets.example.com");
    home.write("file", "nothing\n");

    for words in [
        &["--version"][..],
        &["-V"],
        &["--help"],
        &["help", "run"],
        &["man"],
        &["completion", "bash"],
        &["scan"],
        &["open", "--print"],
    ] {
        home.ok(words);
    }

    assert!(proxy.requests().is_empty(), "{:?}", proxy.requests());
}
