//! Tests of paths and queries in request lines: the server refuses forms that programs could
//! interpret differently.

use secrets_tests::{App, Reply, in_memory, paths};
use serde_json::json;

/// Sends a GET request with exactly this request target (path and query). An HTTP client would
/// normalize the target.
async fn ask(app: &App, credential: &str, target: &str) -> Reply {
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {credential}\r\n\r\n"
    );
    app.wire(&[request.as_bytes()]).await
}

async fn an_ambiguous_path_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let jwt = app.jwt("alice");
    let body = json!({
        "error": "the path must consist of unambiguous segments, percent-encoded once",
        "code": "invalid_request",
    });
    let tricks = [
        "//KEY",
        "/./KEY",
        "/x/../KEY",
        "/%2e/KEY",
        "/x/%2E%2e/KEY",
        "/.%2e/KEY",
        "/x%2fKEY",
        "/x%5cKEY",
        "/KEY%00",
        "/KEY%0a",
        "/KEY%7f",
        "/KEY%ff",
        "/KEY%c0%af",
        "/KEY%",
        "/KEY%4",
        "/KEY%zz",
        "/..",
        "/%2e%2e",
    ];

    for trick in tricks {
        let reply = ask(&app, &jwt, &format!("{}{trick}", paths::secrets(&web, "staging"))).await;

        assert_eq!(reply.is(400).json(), body, "{trick}");
    }
}

async fn an_invalid_path_is_400(app: App) {
    let jwt = app.jwt("alice");

    for target in
        ["/api/v1/teams\\x", "/api/v1/t\u{e9}ams", "/api/v1/te\x7fams", "/api v1", "nothing"]
    {
        let reply = ask(&app, &jwt, target).await;

        reply.is(400);
    }
}

async fn a_path_is_decoded_once(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let jwt = app.jwt("alice");
    let encoded = paths::secret("/%61pi/v1/projects/w%65b", "%73taging", "%4BEY");

    ask(&app, &jwt, &encoded).await.is(200);

    for twice in ["%254BEY", "%252e%252e", "KEY%2520"] {
        let reply = ask(&app, &jwt, &paths::secret(&web, "staging", twice)).await;
        reply.is(404).says("secret not found");
    }
}

async fn a_slash_at_the_end_names_nothing(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let paths = [
        "/health/".to_owned(),
        "/api/v1/".to_owned(),
        "/api/v1/teams/".to_owned(),
        format!("{web}/"),
        format!("{}/", paths::secrets(&web, "staging")),
        format!("{}/", paths::secret(&web, "staging", "export")),
    ];

    for path in paths {
        alice.get(&path).await.is(404).says("resource not found");
    }
}

async fn a_path_is_read_in_its_own_case(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    alice.get("/API/V1/teams").await.is(404).says("resource not found");
    alice.get("/api/v1/Teams").await.is(404).says("resource not found");
    alice.get(&paths::secret(&web, "staging", "EXPORT")).await.is(404).says("secret not found");
}

async fn a_semicolon_is_an_ordinary_character(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    alice.get(&paths::secret(&web, "staging", "KEY;v=1")).await.is(404).says("secret not found");
    alice.get("/api/v1/teams;v=1").await.is(404).says("resource not found");
    alice
        .get(&paths::secret(&web, "staging;v=1", "KEY"))
        .await
        .is(404)
        .says("environment not found");
}

async fn an_error_does_not_repeat_the_path(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let jwt = app.jwt("alice");
    let paths = [
        "/api/v1/kvc_path".to_owned(),
        "/api/v1/projects/kvc_path".to_owned(),
        "/api/v1/../kvc_path".to_owned(),
        paths::environment(&web, "kvc_path"),
        paths::secret(&web, "staging", "kvc_path"),
        "/api/v1/tokens?team_id=kvc_path".to_owned(),
        "/kvc_path?kvc_path=kvc_path".to_owned(),
    ];

    for path in paths {
        let reply = ask(&app, &jwt, &path).await;

        assert!(reply.status >= 400 && !reply.text().contains("kvc_"), "{path}: {}", reply.text());
        assert!(
            reply.headers.values().all(|value| !value.as_bytes().starts_with(b"kvc_")),
            "{path}"
        );
    }
}

async fn the_query_of_other_endpoints_is_ignored(app: App) {
    let alice = app.person("alice").await;

    alice.get("/api/v1/teams?limit=1&limit=2&%ff=%zz&&=").await.is(200);
    app.anonymous().get("/health?verbose").await.is(200);
    app.anonymous().get("/api/v1?").await.is(200);
}

async fn a_request_may_name_the_whole_address(app: App) {
    app.person("alice").await;
    let jwt = app.jwt("alice");

    ask(&app, &jwt, &format!("http://{}/api/v1/users/me", app.address)).await.is(200);
    ask(&app, &jwt, "http://elsewhere.example/api/v1/users/me").await.is(200);
}

in_memory![
    an_ambiguous_path_is_400,
    an_invalid_path_is_400,
    a_path_is_decoded_once,
    a_slash_at_the_end_names_nothing,
    a_path_is_read_in_its_own_case,
    a_semicolon_is_an_ordinary_character,
    an_error_does_not_repeat_the_path,
    the_query_of_other_endpoints_is_ignored,
    a_request_may_name_the_whole_address,
];
