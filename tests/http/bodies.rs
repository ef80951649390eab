//! Tests of request bodies: size, media type, and errors.

use hyper::Method;
use secrets_tests::{App, Client, Reply, canary, in_memory, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

const TEAMS: &str = "/api/v1/teams";
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn post(client: &Client, body: impl Into<Vec<u8>>) -> Reply {
    client.raw(Method::POST, TEAMS, &JSON, body.into()).await
}

/// Returns the head of a POST request with `Connection: close`, without the headers that describe
/// the body.
fn head(path: &str, credential: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {credential}\r\n"
    )
}

/// Creates a JSON document whose length is this number of bytes.
fn padded(length: usize) -> Vec<u8> {
    let mut body = json!({ "name": "Ops" }).to_string().into_bytes();
    body.resize(length, b' ');
    body
}

async fn a_body_of_more_than_a_mebibyte_is_413(app: App) {
    let alice = app.person("alice").await;

    post(&alice, padded(1_048_576)).await.is(201);

    let error = "the body must be at most 1048576 bytes";
    let body = json!({ "error": error, "code": "invalid_request" });
    assert_eq!(post(&alice, padded(1_048_577)).await.is(413).json(), body);
}

/// Checks that clients without an account cannot use up the memory of the service.
async fn a_body_without_a_credential_has_at_most_64_kibibytes(app: App) {
    let anyone = app.anonymous();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let body = |length: usize| "x".repeat(length);

    for path in ["/api/v1/auth/cli/device", "/api/v1/auth/cli/token", "/device"] {
        let longest = anyone.raw(Method::POST, path, &form, body(65_536)).await;
        let longer = anyone.raw(Method::POST, path, &form, body(65_537)).await;

        assert_ne!(longest.status, 413, "{path}");
        longer.is(413);
    }
}

async fn a_chunked_body_is_counted_as_it_arrives(app: App) {
    app.person("alice").await;
    let head = head(TEAMS, &app.jwt("alice")) + "Transfer-Encoding: chunked\r\n\r\n";
    let chunk = [b"10000\r\n".as_slice(), vec![b' '; 65_536].as_slice(), b"\r\n"].concat();
    let mut pieces = vec![head.as_bytes()];
    pieces.extend([chunk.as_slice(); 17]);

    // The body has no end, but the server responds.
    let reply = app.wire(&pieces).await;

    reply.is(413).says("the body must be at most 1048576 bytes");
}

async fn an_import_may_have_16_mebibytes(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let bulk = paths::secret(&web, "staging", "bulk");
    let value = format!("kvc_{}", "\u{1}".repeat(65_000));
    let secrets: Vec<_> =
        (0..30).map(|n| json!({ "key": format!("K{n}"), "value": value })).collect();
    let large = json!({ "secrets": secrets });
    assert!(large.to_string().len() > 10 * 1_048_576);

    alice.post(&bulk, &large).await.is(200);

    let too_large = alice.raw(Method::POST, &bulk, &JSON, vec![b' '; 16 * 1_048_576 + 1]).await;
    too_large.is(413).says("the body must be at most 16777216 bytes");
}

async fn a_body_is_not_read_for_a_caller_of_the_wrong_kind(app: App) {
    let head = format!(
        "POST {TEAMS} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9999999\r\n\r\n"
    );

    let reply = app.wire(&[head.as_bytes()]).await;

    reply.is(401);
}

async fn invalid_json_is_400(app: App) {
    let alice = app.person("alice").await;
    let cases: [(&str, &[u8]); 14] = [
        ("nothing", b""),
        ("space", b" \n"),
        ("half a document", b"{\"name\": \"Ops\""),
        ("no document", b"name=Ops"),
        ("two documents", b"{\"name\":\"A\"}{\"name\":\"B\"}"),
        ("more behind it", b"{\"name\":\"A\"} x"),
        ("single quotes", b"{'name':'A'}"),
        ("a comma at the end", b"{\"name\":\"A\",}"),
        ("a comment", b"{\"name\":\"A\"/**/}"),
        ("a byte order mark", b"\xef\xbb\xbf{\"name\":\"A\"}"),
        ("not UTF-8", b"{\"name\":\"\xff\"}"),
        ("half a surrogate pair", b"{\"name\":\"\\ud800\"}"),
        ("a control character", b"{\"name\":\"a\x01b\"}"),
        ("UTF-16", b"{\0\"\0n\0"),
    ];

    for (case, bytes) in cases {
        let reply = post(&alice, bytes).await;

        assert_eq!(
            reply.is(400).json(),
            json!({
                "error": "body must be a JSON document",
                "code": "invalid_request",
                "details": { "fields": [{ "field": "body", "message": "must be a JSON document" }] },
            }),
            "{case}"
        );
    }
}

async fn a_body_is_an_object(app: App) {
    let alice = app.person("alice").await;

    for body in ["[]", "[\"Ops\"]", "\"Ops\"", "7", "true", "null"] {
        let reply = post(&alice, body).await;

        reply.is(400).code("invalid_request").says("body must be an object");
    }
}

async fn depth_does_no_harm(app: App) {
    let alice = app.person("alice").await;
    let deep = format!("{}{}", "[".repeat(400_000), "]".repeat(400_000));

    post(&alice, format!("{{\"name\":\"Ops\",\"ignored\":{deep}}}")).await.is(201);
    post(&alice, format!("{{\"name\":{deep}}}")).await.is(400).says("name must be a string");
    post(&alice, deep).await.is(400).says("body must be an object");
}

async fn a_field_given_twice_is_400(app: App) {
    let alice = app.person("alice").await;

    let reply = post(&alice, "{\"name\":\"kvc_a\",\"name\":\"kvc_b\"}").await;

    reply.is(400).code("invalid_request");
    assert!(!reply.text().contains("kvc_"));
}

async fn unknown_fields_are_ignored(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let also = |mut body: Value| {
        body["id"] = json!("mine");
        body["constructor"] = json!({ "x": [1, null] });
        body
    };

    alice.post(TEAMS, &also(json!({ "name": "Ops" }))).await.is(201);
    alice.post("/api/v1/projects", &also(json!({ "name": "Shop" }))).await.is(201);
    alice.patch(&web, &also(json!({ "name": "Web 2" }))).await.is(200);
    alice.post(&paths::environments(&web), &also(json!({ "name": "preview" }))).await.is(201);
    let secret = also(json!({ "key": "KEY", "value": "kvc_value" }));
    alice.post(&paths::secrets(&web, "staging"), &secret).await.is(201);
    alice
        .put(&paths::secret(&web, "staging", "KEY"), &also(json!({ "value": "kvc_two" })))
        .await
        .is(200);
    let secrets = json!({ "secrets": [also(json!({ "key": "NEW", "value": "kvc_new" }))] });
    alice.post(&paths::secret(&web, "staging", "bulk"), &also(secrets)).await.is(200);
}

async fn a_wrong_type_is_400_and_the_value_is_not_repeated(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let (secrets, bulk, key) = (
        paths::secrets(&web, "staging"),
        paths::secret(&web, "staging", "bulk"),
        paths::secret(&web, "staging", "KEY"),
    );
    let sent = canary("echo");
    let cases = [
        (Method::POST, TEAMS, json!({ "name": [sent] }), "name"),
        (Method::POST, TEAMS, json!({ "name": { "kvc_field": sent } }), "name"),
        (Method::POST, "/api/v1/projects", json!({ "name": "A", "team_id": sent }), "team_id"),
        (Method::POST, "/api/v1/projects", json!({ "name": "A", "slug": sent }), "slug"),
        (Method::PATCH, &web, json!({ "description": [sent] }), "description"),
        (Method::POST, &secrets, json!({ "key": [sent], "value": "kvc_x" }), "key"),
        (Method::POST, &secrets, json!({ "key": "A", "value": { "x": sent } }), "value"),
        (
            Method::POST,
            &secrets,
            json!({ "key": format!("{sent} {sent}"), "value": "kvc_x" }),
            "key",
        ),
        (
            Method::PUT,
            &key,
            json!({ "value": "kvc_x", "expected_version": sent }),
            "expected_version",
        ),
        (Method::PUT, &key, json!({ "hidden": sent }), "hidden"),
        (Method::POST, &bulk, json!({ "secrets": sent }), "secrets"),
        (Method::POST, &bulk, json!({ "secrets": [sent] }), "secrets[0]"),
        (Method::POST, &bulk, json!({ "secrets": [], "overwrite": sent }), "overwrite"),
        (Method::POST, "/api/v1/tokens", json!({ "name": "A", "expires_at": sent }), "expires_at"),
        (
            Method::POST,
            "/api/v1/tokens",
            json!({ "name": "A", "permissions": [sent] }),
            "permissions[0]",
        ),
    ];

    for (method, path, body, field) in cases {
        let reply = alice.json(method, path, &body).await;

        reply.is(400).names(field);
        assert!(!reply.text().contains("kvc_"), "{}", reply.text());
    }
}

async fn an_error_uses_the_terms_of_the_api(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let key = paths::secret(&web, "staging", "KEY");

    let text = alice.post(TEAMS, &json!({ "name": 7 })).await;
    let number = alice.put(&key, &json!({ "value": "kvc_x", "expected_version": "1" })).await;
    let truth = alice.put(&key, &json!({ "hidden": 1 })).await;
    let object =
        alice.post(&paths::secret(&web, "staging", "bulk"), &json!({ "secrets": [7] })).await;

    text.is(400).says("name must be a string");
    number.is(400).says("expected_version must be a whole number");
    truth.is(400).says("hidden must be a boolean");
    object.is(400).says("secrets[0] must be an object");
}

async fn json_may_be_named_in_any_way_or_not_at_all(app: App) {
    let alice = app.person("alice").await;
    let body = r#"{"name":"Ops"}"#;

    alice.raw(Method::POST, TEAMS, &[], body).await.is(201);
    for kind in
        ["application/json", "application/json; charset=utf-8", "Application/JSON ;charset=UTF-8"]
    {
        alice.raw(Method::POST, TEAMS, &[("content-type", kind)], body).await.is(201);
    }
}

async fn another_kind_of_body_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let kinds = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "",
        "text/json",
    ];

    for kind in kinds {
        let headers = [("content-type", kind)];
        let reply = alice.raw(Method::POST, TEAMS, &headers, r#"{"name":"Ops"}"#).await;
        reply.is(400).says("Content-Type must be application/json");
    }
    let bulk = paths::secret(&web, "staging", "bulk");
    alice.raw(Method::POST, &bulk, &[("content-type", "text/csv")], "A=kvc_a").await.is(400);
}

async fn a_body_is_not_unpacked(app: App) {
    let alice = app.person("alice").await;
    let encoded = |encoding| [("content-type", "application/json"), ("content-encoding", encoding)];
    let body = r#"{"name":"Ops"}"#;

    alice.raw(Method::POST, TEAMS, &encoded("identity"), body).await.is(201);

    for encoding in ["gzip", "br", "deflate", "identity, gzip"] {
        let reply = alice.raw(Method::POST, TEAMS, &encoded(encoding), body).await;
        reply.is(400).says("Content-Encoding must be identity");
    }
}

async fn escapes_in_json_are_decoded(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = r#"{"\u006bey":"\u004bEY","value":"kvc_\ud83d\udd11\/\n"}"#;

    alice.raw(Method::POST, &paths::secrets(&web, "staging"), &JSON, body).await.is(201);

    let secret = alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200).json();
    assert_eq!(secret["secret"]["value"], "kvc_🔑/\n");
}

/// Checks that the server accepts `1.0` as a whole number, because some clients send it in this
/// form (RFC 8259, section 6).
async fn a_whole_number_may_have_a_fraction_of_zero(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let key = paths::secret(&web, "staging", "KEY");
    let token = r#"{"name":"ci","all_projects":true,"expires_in_days":30.0}"#;

    let changed = r#"{"value":"kvc_two","expected_version":1.0}"#;
    alice.raw(Method::PUT, &key, &JSON, changed).await.is(200);
    let rollback = format!("{key}/rollback");
    alice.raw(Method::POST, &rollback, &JSON, r#"{"version":1.0}"#).await.is(200);
    let made = alice.raw(Method::POST, "/api/v1/tokens", &JSON, token).await.is(201).id();
    let rotate = format!("/api/v1/tokens/{made}/rotate");
    alice.raw(Method::POST, &rotate, &JSON, r#"{"grace_period_seconds":60.0}"#).await.is(200);

    alice.raw(Method::POST, &rollback, &JSON, r#"{"version":1.5}"#).await.is(400).names("version");
}

in_memory![
    a_whole_number_may_have_a_fraction_of_zero,
    a_body_of_more_than_a_mebibyte_is_413,
    a_body_without_a_credential_has_at_most_64_kibibytes,
    a_chunked_body_is_counted_as_it_arrives,
    a_body_is_not_read_for_a_caller_of_the_wrong_kind,
    invalid_json_is_400,
    a_body_is_an_object,
    depth_does_no_harm,
    a_field_given_twice_is_400,
    unknown_fields_are_ignored,
    a_wrong_type_is_400_and_the_value_is_not_repeated,
    an_error_uses_the_terms_of_the_api,
    json_may_be_named_in_any_way_or_not_at_all,
    another_kind_of_body_is_400,
    a_body_is_not_unpacked,
    escapes_in_json_are_decoded,
];

in_memory_and_on_postgres![an_import_may_have_16_mebibytes];
