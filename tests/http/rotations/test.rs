//! Tests of the endpoints that test a database connection: one before a rotation is created, and
//! one for an existing rotation.

use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Rotated, connection, in_memory, lambda, paths};
use serde_json::{Value, json};

async fn a_connection_that_works_is_a_success(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = format!("{}/test", paths::rotations(&web, "staging"));

    let result = alice.post(&path, &connection()).await.is(200).json();

    assert_eq!(result, json!({ "success": true, "message": "the connection works" }));
    assert_eq!(app.database.calls(), ["test"]);
    let list = alice.get(&paths::rotations(&web, "staging")).await.is(200).json();
    assert_eq!(list, json!({ "rotations": [] }));
}

async fn connection_errors_have_texts_of_the_service(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = format!("{}/test", paths::rotations(&web, "staging"));

    for fault in Fault::ALL {
        app.database.script("test", [Script::Fail(fault)]);
        let result = alice.post(&path, &connection()).await.is(200).json();

        assert_eq!(result, json!({ "success": false, "message": fault.sentence() }));
    }
}

async fn an_unverified_server_is_a_success_with_a_warning(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = format!("{}/test", paths::rotations(&web, "staging"));
    let message = "the connection works, but the server's identity is not verified: see ssl_mode";

    for mode in ["require", "prefer", "allow", "REQUIRED", "PREFERRED"] {
        let mut candidate = connection();
        candidate["connection"]["ssl_mode"] = json!(mode);
        let result = alice.post(&path, &candidate).await.is(200).json();

        assert_eq!(result, json!({ "success": true, "message": message }), "{mode}");
    }
}

async fn the_rules_of_a_connection_are_those_of_a_rotation(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = format!("{}/test", paths::rotations(&web, "staging"));
    let but = |place: &str, value: Value| {
        let mut candidate = connection();
        *candidate.pointer_mut(place).unwrap() = value;
        candidate
    };
    let mut with_proxy = connection();
    with_proxy["proxy"] = lambda();
    let mut named = connection();
    named["name"] = json!("main-db");
    let cases = [
        ("connection.host", but("/connection/host", json!("10.0.0.1"))),
        ("connection.ssl_mode", but("/connection/ssl_mode", json!("disable"))),
        ("connection.port", but("/connection/port", json!(0))),
        ("integration_type", but("/integration_type", json!("kvc_kind"))),
        ("proxy", but("/connection_method", json!("proxied"))),
        ("proxy", with_proxy),
        ("body", named),
    ];

    for (field, candidate) in cases {
        let reply = alice.post(&path, &candidate).await;
        assert!(!reply.is(400).names(field).text().contains("kvc_"), "{}", reply.text());
    }
    assert_eq!(app.database.calls(), [""; 0]);
}

async fn the_stored_connection_of_a_rotation_is_tested(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let path = format!("{}/test", main.path);
    let works = json!({ "success": true, "message": "the connection works" });

    assert_eq!(main.person.post(&path, &json!({})).await.is(200).json(), works);
    app.database.script("test", [Script::Fail(Fault::NoDatabase)]);
    let result = main.person.post(&path, &json!({})).await.is(200).json();

    assert_eq!(result, json!({ "success": false, "message": Fault::NoDatabase.sentence() }));
    assert_eq!(main.shown().await["status"], "active");
    assert!(main.history().await.is_empty());
    let unknown = paths::rotation(&main.project, "staging", "none");
    main.person.post(&format!("{unknown}/test"), &json!({})).await.is(404);
}

async fn connection_tests_are_recorded(app: App) {
    let main = Rotated::create(&app, "alice").await;

    main.person.post(&format!("{}/test", main.path), &json!({})).await.is(200);

    let entry = app.entry(&main.person.team, "rotation.tested").await;
    assert_eq!(entry.resource_name.as_deref(), Some("main-db"));
    assert_eq!(entry.actor_id.map(|id| id.to_string()), Some(main.person.id.clone()));
}

in_memory![
    a_connection_that_works_is_a_success,
    connection_errors_have_texts_of_the_service,
    an_unverified_server_is_a_success_with_a_warning,
    the_rules_of_a_connection_are_those_of_a_rotation,
    the_stored_connection_of_a_rotation_is_tested,
    connection_tests_are_recorded,
];
