//! Tests with servers that are slow or malicious, or whose responses never end: the program ends
//! with a clear error, and writes no control characters to a terminal.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::home::{Ended, Home};
use crate::script::Script;
use crate::service::Scripted;

/// Time in which each command of these tests must end. The time limit that is given to the commands
/// is at most 15 seconds.
const LIMIT: Duration = Duration::from_mins(1);

/// Control characters that clear a screen, change its title and colors, write to the clipboard, and
/// go back to the start of the line. Some are below U+0020; others are U+009B and U+009D.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\r\u{9b}31m\u{9d}52;c;aGFjaw==\u{9c}\u{7f}\u{8}";

/// Starts a server that calls `answer` for each connection, after it has received the head of the
/// first request. Returns a test user (`Home`) whose settings name the server.
fn serve(answer: impl Fn(TcpStream) + Send + Clone + 'static) -> Home {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 8_192]);
                answer(stream);
            });
        }
    });
    home(&url)
}

/// Creates a test user (`Home`) whose settings contain the address of the server, a token, a
/// project and an environment.
fn home(url: &str) -> Home {
    Home::new()
        .with("SECRETS_URL", url)
        .with("SECRETS_TOKEN", "kvc_token")
        .with("SECRETS_PROJECT", "web")
        .with("SECRETS_ENVIRONMENT", "staging")
}

/// Runs commands of different kinds with a short time limit, and checks that each fails in time
/// with this exit code and message. `run` must fail with 125.
#[track_caller]
fn each_fails(home: &Home, timeout: &str, code: i32, message: &str) {
    let commands: [(&[&str], i32); 4] = [
        (&["whoami"], code),
        (&["list"], code),
        (&["set", "A=kvc_a"], code),
        (&["run", "--", "true"], 125),
    ];
    for (words, code) in commands {
        let started = Instant::now();
        let ended = home.run(&[&["--timeout", timeout], words].concat());
        assert!(started.elapsed() < LIMIT, "{words:?}: {:?}", started.elapsed());
        ended.fails(code, message);
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        has_no_controls(&ended.stderr);
    }
}

#[track_caller]
fn has_no_controls(text: &str) {
    let control = text.chars().find(|c| c.is_control() && !"\n\t".contains(*c));
    assert_eq!(control, None, "{text:?}");
}

/// Writes `head`, and then `chunk` repeatedly with a pause after each, until the client closes the
/// connection.
fn endless(stream: &mut TcpStream, head: &str, chunk: &[u8], pause: Duration) {
    let mut result = stream.write_all(head.as_bytes());
    while result.is_ok() {
        thread::sleep(pause);
        result = stream.write_all(chunk);
    }
}

#[test]
fn a_silent_server_is_not_waited_for_longer_than_the_time_limit() {
    let silent = serve(|stream| {
        thread::sleep(LIMIT * 3);
        drop(stream);
    });

    each_fails(&silent, "500ms", 69, "no response in time");
}

#[test]
fn a_response_that_trickles_is_not_waited_for_longer_than_the_time_limit() {
    let pause = Duration::from_millis(20);
    let head = serve(move |mut stream| endless(&mut stream, "HTTP/1.1 200 OK\r\nx: ", b"a", pause));
    let body = serve(move |mut stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[";
        endless(&mut stream, head, b" ", pause);
    });

    each_fails(&head, "500ms", 69, "no response in time");
    each_fails(&body, "500ms", 69, "no response in time");
}

#[test]
fn interim_responses_without_end_are_not_waited_for() {
    let home = serve(|mut stream| {
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
        endless(&mut stream, "", interim, Duration::from_millis(1));
    });

    each_fails(&home, "500ms", 69, "");
}

#[test]
fn a_response_that_is_too_large_is_refused() {
    let announced = serve(|mut stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 1099511627776\r\n\r\n";
        endless(&mut stream, head, &[b' '; 16_384], Duration::ZERO);
    });

    each_fails(&announced, "15s", 76, "larger than any of the service");
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let home = serve(|mut stream| {
        endless(&mut stream, "HTTP/1.1 200 OK\r\nx: ", &[b'a'; 16_384], Duration::ZERO);
    });

    each_fails(&home, "2s", 69, "");
}

#[test]
fn a_server_of_another_kind_is_named_as_the_cause() {
    let respond = |response: &'static str| {
        serve(move |mut stream| drop(stream.write_all(response.as_bytes())))
    };
    let page = "content-type: text/html\r\nconnection: close\r\n\r\n<!doctype html><p>Sign in</p>";
    let page = |status: &str| -> &'static str { format!("HTTP/1.1 {status}\r\n{page}").leak() };

    each_fails(&respond(page("200 OK")), "15s", 76, "not what this version expects");
    each_fails(&respond(page("404 Not Found")), "15s", 76, "not the service's error format");
    each_fails(&respond(page("502 Bad Gateway")), "5s", 69, "not the service's error format");
    each_fails(&respond("SSH-2.0-OpenSSH_9.9\r\n"), "2s", 69, "");
    each_fails(&respond("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"), "2s", 69, "");
    let redirect =
        "HTTP/1.1 302 Found\r\nlocation: http://example.com/\r\ncontent-length: 0\r\n\r\n";
    each_fails(&respond(redirect), "15s", 76, "");
    let deep = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "[".repeat(100_000));
    each_fails(&respond(deep.leak()), "15s", 76, "not what this version expects");
    let binary =
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-encoding: gzip\r\n\r\n\u{1f}\u{8b}";
    each_fails(&respond(binary), "15s", 76, "not what this version expects");
}

#[test]
fn a_wait_that_no_clock_can_represent_is_not_begun() {
    for (status, wait) in [(429, u64::MAX), (503, u64::MAX), (429, 3_600)] {
        let home = serve(move |mut stream| {
            let body = r#"{"error":"later","code":"unavailable"}"#;
            let response = format!(
                "HTTP/1.1 {status} Later\r\nretry-after: {wait}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(response.as_bytes());
        });
        each_fails(&home, "5s", if status == 429 { 75 } else { 69 }, "later");
    }
}

#[test]
fn a_poll_interval_longer_than_the_code_ends_with_the_code() {
    let service = Scripted::start(|_, _| {
        let body = json!({
            "device_code": "kvc_x", "user_code": "A", "verification_uri": "http://127.0.0.1/device",
            "expires_in": 1, "interval": u64::MAX,
        });
        (200, body.to_string())
    });
    let started = Instant::now();

    Home::new().run(&["login", &service.url]).fails(67, "the code has expired");

    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
}

#[test]
fn a_log_whose_cursor_stays_the_same_is_refused() {
    let service =
        Scripted::start(|_, _| (200, json!({ "logs": [], "next_cursor": "x" }).to_string()));

    home(&service.url).run(&["audit"]).fails(76, "not what this version expects");

    assert_eq!(service.received().matches("GET ").count(), 2);
}

/// Starts a service whose responses contain the string [`HOSTILE`] in each name, value, time and
/// message.
fn hostile() -> Scripted {
    Scripted::start(|request, _| {
        let path = request.split('?').next().unwrap();
        let name = path.rsplit('/').next().unwrap();
        let object = json!({
            "id": HOSTILE, "name": HOSTILE, "slug": HOSTILE, "email": HOSTILE, "role": HOSTILE,
            "key": HOSTILE, "description": HOSTILE, "inherited_from": HOSTILE, "status": HOSTILE,
            "created_at": HOSTILE, "updated_at": HOSTILE, "updated_by": HOSTILE, "version": 1,
            "action": HOSTILE, "actor_name": HOSTILE, "resource_name": HOSTILE, "url": HOSTILE,
        });
        let cell = json!({ "state": "inherited", "version": 1, "from": HOSTILE });
        let body = match name {
            "me" => object,
            "changes" => json!({
                "dry_run": false, "created": 1, "updated": 0, "same": 0, "hidden": 0, "deleted": 0,
                "described": 0, "changes": [{
                    "environment": HOSTILE, "key": HOSTILE, "result": "created",
                    "previous_version": 0, "version": 1,
                }],
            }),
            "compare" => json!({
                "environments": [
                    { "id": "1", "name": "staging", "role": "read" },
                    { "id": "2", "name": "production", "role": "read" },
                    { "id": "3", "name": HOSTILE, "role": "read" },
                ],
                "keys": [{ "key": HOSTILE, "cells": [cell, null, cell] }],
            }),
            "VALUE" => {
                json!({ "secret": { "key": "VALUE", "version": 1, "value": format!("a{HOSTILE}\nb") } })
            }
            "REFUSED" => {
                let fields = json!([{ "field": HOSTILE, "message": HOSTILE, "key": HOSTILE }]);
                let body = json!({
                    "error": HOSTILE, "code": HOSTILE, "details": { "fields": fields },
                });
                return (400, body.to_string());
            }
            // The field with the list has the same name as the last segment of the path.
            _ => json!({ name.to_owned(): [object], "logs": [object], "next_cursor": null }),
        };
        (200, body.to_string())
    })
}

/// Commands that print strings from the responses of the service.
const COMMANDS: [&str; 14] = [
    "whoami",
    "status",
    "project list",
    "env list",
    "team list",
    "token list",
    "rotation list",
    "list",
    "list --all-environments",
    "diff staging production",
    "set A=kvc_a",
    "audit",
    "get REFUSED",
    "-v get VALUE",
];

#[test]
fn no_command_writes_control_characters_of_the_service_to_a_terminal() {
    let service = hostile();
    let home = home(&service.url).with("NO_COLOR", "1");

    for format in ["table", "json", "name"] {
        let program = env!("CARGO_BIN_EXE_secrets");
        let commands = COMMANDS.map(|command| format!("-o {format} {command}"));
        let commands = commands.join(&format!("; echo; {program} "));
        let (_, shown) = Script::start(&home, &commands).end();

        has_no_controls(&shown.replace("\r\n", "\n"));
        // The texts are printed, with the control characters replaced.
        let harmless = if format == "json" { r"\u009b31m" } else { "\u{fffd}31m" };
        assert!(shown.matches(harmless).count() >= COMMANDS.len() - 3, "{format}: {shown}");
        assert!(!shown.contains("panicked"), "{shown}");
    }
}

#[test]
fn errors_and_names_have_no_control_characters_in_files_either() {
    let service = hostile();
    let home = home(&service.url);
    let refused = |ended: &Ended| {
        has_no_controls(&ended.stderr);
        assert!(ended.stderr.contains("31m"), "{ended:?}");
    };

    refused(home.run(&["get", "REFUSED"]).fails(65, "\u{fffd}"));
    let ended = home.run(&["-o", "json", "get", "REFUSED"]);
    refused(&ended);
    let error: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(error["code"], HOSTILE);
    has_no_controls(&home.ok(&["list"]));
}

#[test]
fn a_value_is_unchanged_in_a_pipe_and_harmless_on_a_terminal() {
    let service = hostile();
    let home = home(&service.url).with("NO_COLOR", "1");
    let value = format!("a{HOSTILE}\nb");

    assert_eq!(home.ok(&["get", "VALUE"]), value);
    let (code, shown) = Script::start(&home, "get VALUE").end();

    assert_eq!(code, Some(0), "{shown}");
    has_no_controls(&shown.replace("\r\n", "\n"));
    assert!(shown.contains("a\u{fffd}[2J") && shown.contains("\nb"), "{shown}");
    assert!(shown.contains("control characters are not shown"), "{shown}");
}
