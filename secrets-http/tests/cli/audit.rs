//! Tests of the command `secrets audit`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::home::wait;
use crate::server::Server;

#[test]
fn entries_are_filtered_and_limited() {
    let server = Server::start();
    let home = server.home();
    for name in ["A", "B", "C"] {
        home.api("POST", "/projects", &json!({ "name": name }));
    }
    let audit = |arguments: &[&str]| home.ok(&[&["audit"], arguments].concat());

    assert_eq!(audit(&["--action", "project.created", "-o", "name"]).lines().count(), 3);
    let logs: Value = serde_json::from_str(&audit(&["-o", "json", "-n", "2"])).unwrap();
    assert_eq!(logs["logs"].as_array().unwrap().len(), 2);
    let oldest = audit(&["--format", "ndjson", "--reverse", "--action", "project.*", "-n", "1"]);
    let oldest: Value = serde_json::from_str(&oldest).unwrap();
    assert_eq!(oldest["resource_name"], "A");
    assert_eq!(audit(&["--outcome", "denied"]), "");
    home.run(&["audit", "--project-id", "none"]).fails(65, "project_id");
    home.run(&["audit", "--outcome", "other"]).fails(64, "possible values");
}

#[test]
fn more_entries_than_a_page_are_read() {
    const ENTRIES: usize = 230;
    let server = Server::start();
    let home = server.home();
    home.api("POST", "/projects", &json!({ "name": "Web" }));
    let path = "/projects/web/environments/staging/secrets";
    home.api("POST", path, &json!({ "key": "KEY", "value": "kvc_a" }));
    for _ in 0..ENTRIES {
        read(&server, &format!("/api/v1{path}/KEY"));
    }

    let reads = |limit: &str| {
        home.ok(&["audit", "--action", "secret.read", "--format", "ndjson", "-n", limit])
    };

    assert_eq!(reads("1000").lines().count(), ENTRIES);
    assert_eq!(reads("210").lines().count(), 210);
    assert!(!reads("1").contains("kvc_"));
}

/// Sends a GET request directly over HTTP. This is faster than starting the program under test.
fn read(server: &Server, path: &str) {
    let address = server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        server.token
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

#[test]
fn following_prints_new_entries_once_until_ctrl_c() {
    let server = Server::start();
    let home = server.home();
    home.api("POST", "/projects", &json!({ "name": "First" }));
    let mut child = home
        .command(["-o", "json", "audit", "--follow", "--action", "project.created"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };

    assert_eq!(next()["resource_name"], "First");
    home.api("POST", "/projects", &json!({ "name": "Second" }));
    assert_eq!(next()["resource_name"], "Second");
    home.api("POST", "/projects", &json!({ "name": "Third" }));
    assert_eq!(next()["resource_name"], "Third");

    let pid = Pid::from_raw(child.id().try_into().unwrap());
    kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(wait(&mut child), Some(130));
}
