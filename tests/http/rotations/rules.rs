//! Tests of the validation of rotations: each error names the invalid field and the rule that it
//! breaks, and never contains the input.

use secrets_core::egress::EgressPolicy;
use secrets_core::engine::Options;
use secrets_tests::{App, Build, Kind, Person, canary, in_memory, lambda, paths, postgresql};
use serde_json::{Value, json};

/// Returns the request body that creates the rotation `main-db`, with one field changed. `place` is
/// the JSON pointer of the field, such as `/connection/host`; the value `null` removes the field.
fn but(place: &str, value: Value) -> Value {
    let mut body = postgresql("main-db");
    set(&mut body, place, value);
    body
}

/// Returns the request body that creates a rotation through a Lambda function, with one field
/// changed as by `but`.
fn proxied_but(place: &str, value: Value) -> Value {
    let mut body = postgresql("main-db");
    body["connection_method"] = json!("proxied");
    body["proxy"] = lambda();
    set(&mut body, place, value);
    body
}

fn set(body: &mut Value, place: &str, value: Value) {
    let (parent, name) = place.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Value::Null => drop(parent.remove(name)),
        value => drop(parent.insert(name.to_owned(), value)),
    }
}

/// Asserts that the server refuses each request body with an error that names the given field and
/// contains nothing of the input.
async fn refused(person: &Person, cases: impl IntoIterator<Item = (&str, Value)>) {
    let web = person.project("Web").await;
    for (field, body) in cases {
        let reply = person.post(&paths::rotations(&web, "staging"), &body).await;

        let text = reply.is(400).names(field).text();
        assert!(!text.contains("kvc_"), "{text}");
    }
    let list = person.get(&paths::rotations(&web, "staging")).await.is(200).json();
    assert_eq!(list, json!({ "rotations": [] }));
}

async fn missing_fields_are_named(app: App) {
    let alice = app.person("alice").await;
    let fields = [
        "name",
        "integration_type",
        "connection_method",
        "connection",
        "rotation_interval_days",
        "connection.host",
        "connection.database",
        "connection.admin_username",
        "connection.admin_password",
    ];
    let case = |field: &'static str| {
        let place = format!("/{}", field.replace('.', "/"));
        (field, but(&place, Value::Null))
    };
    let of_proxy = ["proxy.lambda_arn", "proxy.region", "proxy.shared_secret"].map(|field| {
        let place = format!("/{}", field.replace('.', "/"));
        (field, proxied_but(&place, Value::Null))
    });

    refused(&alice, fields.map(case).into_iter().chain(of_proxy)).await;
}

async fn a_name_is_letters_digits_underscores_and_hyphens(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Names").await;
    let long = "n".repeat(64);
    let names = ["", "-a", "_a", "a b", "a/b", "a.b", "café", "a\n", "test", long.as_str()];

    refused(&alice, names.map(|name| ("name", but("/name", json!(name))))).await;
    let longest = "n".repeat(63);
    for name in ["a", "7", "A_b-9", "Test", "tests", longest.as_str()] {
        alice.post(&paths::rotations(&web, "staging"), &postgresql(name)).await.is(201);
        alice.get(&paths::rotation(&web, "staging", name)).await.is(200);
    }
}

async fn a_name_may_look_like_an_id_and_an_id_names_nothing(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let name = "0191d0a0-0000-7000-8000-000000000000";

    let id = alice.post(&paths::rotations(&web, "staging"), &postgresql(name)).await.is(201).id();

    alice.get(&paths::rotation(&web, "staging", name)).await.is(200);
    alice.get(&paths::rotation(&web, "staging", &id)).await.is(404);
}

async fn an_interval_is_1_to_365_whole_days(app: App) {
    let alice = app.person("alice").await;
    let days = [json!(0), json!(366), json!(-1), json!(1.5), json!("30"), json!(4_294_967_296_u64)];

    refused(
        &alice,
        days.map(|days| ("rotation_interval_days", but("/rotation_interval_days", days))),
    )
    .await;
}

async fn unknown_kinds_are_refused(app: App) {
    let alice = app.person("alice").await;
    let cases = [
        ("integration_type", but("/integration_type", json!("kvc_oracle"))),
        ("integration_type", but("/integration_type", json!("PostgreSQL"))),
        ("connection_method", but("/connection_method", json!("kvc_carrier"))),
        ("permission_level", but("/permission_level", json!("kvc_superuser"))),
        ("connection.ssl_mode", but("/connection/ssl_mode", json!("kvc_none"))),
    ];

    refused(&alice, cases).await;
}

async fn invalid_connections_are_refused(app: App) {
    let alice = app.person("alice").await;
    let long = "h".repeat(254);
    let hosts = ["", "kvc host", "kvc/host", "kvc@host", long.as_str()]
        .map(|host| ("connection.host", but("/connection/host", json!(host))));
    let ports = [json!(0), json!(65_536), json!("5432")]
        .map(|port| ("connection.port", but("/connection/port", port)));
    let long = "n".repeat(64);
    let names = ["", "kvc_a\nb", "kvc_\u{202e}", long.as_str()];
    let databases =
        names.map(|name| ("connection.database", but("/connection/database", json!(name))));
    let users = names
        .map(|name| ("connection.admin_username", but("/connection/admin_username", json!(name))));
    let passwords = [json!(""), json!(7), json!("kvc_\u{0}")]
        .map(|password| ("connection.admin_password", but("/connection/admin_password", password)));
    let certificate = format!("-----BEGIN CERTIFICATE-----{}", "A".repeat(32_768));
    let certificates = ["kvc_no_certificate", certificate.as_str()].map(|certificate| {
        ("connection.ca_certificate", but("/connection/ca_certificate", json!(certificate)))
    });

    let cases = hosts.into_iter().chain(ports).chain(databases).chain(users);
    refused(&alice, cases.chain(passwords).chain(certificates)).await;
}

async fn a_function_is_named_exactly_where_one_is_asked(app: App) {
    let alice = app.person("alice").await;
    let cases = [
        ("proxy", but("/proxy", lambda())),
        ("proxy", proxied_but("/proxy", Value::Null)),
        ("proxy.lambda_arn", proxied_but("/proxy/lambda_arn", json!("kvc_function"))),
        ("proxy.region", proxied_but("/proxy/region", json!("us-east-1"))),
        ("proxy.region", proxied_but("/proxy/region", json!("evil.example.com/"))),
        ("proxy.shared_secret", proxied_but("/proxy/shared_secret", json!("kvc_too_short"))),
        ("proxy.shared_secret", proxied_but("/proxy/shared_secret", json!(7))),
    ];

    refused(&alice, cases).await;
}

async fn unknown_fields_are_refused_at_any_depth(app: App) {
    let alice = app.person("alice").await;
    let cases = [
        ("body", but("/kvc_extra", json!("kvc_value"))),
        ("body", but("/connection/kvc_extra", json!("kvc_value"))),
        ("body", proxied_but("/proxy/extra", json!("kvc_value"))),
        ("body", but("/secret_mapping", json!({ "extra": "KEY" }))),
    ];

    refused(&alice, cases).await;
}

async fn plaintext_is_for_destinations_that_the_operator_names(kind: Kind) {
    let app = App::start(kind).await;
    let alice = app.person("alice").await;
    let plain = but("/connection/ssl_mode", json!("disable"));
    refused(&alice, [("connection.ssl_mode", plain.clone())]).await;
    let egress = EgressPolicy::parse("db.example.com").unwrap();
    let lenient = Build::on(kind).options(Options { egress, ..Options::default() }).start().await;
    let bob = lenient.person("bob").await;
    let web = bob.project("Web").await;

    bob.post(&paths::rotations(&web, "staging"), &plain).await.is(201);

    let mut elsewhere = but("/connection/host", json!("other.example.com"));
    set(&mut elsewhere, "/connection/ssl_mode", json!("disable"));
    set(&mut elsewhere, "/name", json!("other"));
    let reply = bob.post(&paths::rotations(&web, "staging"), &elsewhere).await;
    reply.is(400).names("connection.ssl_mode");
}

async fn an_address_that_is_not_of_the_internet_is_refused(app: App) {
    let alice = app.person("alice").await;
    let addresses = [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "[::1]",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "2130706433",
        "0x7f000001",
        "127.1",
    ];

    refused(
        &alice,
        addresses.map(|address| ("connection.host", but("/connection/host", json!(address)))),
    )
    .await;
}

async fn all_fields_that_break_a_rule_are_named_at_once(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut body = proxied_but("/proxy/shared_secret", json!(canary("x")));
    set(&mut body, "/connection/host", json!(""));
    set(&mut body, "/connection/port", json!(0));

    let reply = alice.post(&paths::rotations(&web, "staging"), &body).await;

    reply.is(400).names("connection.host").names("connection.port").names("proxy.shared_secret");
}

async fn each_key_is_a_key_and_named_once(app: App) {
    let alice = app.person("alice").await;
    let twice = json!({ "username": "KEY", "password": "KEY" });
    let cases = [
        ("secret_mapping", but("/secret_mapping", twice)),
        ("secret_mapping", but("/secret_mapping", json!({ "username": "MAIN_DB_URL" }))),
        ("secret_mapping.username", but("/secret_mapping", json!({ "username": "1 KEY" }))),
        ("secret_mapping.url", but("/secret_mapping", json!({ "url": "export" }))),
    ];

    refused(&alice, cases).await;
}

in_memory![
    missing_fields_are_named,
    a_name_is_letters_digits_underscores_and_hyphens,
    a_name_may_look_like_an_id_and_an_id_names_nothing,
    an_interval_is_1_to_365_whole_days,
    unknown_kinds_are_refused,
    invalid_connections_are_refused,
    a_function_is_named_exactly_where_one_is_asked,
    unknown_fields_are_refused_at_any_depth,
    an_address_that_is_not_of_the_internet_is_refused,
    all_fields_that_break_a_rule_are_named_at_once,
    each_key_is_a_key_and_named_once;
    plaintext_is_for_destinations_that_the_operator_names,
];
