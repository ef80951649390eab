//! Tests of updating secrets.

use chrono::TimeDelta;
use secrets_core::model::ids;
use secrets_core::store::Change;
use secrets_tests::{App, canary, in_memory_and_on_postgres, paths};
use serde_json::json;

async fn a_new_value_is_the_next_version(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = json!({ "key": "KEY", "value": canary("old"), "description": "For the shop" });
    let created = alice.post(&paths::secrets(&web, "staging"), &body).await.is(201).json();
    app.wait(TimeDelta::seconds(5));

    let path = paths::secret(&web, "staging", "KEY");
    let reply = alice.put(&path, &json!({ "value": canary("new") })).await;

    let mut expected = created;
    expected["secret"]["version"] = json!(2);
    expected["secret"]["updated_at"] = json!("2026-11-21T12:00:15Z");
    assert_eq!(reply.is(200).json(), expected);
    expected["secret"]["value"] = json!(canary("new"));
    assert_eq!(alice.get(&path).await.is(200).json(), expected);
}

async fn the_same_value_again_is_a_version_too(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_same").await;

    let reply =
        alice.put(&paths::secret(&web, "staging", "KEY"), &json!({ "value": "kvc_same" })).await;

    assert_eq!(reply.is(200).json()["secret"]["version"], 2);
}

async fn a_new_description_is_no_version(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    app.wait(TimeDelta::seconds(5));
    let path = paths::secret(&web, "staging", "KEY");

    alice.put(&path, &json!({ "value": null, "description": "For the shop" })).await.is(200);

    let secret = alice.get(&path).await.is(200).json()["secret"].clone();
    assert_eq!((&secret["version"], &secret["value"]), (&json!(1), &json!("kvc_value")));
    assert_eq!(secret["description"], "For the shop");
    assert_eq!(secret["updated_at"], "2026-11-21T12:00:15Z");
}

async fn value_and_description_change_together(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let path = paths::secret(&web, "staging", "KEY");

    alice.put(&path, &json!({ "value": "kvc_two", "description": "Two" })).await.is(200);

    let secret = alice.get(&path).await.is(200).json()["secret"].clone();
    assert_eq!((&secret["value"], &secret["description"]), (&json!("kvc_two"), &json!("Two")));
    assert_eq!(secret["version"], 2);
}

async fn a_description_that_is_not_given_stays(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = json!({ "key": "KEY", "value": "kvc_value", "description": "Mine" });
    alice.post(&paths::secrets(&web, "staging"), &body).await.is(201);
    let path = paths::secret(&web, "staging", "KEY");

    let reply = alice.put(&path, &json!({ "value": "kvc_two", "description": null })).await;

    assert_eq!(reply.is(200).json()["secret"]["description"], "Mine");
}

async fn previous_values_are_kept_in_a_history(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let path = paths::secret(&web, "staging", "KEY");

    alice.put(&path, &json!({ "value": "kvc_two" })).await.is(200);
    alice.put(&path, &json!({ "hidden": true })).await.is(200);
    let secret = alice.put(&path, &json!({ "value": "kvc_four" })).await.is(200).json();

    let id = ids::parse(secret["secret"]["id"].as_str().unwrap()).unwrap();
    let kept = app
        .store
        .read()
        .await
        .unwrap()
        .secret_versions(id.into(), u32::MAX, u32::MAX)
        .await
        .unwrap();
    let kept: Vec<_> = kept.iter().map(|old| (old.version, old.change, old.hidden)).collect();
    let expected =
        [(3, Change::Hidden, true), (2, Change::Updated, false), (1, Change::Created, false)];
    assert_eq!(kept, expected);
}

async fn a_change_of_nothing_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let bodies = [
        json!({}),
        json!({ "value": null, "description": null, "hidden": null }),
        json!({ "expected_version": 1 }),
        json!({ "key": "OTHER" }),
    ];

    for body in bodies {
        let reply = alice.put(&paths::secret(&web, "staging", "KEY"), &body).await;
        reply.is(400).code("invalid_request").says("value or description or hidden must be given");
    }
}

async fn a_value_obeys_the_rules_of_values(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let path = paths::secret(&web, "staging", "KEY");
    let long = format!("kvc_{}", "x".repeat(65_533));

    alice
        .put(&path, &json!({ "value": long }))
        .await
        .is(400)
        .code("value_too_large")
        .names("value");
    alice.put(&path, &json!({ "value": 7 })).await.is(400).code("invalid_request").names("value");
    alice.put(&path, &json!({ "description": "d".repeat(501) })).await.is(400).names("description");

    let secret = alice.get(&path).await.is(200).json();
    assert_eq!(
        (&secret["secret"]["version"], &secret["secret"]["value"]),
        (&json!(1), &json!("kvc_value"))
    );
}

async fn a_key_that_is_not_there_is_404_and_not_made(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for key in ["NONE", "1", "%2541"] {
        let path = paths::secret(&web, "staging", key);
        for body in [json!({ "value": "kvc_value" }), json!({})] {
            alice.put(&path, &body).await.is(404).says("secret not found");
        }
    }

    let list = alice.get(&paths::secrets(&web, "staging")).await.is(200).json();
    assert_eq!(list, json!({ "secrets": [] }));
}

async fn an_expected_version_that_is_there_lets_the_change_pass(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let path = paths::secret(&web, "staging", "KEY");

    let change = json!({ "value": "kvc_two", "expected_version": 1 });
    let reply = alice.put(&path, &change).await;

    assert_eq!(reply.is(200).json()["secret"]["version"], 2);
}

async fn an_expected_version_that_is_not_there_is_409_and_nothing_changes(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let path = paths::secret(&web, "staging", "KEY");
    let before = alice.get(&path).await.is(200).json();
    let body =
        json!({ "error": "the secret is not at the expected version", "code": "version_conflict" });

    for version in [0, 2, 4_294_967_295_u32] {
        let change =
            json!({ "value": "kvc_two", "description": "Two", "expected_version": version });
        assert_eq!(alice.put(&path, &change).await.is(409).json(), body);
    }

    assert_eq!(alice.get(&path).await.is(200).json(), before);
}

async fn an_expected_version_that_is_no_number_is_400(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;

    for version in [json!("1"), json!(-1), json!(1.5), json!(4_294_967_296_u64)] {
        let change = json!({ "value": "kvc_two", "expected_version": version });
        let reply = alice.put(&paths::secret(&web, "staging", "KEY"), &change).await;
        reply.is(400).names("expected_version");
    }
}

async fn a_secret_has_its_creator_and_its_last_author(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let scope = json!({ "all_projects": true, "permissions": ["read", "write"] });
    let writer = app.bearer(&alice.token(&scope).await);
    let id = writer.get("/api/v1/users/me").await.is(200).json()["id"].clone();

    let reply =
        writer.put(&paths::secret(&web, "staging", "KEY"), &json!({ "value": "kvc_two" })).await;

    let secret = reply.is(200).json()["secret"].clone();
    assert_eq!((&secret["created_by"], &secret["updated_by"]), (&json!(alice.id), &id));
}

in_memory_and_on_postgres![
    a_new_value_is_the_next_version,
    the_same_value_again_is_a_version_too,
    a_new_description_is_no_version,
    value_and_description_change_together,
    a_description_that_is_not_given_stays,
    previous_values_are_kept_in_a_history,
    a_change_of_nothing_is_400,
    a_value_obeys_the_rules_of_values,
    a_key_that_is_not_there_is_404_and_not_made,
    an_expected_version_that_is_there_lets_the_change_pass,
    an_expected_version_that_is_not_there_is_409_and_nothing_changes,
    an_expected_version_that_is_no_number_is_400,
    a_secret_has_its_creator_and_its_last_author,
];
