//! Tests of the plan limits for rotations.

use secrets_core::engine::Options;
use secrets_core::model::{Plan, Plans, Quota};
use secrets_tests::{App, Build, Kind, Rotated, on_every_store, paths, postgresql};
use serde_json::{Value, json};

/// Starts a server whose teams may have two rotations, and at most `secrets` secrets in an
/// environment.
async fn small(kind: Kind, secrets: u64) -> App {
    let limits = [(Quota::Rotations, 2), (Quota::Secrets, secrets)];
    let plan = Plan::new("small".parse().unwrap(), limits).unwrap();
    let plans = Plans::with([plan]).by_default("small").unwrap();
    Build::on(kind).options(Options { plans, ..Options::default() }).start().await
}

async fn a_rotation_too_many_is_429(kind: Kind) {
    let app = small(kind, 100).await;
    let main = Rotated::create(&app, "alice").await;
    let api = main.person.project("Api").await;
    main.person.post(&paths::rotations(&api, "staging"), &postgresql("second")).await.is(201);

    let reply = main.person.post(&paths::rotations(&api, "staging"), &postgresql("third")).await;

    assert_eq!(
        reply.is(429).json(),
        json!({
            "error": "Plan limit exceeded: rotations (2 of 2)",
            "code": "plan_limit_exceeded",
            "resource": "rotations",
            "plan": "small",
            "limit": 2,
            "current": 2,
        })
    );
    assert_eq!(reply.header("retry-after"), None);
    main.person.get(&paths::rotation(&api, "staging", "third")).await.is(404);
    let bob = Rotated::create(&app, "bob").await;
    bob.succeed().await;
}

async fn a_deleted_rotation_makes_room(kind: Kind) {
    let app = small(kind, 100).await;
    let main = Rotated::create(&app, "alice").await;
    let path = paths::rotations(&main.project, "staging");
    main.person.post(&path, &postgresql("second")).await.is(201);
    main.person.post(&path, &postgresql("third")).await.is(429);

    main.person.delete(&main.path).await.is(204);

    main.person.post(&path, &postgresql("third")).await.is(201);
}

async fn concurrent_requests_do_not_exceed_the_limit(kind: Kind) {
    let app = small(kind, 100).await;
    let main = Rotated::create(&app, "alice").await;
    let path = paths::rotations(&main.project, "staging");
    let [second, third] = [postgresql("second"), postgresql("third")];

    let (second, third) =
        tokio::join!(main.person.post(&path, &second), main.person.post(&path, &third));

    let mut statuses = [second.status, third.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 429]);
}

async fn rotations_of_a_restored_project_count_again(kind: Kind) {
    let app = small(kind, 100).await;
    let main = Rotated::create(&app, "alice").await;
    let restore = format!("{}/restore", main.project);
    main.person.delete(&main.project).await.is(204);
    let api = main.person.project("Api").await;
    for name in ["second", "third"] {
        main.person.post(&paths::rotations(&api, "staging"), &postgresql(name)).await.is(201);
    }

    let refused = main.person.post(&restore, &json!({})).await;

    let refused = refused.is(429).code("plan_limit_exceeded").json();
    assert_eq!((&refused["resource"], &refused["current"]), (&json!("rotations"), &json!(2)));
    main.person.get(&main.project).await.is(404);
    main.person.delete(&paths::rotation(&api, "staging", "third")).await.is(204);
    main.person.post(&restore, &json!({})).await.is(200);
}

async fn usage_has_the_number_of_rotations(kind: Kind) {
    let app = small(kind, 100).await;
    let main = Rotated::create(&app, "alice").await;
    let usage = format!("/api/v1/teams/{}/usage", main.person.team);
    let used = async || -> Value {
        main.person.get(&usage).await.is(200).json()["usage"]["rotations"].clone()
    };

    assert_eq!(used().await, json!({ "used": 1, "limit": 2 }));
    main.person.delete(&main.project).await.is(204);
    assert_eq!(used().await, json!({ "used": 0, "limit": 2 }));
}

async fn secrets_that_the_plan_has_no_room_for_are_not_written(kind: Kind) {
    let app = small(kind, 5).await;
    let main = Rotated::create(&app, "alice").await;

    let entry = main.rotate().await;

    let message = "the new credential could not be written: Plan limit exceeded: secrets (0 of 5)";
    assert_eq!([&entry["status"], &entry["error_message"]], ["rolled_back", message]);
    let shown = main.shown().await;
    assert_eq!([&shown["status"], &shown["error_message"]], ["error", message]);
    assert_eq!(shown["injected_secrets"], json!([]));
    let read = main.reader.get(&paths::eso_secrets(&main.project, "staging")).await;
    assert_eq!(read.is(200).json(), json!({ "secrets": {} }));
}

on_every_store![;
    a_rotation_too_many_is_429,
    a_deleted_rotation_makes_room,
    concurrent_requests_do_not_exceed_the_limit,
    rotations_of_a_restored_project_count_again,
    usage_has_the_number_of_rotations,
    secrets_that_the_plan_has_no_room_for_are_not_written,
];
