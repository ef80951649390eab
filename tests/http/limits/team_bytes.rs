//! Tests of the plan limit for the total size of a team's secrets and their previous versions.

use secrets_core::engine::Options;
use secrets_core::model::{Plan, Plans, Quota};
use secrets_tests::{App, Build, Kind, Person, Reply, Rotated, on_every_store, paths};
use serde_json::{Value, json};

/// Maximum total size of a team's secrets and their previous versions, in bytes.
const LIMIT: u64 = 8_192;

/// Starts a server whose teams may have 8 KiB of secrets and previous versions.
async fn small(kind: Kind) -> App {
    let plan = Plan::new("small".parse().unwrap(), [(Quota::StoredBytes, LIMIT)]).unwrap();
    let plans = Plans::with([plan]).by_default("small").unwrap();
    Build::on(kind).options(Options { plans, ..Options::default() }).start().await
}

/// Creates a user with two projects, which contain about 7 KiB of secrets. Returns the user and the
/// paths of the projects.
async fn filled(app: &App) -> (Person, String, String) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    alice.secret(&web, "staging", "ONE", &"v".repeat(3_500)).await;
    alice.secret(&shop, "production", "TWO", &"v".repeat(3_500)).await;
    (alice, web, shop)
}

fn value(length: usize) -> Value {
    json!({ "value": "v".repeat(length) })
}

async fn stored(person: &Person) -> Value {
    let usage = format!("/api/v1/teams/{}/usage", person.team);
    person.get(&usage).await.is(200).json()["usage"]["stored_bytes"].clone()
}

fn is_over(reply: &Reply, current: &Value) {
    let error = format!("Plan limit exceeded: stored_bytes ({current} of {LIMIT})");
    let expected = json!({
        "error": error,
        "code": "plan_limit_exceeded",
        "resource": "stored_bytes",
        "plan": "small",
        "limit": LIMIT,
        "current": current,
    });
    assert_eq!(reply.is(429).json(), expected);
}

async fn every_write_counts_for_the_team(kind: Kind) {
    let app = small(kind).await;
    let (alice, web, shop) = filled(&app).await;
    let one = paths::secret(&web, "staging", "ONE");
    let before = stored(&alice).await;
    assert_eq!(before["limit"], LIMIT);
    let current = &before["used"];

    let create = json!({ "key": "NEW", "value": "v".repeat(1_200) });
    let set = |environment: &str, length: usize| {
        let value = "v".repeat(length);
        json!({ "environment": environment, "key": "NEW", "action": "set", "value": value })
    };
    let changes = json!({ "changes": [set("development", 600), set("production", 600)] });
    let bulk = paths::secret(&shop, "staging", "bulk");
    let refused = [
        alice.post(&paths::secrets(&shop, "staging"), &create).await,
        // The previous version is kept, so the total size grows.
        alice.put(&one, &value(3_500)).await,
        alice.put(&one, &json!({ "description": "d".repeat(500), "value": "v".repeat(900) })).await,
        alice.post(&bulk, &json!({ "secrets": [create] })).await,
        alice.post(&format!("{web}/changes"), &changes).await,
    ];

    for reply in &refused {
        is_over(reply, current);
    }
    assert_eq!(stored(&alice).await, before);
    let changes = json!({ "changes": [
        { "environment": "staging", "key": "ONE", "action": "delete" }, set("production", 3_000),
    ] });
    alice.post(&format!("{web}/changes"), &changes).await.is(200);
    alice.secret(&web, "staging", "SMALL", "kvc_small").await;
}

async fn a_rollback_counts_for_the_team(kind: Kind) {
    let app = small(kind).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "ONE", &"v".repeat(4_000)).await;
    let one = paths::secret(&web, "staging", "ONE");
    alice.put(&one, &value(10)).await.is(200);
    alice.secret(&web, "production", "TWO", &"v".repeat(1_000)).await;
    let before = stored(&alice).await["used"].clone();

    let back = alice.post(&format!("{one}/rollback"), &json!({ "version": 1 })).await;

    is_over(&back, &before);
}

async fn a_deleted_project_counts_until_it_is_purged(kind: Kind) {
    let app = small(kind).await;
    let (alice, web, shop) = filled(&app).await;
    let before = stored(&alice).await;
    let create = json!({ "key": "NEW", "value": "v".repeat(1_200) });

    alice.delete(&shop).await.is(204);

    assert_eq!(stored(&alice).await, before);
    is_over(&alice.post(&paths::secrets(&web, "staging"), &create).await, &before["used"]);
    alice.post(&format!("{shop}/restore"), &json!({})).await.is(200);
    assert_eq!(stored(&alice).await, before);
}

async fn deleted_secrets_make_room_in_other_projects(kind: Kind) {
    let app = small(kind).await;
    let (alice, web, shop) = filled(&app).await;

    alice.delete(&paths::secret(&shop, "production", "TWO")).await.is(204);

    alice.secret(&web, "production", "NEW", &"v".repeat(3_500)).await;
}

async fn the_swap_of_a_rotation_is_not_refused_for_the_team(kind: Kind) {
    let app = small(kind).await;
    let main = Rotated::create(&app, "alice").await;
    main.person.secret(&main.project, "production", "LARGE", &"v".repeat(7_500)).await;

    main.succeed().await;

    let more = json!({ "key": "MORE", "value": "v".repeat(700) });
    let refused = main.person.post(&paths::secrets(&main.project, "staging"), &more).await;
    assert_eq!(refused.is(429).json()["resource"], "stored_bytes");
}

on_every_store![;
    every_write_counts_for_the_team,
    a_rollback_counts_for_the_team,
    a_deleted_project_counts_until_it_is_purged,
    deleted_secrets_make_room_in_other_projects,
    the_swap_of_a_rotation_is_not_refused_for_the_team,
];
