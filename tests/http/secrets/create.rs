//! Tests of creating secrets.

use secrets_tests::{App, STARTED, canary, in_memory_and_on_postgres, paths};
use serde_json::json;

async fn a_created_secret_is_answered_without_its_value(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();

    let body =
        json!({ "key": "API_KEY", "value": canary("create"), "description": "For the shop" });
    let reply = alice.post(&paths::secrets(&web, "staging"), &body).await;

    let secret = &reply.is(201).json()["secret"];
    assert_eq!(
        reply.json(),
        json!({
            "secret": {
                "id": secret["id"],
                "environment_id": staging["id"],
                "key": "API_KEY",
                "type": "string",
                "description": "For the shop",
                "version": 1,
                "created_at": STARTED,
                "updated_at": STARTED,
                "created_by": alice.id,
                "updated_by": alice.id,
            }
        })
    );
}

async fn a_key_that_is_taken_is_409_and_nothing_changes(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_first").await;

    let body = json!({ "key": "KEY", "value": "kvc_second" });
    let reply = alice.post(&paths::secrets(&web, "staging"), &body).await;

    let error = "a secret with this key already exists in this environment";
    assert_eq!(reply.is(409).json(), json!({ "error": error, "code": "already_exists" }));
    let secret = alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200).json();
    assert_eq!(secret["secret"]["value"], "kvc_first");
    assert_eq!(secret["secret"]["version"], 1);
}

async fn a_key_is_taken_in_its_own_environment_only(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_staging").await;

    alice.secret(&web, "production", "KEY", "kvc_production").await;

    let secret = alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200).json();
    assert_eq!(secret["secret"]["value"], "kvc_staging");
}

async fn keys_are_kept_as_given_and_differ_by_case(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for key in ["key", "KEY", "Key"] {
        alice.secret(&web, "staging", key, &format!("kvc_{key}")).await;
    }

    for key in ["key", "KEY", "Key"] {
        let secret = alice.get(&paths::secret(&web, "staging", key)).await.is(200).json();
        assert_eq!(
            (&secret["secret"]["key"], &secret["secret"]["value"]),
            (&json!(key), &json!(format!("kvc_{key}")))
        );
    }
}

async fn a_key_is_letters_digits_underscores_dots_and_hyphens(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (longest, longer) = ("K".repeat(255), "K".repeat(256));

    for key in ["A", "_", "_1", "a.b-c", "Bulk", "exports", longest.as_str()] {
        alice.secret(&web, "staging", key, "kvc_value").await;
        alice.get(&paths::secret(&web, "staging", key)).await.is(200);
    }

    for key in ["", "1A", "-A", ".A", "A B", "A=B", "A/B", "A;B", "É", " A", "A\n", longer.as_str()]
    {
        let body = json!({ "key": key, "value": "kvc_value" });
        let reply = alice.post(&paths::secrets(&web, "staging"), &body).await;
        reply.is(400).code("invalid_key").names("key");
    }
}

async fn a_key_that_the_interface_uses_itself_is_refused(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let message = "must not be `export` or `bulk`, which the interface uses itself";

    for key in ["export", "bulk"] {
        let body = json!({ "key": key, "value": "kvc_value" });
        let reply = alice.post(&paths::secrets(&web, "staging"), &body).await;

        assert_eq!(
            reply.is(400).json(),
            json!({
                "error": format!("key {message}"),
                "code": "reserved_key",
                "details": { "fields": [{ "field": "key", "message": message }] },
            })
        );
    }
}

async fn key_and_value_are_required(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let bodies = [
        ("key", json!({ "value": "kvc_value" })),
        ("key", json!({ "key": null, "value": "kvc_value" })),
        ("value", json!({ "key": "KEY" })),
        ("value", json!({ "key": "KEY", "value": null })),
        ("value", json!({ "key": "KEY", "value": null, "hidden": null })),
        ("value", json!({ "key": "KEY", "hidden": false })),
    ];

    for (field, body) in bodies {
        let reply = alice.post(&paths::secrets(&web, "staging"), &body).await;
        reply.is(400).code("invalid_request").names(field);
    }
}

async fn a_value_is_stored_byte_for_byte(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let values = [
        ("SPACE", " \t kvc_spaces\r\n\n ".to_owned()),
        ("EMOJI", "kvc_🔑e\u{301}\u{202e}\u{feff}".to_owned()),
        ("QUOTES", "kvc_\"'`\\$HOME\u{1}\u{7f}".to_owned()),
        ("LONG", format!("kvc_{}", "x".repeat(65_532))),
    ];

    for (key, value) in &values {
        alice.secret(&web, "staging", key, value).await;
    }

    for (key, value) in &values {
        let secret = alice.get(&paths::secret(&web, "staging", key)).await.is(200).json();
        assert_eq!(secret["secret"]["value"].as_str(), Some(value.as_str()), "{key}");
    }
}

async fn an_empty_value_is_a_value(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    alice.secret(&web, "staging", "EMPTY", "").await;

    let secret = alice.get(&paths::secret(&web, "staging", "EMPTY")).await.is(200).json();
    assert_eq!(secret["secret"]["value"], "");
    assert!(secret["secret"].get("hidden").is_none());
}

async fn a_value_has_at_most_65536_bytes(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let message = "must be at most 65536 bytes of UTF-8";

    for value in [format!("kvc_{}", "x".repeat(65_533)), format!("kvc_x{}", "é".repeat(32_766))] {
        let body = json!({ "key": "KEY", "value": value });
        let reply = alice.post(&paths::secrets(&web, "staging"), &body).await;

        assert_eq!(
            reply.is(400).json(),
            json!({
                "error": format!("value {message}"),
                "code": "value_too_large",
                "details": { "fields": [{ "field": "value", "message": message }] },
            })
        );
    }
    alice.get(&paths::secret(&web, "staging", "KEY")).await.is(404);
}

async fn a_value_is_text_without_nul(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for value in [json!("kvc_\u{0}"), json!(7), json!(true), json!(["kvc_x"]), json!({ "a": 1 })] {
        let body = json!({ "key": "KEY", "value": value });
        let reply = alice.post(&paths::secrets(&web, "staging"), &body).await;
        reply.is(400).code("invalid_request").names("value");
    }
}

async fn a_description_has_at_most_500_characters(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let create = |text: &str| json!({ "key": "KEY", "value": "kvc_value", "description": text });

    for text in ["é".repeat(501), "kvc_\u{0}".to_owned(), "kvc_\u{202e}".to_owned()] {
        let reply = alice.post(&paths::secrets(&web, "staging"), &create(&text)).await;
        reply.is(400).names("description");
    }
    let longest = "é".repeat(500);
    let reply = alice.post(&paths::secrets(&web, "staging"), &create(&longest)).await;

    assert_eq!(reply.is(201).json()["secret"]["description"].as_str(), Some(longest.as_str()));
}

async fn a_service_token_that_may_write_creates(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let scope = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&scope).await);
    let id = writer.get("/api/v1/users/me").await.is(200).json()["id"].clone();

    let body = json!({ "key": "KEY", "value": "kvc_value" });
    let reply = writer.post(&paths::secrets(&web, "staging"), &body).await;

    assert_eq!(reply.is(201).json()["secret"]["created_by"], id);
    // Write access does not include read access.
    writer
        .get(&paths::secret(&web, "staging", "KEY"))
        .await
        .is(403)
        .says("this token may not read");
}

async fn an_unknown_environment_takes_no_secrets(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let body = json!({ "key": "KEY", "value": "kvc_value" });

    alice
        .post(&paths::secrets("/api/v1/projects/none", "staging"), &body)
        .await
        .is(404)
        .says("project not found");
    alice.post(&paths::secrets(&web, "none"), &body).await.is(404).says("environment not found");
    bob.post(&paths::secrets(&web, "staging"), &body).await.is(403);
}

in_memory_and_on_postgres![
    a_created_secret_is_answered_without_its_value,
    a_key_that_is_taken_is_409_and_nothing_changes,
    a_key_is_taken_in_its_own_environment_only,
    keys_are_kept_as_given_and_differ_by_case,
    a_key_is_letters_digits_underscores_dots_and_hyphens,
    a_key_that_the_interface_uses_itself_is_refused,
    key_and_value_are_required,
    a_value_is_stored_byte_for_byte,
    an_empty_value_is_a_value,
    a_value_has_at_most_65536_bytes,
    a_value_is_text_without_nul,
    a_description_has_at_most_500_characters,
    a_service_token_that_may_write_creates,
    an_unknown_environment_takes_no_secrets,
];
