//! Tests of the command `secrets audit`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::home::{Home, wait};
use crate::server::Server;
use crate::service::Scripted;

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
fn entries_are_filtered_by_ids_keys_and_addresses() {
    let server = Server::start();
    let home = server.home();
    let id = |object: Value| object["id"].as_str().unwrap().to_owned();
    let web = id(home.api("POST", "/projects", &json!({ "name": "Web" })));
    home.api("POST", "/projects", &json!({ "name": "Other" }));
    let staging = id(home.api("GET", "/projects/web/environments/staging", &Value::Null));
    for (environment, key) in [("staging", "A"), ("staging", "B"), ("production", "A")] {
        let path = format!("/projects/web/environments/{environment}/secrets");
        home.api("POST", &path, &json!({ "key": key, "value": "kvc_a" }));
    }
    let user = id(home.api("GET", "/users/me", &Value::Null));
    let token = home.ok(&["-p", "web", "token", "create", "ci"]);
    let reader = server.home().with("SECRETS_TOKEN", token.trim_end());
    let token = id(reader.api("GET", "/users/me", &Value::Null));
    reader.ok(&["-p", "web", "-e", "staging", "get", "A"]);

    let logs = |filter: &[&str]| -> Vec<Value> {
        let printed = home.ok(&[&["audit", "--format", "ndjson", "-n", "200"], filter].concat());
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    // The hashes of an entry are added later.
    let ids =
        |entries: &[&Value]| entries.iter().map(|entry| entry["id"].clone()).collect::<Vec<_>>();
    let all = logs(&[]);
    for (option, field, value) in [
        ("--actor-id", "actor_id", user.as_str()),
        ("--actor-id", "actor_id", &token),
        ("--actor-type", "actor_type", "service_token"),
        ("--project-id", "project_id", &web),
        ("--environment-id", "environment_id", &staging),
        ("--resource-id", "resource_id", &web),
        ("--resource-type", "resource_type", "secret"),
        ("--key", "resource_name", "B"),
    ] {
        let expected: Vec<_> = all.iter().filter(|entry| entry[field] == value).collect();
        assert!(!expected.is_empty() && expected.len() < all.len(), "{option} {value}: {all:#?}");
        let listed = logs(&[option, value]);
        let listed: Vec<_> = listed.iter().collect();
        assert_eq!(ids(&listed), ids(&expected), "{option} {value}");
    }
    assert!(!logs(&["--ip", "127.0.0.1"]).is_empty());
    assert!(logs(&["--ip", "192.0.2.1"]).is_empty());
    assert!(logs(&["--to", "2020-01-01T00:00:00Z", "--from", "2019-01-01T00:00:00Z"]).is_empty());
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

#[test]
fn the_chain_of_a_team_is_verified() {
    let server = Server::start();
    let home = server.home();
    home.api("POST", "/projects", &json!({ "name": "Web" }));

    let line = home.ok(&["audit", "--verify"]);

    assert!(line.starts_with("chain valid: ") && line.ends_with(" not yet sealed\n"), "{line}");
    let printed = home.ok(&["-o", "json", "audit", "--verify"]);
    let chain: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&chain["status"], &chain["unchecked"]), (&json!("valid"), &json!(0)));
    home.run(&["audit", "--verify", "--key", "A"]).fails(64, "cannot be used with");
}

#[test]
fn a_broken_chain_is_exit_code_1() {
    for (position, line) in [
        (json!(7), "chain broken at entry 7\n"),
        (Value::Null, "chain broken: its stored start or end was changed or deleted\n"),
    ] {
        let service = Scripted::start(move |request, _| {
            let body = match request.rsplit('/').next() {
                Some("verification") => json!({
                    "status": "broken", "checked": 0, "unchecked": 0, "unsealed": 0,
                    "broken_position": position,
                }),
                _ => json!({ "team_id": "1" }),
            };
            (200, body.to_string())
        });

        let ended = service.home().run(&["audit", "--verify"]);

        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), line), "{ended:?}");
        let path = "GET /api/v1/teams/1/audit/verification";
        assert_eq!(service.requests().last().map(String::as_str), Some(path));
    }
}

#[test]
fn a_page_without_entries_is_not_the_last_page() {
    let service = Scripted::start(|request, _| {
        let body = match request.split_once("&cursor=") {
            None => json!({ "logs": [], "next_cursor": "a" }),
            Some((_, "a")) => json!({ "logs": [], "next_cursor": "b" }),
            Some(_) => json!({ "logs": [{ "id": "1", "action": "secret.read" }] }),
        };
        (200, body.to_string())
    });

    let printed = service.home().ok(&["audit", "--format", "ndjson"]);

    assert!(printed.contains("secret.read"), "{printed}");
    assert_eq!(service.requests().len(), 3);
}

/// Starts a service whose log is empty at first. The first request for new entries is refused, and
/// the second returns one.
fn refusing_new_entries_once() -> Scripted {
    Scripted::start(|request, number| match (request.contains("order=asc"), number) {
        (false, _) => (200, json!({ "logs": [] }).to_string()),
        (true, 0) => (503, json!({ "error": "later", "code": "unavailable" }).to_string()),
        (true, _) => (200, json!({ "logs": [{ "id": "1", "action": "secret.read" }] }).to_string()),
    })
}

/// Follows the log with further options until the first entry is printed, and returns the entry.
fn first_followed(home: &Home, options: &[&str]) -> Value {
    let words = [&["-o", "json", "audit", "--follow"], options].concat();
    let mut child = home
        .command(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next();
    child.kill().unwrap();
    child.wait().unwrap();
    serde_json::from_str(&line.unwrap().unwrap()).unwrap()
}

#[test]
fn following_an_empty_log_begins_at_the_start_and_continues_after_a_failure() {
    let service = refusing_new_entries_once();

    assert_eq!(first_followed(&service.home(), &[])["action"], "secret.read");

    let requests = service.requests();
    assert!(requests[..2].iter().all(|request| !request.contains("from=")), "{requests:?}");
    assert!(requests[2..].iter().all(|request| request.contains("from=")), "{requests:?}");
}

#[test]
fn following_without_earlier_entries_does_not_read_them() {
    let service = refusing_new_entries_once();

    assert_eq!(first_followed(&service.home(), &["-n", "0"])["action"], "secret.read");

    let requests = service.requests();
    let is_new = |request: &String| request.contains("order=asc") && request.contains("from=");
    assert!(requests[1..].iter().all(is_new), "{requests:?}");
}

#[test]
fn following_compares_the_start_as_a_time() {
    for (start, expected) in [
        ("2027-01-31T10:00:00-05:00", "from=2027-01-31T15%3A00%3A00.000000Z"),
        ("2027-01-31T13:00:00+05:00", "from=2027-01-31T11%3A59%3A30.000000Z"),
    ] {
        let service = Scripted::start_with_headers(|request, _| {
            let logs = if request.contains("order=asc") {
                json!([{ "id": "1", "action": "secret.read" }])
            } else {
                json!([])
            };
            let date = "date: Sun, 31 Jan 2027 12:00:00 GMT\r\n".to_owned();
            (200, date, json!({ "logs": logs }).to_string())
        });

        first_followed(&service.home(), &["--from", start]);

        let requests = service.requests();
        let is_new = |request: &&String| request.contains("order=asc");
        let new = requests.iter().find(is_new).unwrap();
        assert!(new.contains(expected), "{start}: {new}");
    }
}

#[test]
fn following_from_a_start_that_is_not_a_time_is_refused() {
    let service = refusing_new_entries_once();

    let ended = service.home().run(&["audit", "--follow", "-n", "0", "--from", "yesterday"]);

    ended.fails(65, "--from: must be a time such as");
}
