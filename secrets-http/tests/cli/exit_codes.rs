//! Test of the exit codes for responses that are errors.

use serde_json::{Value, json};

use crate::home::Home;
use crate::service::Scripted;

/// Responses, each with the HTTP status, the error code (`None` if the response is not from the
/// service), the exit code, and the meaning of the exit code in the output of `secrets --help`.
const RESPONSES: [(u16, Option<&str>, i32, &str); 15] = [
    (400, Some("validation_failed"), 65, "invalid input"),
    (400, Some("already_exists"), 71, "conflict"),
    (401, Some("unauthorized"), 67, "not signed in"),
    (403, Some("plan_limit_exceeded"), 77, "forbidden"),
    (403, Some("forbidden"), 77, "forbidden"),
    (404, Some("not_found"), 68, "not found"),
    (409, Some("version_conflict"), 71, "conflict"),
    (429, Some("rate_limited"), 75, "rate limited"),
    (500, Some("internal"), 69, "service unreachable"),
    (503, Some("unavailable"), 69, "service unreachable"),
    (200, None, 76, "unreadable response"),
    (403, None, 76, "unreadable response"),
    (404, None, 76, "unreadable response"),
    (429, None, 75, "rate limited"),
    (502, None, 69, "service unreachable"),
];

#[test]
fn each_response_has_its_documented_exit_code() {
    let help = Home::new().ok(&["--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");

    for (status, error, expected, meaning) in RESPONSES {
        let garbage = || "<!doctype html>".to_owned();
        let body = |error| json!({ "error": "the message", "code": error }).to_string();
        let body = error.map_or_else(garbage, body);
        let home = Scripted::start(move |_, _| (status, body.clone())).home();

        for words in [&["whoami"][..], &["list"], &["get", "A"], &["set", "A=kvc_a"]] {
            let ended = home.run(&[&["-o", "json"], words].concat());
            assert_eq!(ended.code, Some(expected), "{status} {error:?}: {words:?}: {ended:?}");
            let shown: Value = serde_json::from_str(&ended.stderr).unwrap();
            assert_eq!(shown["code"].as_str(), error, "{shown}");
        }
        home.run(&["run", "--", "true"]).fails(125, "");
        assert!(help.contains(&format!("; {expected} {meaning};")), "{expected} {meaning}: {help}");
    }
}
