//! Tests of the plan limits for the total size of an environment's secrets, and for their previous
//! versions.

use chrono::TimeDelta;
use secrets_core::engine::Options;
use secrets_core::model::{Plan, Plans, Quota};
use secrets_tests::{App, Build, Kind, Person, Rotated, on_every_store, paths};
use serde_json::{Value, json};

/// Maximum size of an environment's secrets, in bytes.
const LIMIT: u64 = 4_096;

/// Starts a server whose teams may have 4 KiB of secrets in an environment, 2 KiB of previous
/// versions, and 3 previous versions of a secret.
async fn small(kind: Kind) -> App {
    let mut plan = Plan::new("small".parse().unwrap(), [(Quota::Bytes, LIMIT)]).unwrap();
    (plan.history_bytes, plan.versions) = (LIMIT / 2, 3);
    let plans = Plans::with([plan]).by_default("small").unwrap();
    Build::on(kind).options(Options { plans, ..Options::default() }).start().await
}

/// Returns a request body that sets a value of this length, in bytes.
fn value(length: usize) -> Value {
    json!({ "value": "v".repeat(length) })
}

async fn used(person: &Person) -> Value {
    let usage = format!("/api/v1/teams/{}/usage", person.team);
    person.get(&usage).await.is(200).json()["usage"]["bytes"].clone()
}

/// Returns the version numbers in the history of a secret, newest first.
async fn history(person: &Person, web: &str, key: &str) -> Vec<u64> {
    let path = format!("{}/history", paths::secret(web, "staging", key));
    let listed = person.get(&path).await.is(200).json();
    let versions = listed["history"].as_array().unwrap().iter();
    versions.map(|version| version["version"].as_u64().unwrap()).collect()
}

async fn secrets_that_are_too_large_together_are_429(kind: Kind) {
    let app = small(kind).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let at = |key| paths::secret(&web, "staging", key);
    alice.secret(&web, "staging", "ONE", &"v".repeat(3_500)).await;
    let before = used(&alice).await;
    let current = before["used"].as_u64().unwrap();

    let create = json!({ "key": "TWO", "value": "v".repeat(1_200) });
    let created = alice.post(&paths::secrets(&web, "staging"), &create).await;
    let updated = alice.put(&at("ONE"), &value(4_200)).await;
    let described = json!({ "description": "d".repeat(100) });
    let secrets = json!({ "secrets": [{ "key": "A", "value": "v" }, create] });
    let imported = alice.post(&at("bulk"), &secrets).await;

    let error = format!("Plan limit exceeded: bytes ({current} of {LIMIT})");
    let expected = json!({
        "error": error,
        "code": "plan_limit_exceeded",
        "resource": "bytes",
        "plan": "small",
        "limit": LIMIT,
        "current": current,
    });
    for refused in [created, updated, imported] {
        assert_eq!(refused.is(429).json(), expected);
    }
    alice.get(&at("TWO")).await.is(404);
    alice.get(&at("A")).await.is(404);
    assert_eq!(alice.get(&at("ONE")).await.is(200).json()["secret"]["version"], 1);
    assert_eq!(used(&alice).await, before);
    alice.put(&at("ONE"), &described).await.is(200);
    alice.put(&at("ONE"), &json!({ "description": "d".repeat(500) })).await.is(429);
    alice.secret(&web, "production", "TWO", &"v".repeat(1_200)).await;
}

async fn less_may_be_written_and_deleted_above_the_limit(kind: Kind) {
    let app = small(kind).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let at = |key| paths::secret(&web, "staging", key);
    alice.secret(&web, "staging", "ONE", &"v".repeat(2_000)).await;
    alice.secret(&web, "staging", "TWO", &"v".repeat(1_900)).await;

    // A value of the same size is accepted, and a larger value only after another value has become
    // smaller.
    alice.put(&at("ONE"), &value(2_000)).await.is(200);
    alice.put(&at("ONE"), &value(2_200)).await.is(429);
    alice.put(&at("TWO"), &value(10)).await.is(200);
    alice.put(&at("ONE"), &value(2_200)).await.is(200);
    alice.delete(&at("ONE")).await.is(204);

    let left = used(&alice).await["used"].as_u64().unwrap();
    assert!((10..200).contains(&left), "{left}");
}

async fn the_number_of_previous_versions_is_limited(kind: Kind) {
    let app = small(kind).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "v1").await;
    let path = paths::secret(&web, "staging", "KEY");

    for version in 2..=6 {
        alice.put(&path, &json!({ "value": format!("v{version}") })).await.is(200);
    }

    assert_eq!(history(&alice, &web, "KEY").await, [5, 4, 3]);
    let back = format!("{path}/rollback");
    alice.post(&back, &json!({ "version": 2 })).await.is(404);
    let restored = alice.post(&back, &json!({ "version": 3 })).await.is(200).json();
    assert_eq!(restored["secret"]["version"], 7);
    assert_eq!(history(&alice, &web, "KEY").await, [6, 5, 4]);
    assert_eq!(alice.get(&path).await.is(200).json()["secret"]["value"], "v3");
}

async fn the_oldest_versions_of_an_environment_give_way(kind: Kind) {
    let app = small(kind).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["OLD", "NEW"] {
        alice.secret(&web, "staging", key, &"v".repeat(900)).await;
        alice.put(&paths::secret(&web, "staging", key), &value(900)).await.is(200);
        app.wait(TimeDelta::seconds(1));
    }
    assert_eq!(history(&alice, &web, "OLD").await, [1]);

    alice.put(&paths::secret(&web, "staging", "NEW"), &value(900)).await.is(200);

    assert_eq!(history(&alice, &web, "OLD").await, Vec::<u64>::new());
    assert_eq!(history(&alice, &web, "NEW").await, [2, 1]);
}

async fn a_rotation_is_not_refused_for_its_size(kind: Kind) {
    let app = small(kind).await;
    let main = Rotated::create(&app, "alice").await;
    main.person.secret(&main.project, "staging", "LARGE", &"v".repeat(3_900)).await;

    main.succeed().await;

    let more = json!({ "key": "MORE", "value": "v".repeat(100) });
    main.person.post(&paths::secrets(&main.project, "staging"), &more).await.is(429);
}

on_every_store![;
    secrets_that_are_too_large_together_are_429,
    less_may_be_written_and_deleted_above_the_limit,
    the_number_of_previous_versions_is_limited,
    the_oldest_versions_of_an_environment_give_way,
    a_rotation_is_not_refused_for_its_size,
];
