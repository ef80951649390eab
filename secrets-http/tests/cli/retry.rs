//! Tests of requests that are sent again after a response with the header `Retry-After`.

use std::time::Duration;

use serde_json::json;

use crate::service::Scripted;

/// Starts a service that refuses the first request of each method and path with this status and
/// this number of seconds in the header `Retry-After`, and accepts the following requests.
fn refusing_once(status: u16, seconds: u64) -> Scripted {
    Scripted::start_with_headers(move |_, number| match number {
        0 => {
            let body = json!({ "error": "later", "code": "unavailable" });
            (status, format!("retry-after: {seconds}\r\n"), body.to_string())
        }
        _ => (200, String::new(), json!({ "name": "ci", "slug": "web" }).to_string()),
    })
}

#[test]
fn a_read_is_repeated_after_the_time_that_the_service_asks_for() {
    for status in [429, 503] {
        let service = refusing_once(status, 1);

        assert_eq!(service.home().ok(&["-o", "name", "whoami"]), "ci\n");

        let times = service.times("GET /api/v1/users/me");
        assert_eq!(times.len(), 2);
        assert!(times[1] - times[0] >= Duration::from_secs(1));
    }
}

#[test]
fn a_change_is_repeated_only_if_it_was_not_begun() {
    let create = ["-o", "name", "project", "create", "Web"];
    let (limited, unavailable) = (refusing_once(429, 1), refusing_once(503, 1));

    assert_eq!(limited.home().ok(&create), "web\n");
    unavailable.home().run(&create).fails(69, "later");

    assert_eq!(limited.requests(), ["POST /api/v1/projects"; 2]);
    assert_eq!(unavailable.requests(), ["POST /api/v1/projects"]);
}

#[test]
fn a_wait_beyond_the_time_limit_is_not_begun() {
    let service = refusing_once(429, 60);

    service.home().run(&["--timeout", "30s", "whoami"]).fails(75, "later");

    assert_eq!(service.requests(), ["GET /api/v1/users/me"]);
}
