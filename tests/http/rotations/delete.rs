//! Tests of deleting rotations, with or without the secrets and users that they created.

use std::time::Duration;

use chrono::TimeDelta;
use secrets_core::model::Clock as _;
use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Rotated, on_every_store, paths, postgresql};
use serde_json::{Value, json};

async fn secrets_and_users_stay_when_a_rotation_is_deleted(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let previous = main.served().await;
    main.succeed().await;

    let reply = main.person.delete(&main.path).await;

    assert_eq!(reply.is(204).text(), "");
    main.works(&app).await;
    assert!(app.database.admits(&previous.0, &previous.1));
    main.person.get(&main.path).await.is(404);
    main.person.get(&format!("{}/history", main.path)).await.is(404);
    let all = paths::rotations(&main.project, "staging");
    assert_eq!(main.person.get(&all).await.is(200).json(), json!({ "rotations": [] }));
}

async fn a_deletion_is_recorded_with_the_remaining_users(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let user = main.served().await.0;

    main.person.delete(&main.path).await.is(204);

    let entry = app.entry(&main.person.team, "rotation.deleted").await;
    assert_eq!(entry.resource_name.as_deref(), Some("main-db"));
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(details["users_left_in_place"][0], user);
    assert_eq!(details["users_left_in_place"].as_array().unwrap().len(), 2);
}

async fn revoking_deletes_the_secrets_and_shuts_both_users_out(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let previous = main.served().await;
    main.succeed().await;
    let served = main.served().await;
    main.person.secret(&main.project, "staging", "MINE", "kvc_mine").await;

    let reply = main.person.delete(&format!("{}?revoke=true", main.path)).await;

    assert_eq!(reply.is(204).text(), "");
    for (username, password) in [previous, served] {
        assert!(!app.database.admits(&username, &password));
        assert!(app.database.is_shut_out(&username));
    }
    let read = main.reader.get(&paths::eso_secrets(&main.project, "staging")).await;
    assert_eq!(read.is(200).json(), json!({ "secrets": { "MINE": "kvc_mine" } }));
    main.person.get(&main.path).await.is(404);
    app.entry(&main.person.team, "rotation.revoked").await;
    app.entry(&main.person.team, "rotation.deleted").await;
}

async fn an_attempt_ends_with_the_revocation_of_its_rotation(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let (rotation, calls) = (main.record(&app).await, app.database.calls().len());
    app.database.script("apply", [Script::Hang]);
    let (rotate, body) = (format!("{}/rotate", main.path), json!({}));
    let revoke = async {
        while app.database.calls().len() == calls {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        main.person.delete(&format!("{}?revoke=true", main.path)).await.is(204);
    };

    let (waiting, ()) = tokio::join!(main.person.post(&rotate, &body), revoke);

    assert!([200, 404].contains(&waiting.status), "{}", waiting.text());
    // The target refuses commands of the attempt that arrive late.
    let attempt = rotation.sequence + 1;
    assert!(app.database.fence(rotation.id).unwrap() > attempt);
    let read = main.reader.get(&paths::eso_secrets(&main.project, "staging")).await;
    assert_eq!(read.is(200).json(), json!({ "secrets": {} }));
}

async fn a_rotation_that_never_ran_can_be_revoked(app: App) {
    let main = Rotated::create(&app, "alice").await;

    main.person.delete(&format!("{}?revoke=true", main.path)).await.is(204);

    main.person.get(&main.path).await.is(404);
    main.person.secret(&main.project, "staging", "MAIN_DB_URL", "kvc_mine").await;
}

async fn a_failed_revocation_can_be_repeated(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let (username, password) = main.served().await;
    app.database.script("lock", [Script::Fail(Fault::Unreachable)]);
    let revoke = format!("{}?revoke=true", main.path);

    let reply = main.person.delete(&revoke).await;

    reply.is(503).code("unavailable");
    assert!(reply.header("retry-after").is_some());
    let shown = main.shown().await;
    assert_eq!(shown["status"], "disabled");
    assert!(shown["error_message"].as_str().unwrap().contains("delete it again"));
    assert!(app.database.admits(&username, &password));
    main.person.post(&format!("{}/rotate", main.path), &json!({})).await.is(403);
    main.person.delete(&revoke).await.is(204);
    assert!(app.database.is_shut_out(&username));
}

async fn a_rotation_that_waits_an_hour_after_a_failure_can_be_revoked(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let (username, password) = main.served().await;
    let (rotation, now) = (main.record(&app).await.id, app.clock.now());
    // The lease that delays the next try. Another worker may still hold its lease.
    let mut tx = app.store.begin().await.unwrap();
    tx.release_all_leases().await.unwrap();
    let lease = tx.acquire_lease(rotation, now, now + TimeDelta::hours(1)).await.unwrap();
    tx.commit().await.unwrap();
    assert!(lease.is_some());

    main.person.delete(&format!("{}?revoke=true", main.path)).await.is(204);

    assert!(!app.database.admits(&username, &password));
    assert!(app.database.is_shut_out(&username));
    main.person.get(&main.path).await.is(404);
}

async fn whether_to_revoke_is_true_or_false(app: App) {
    let main = Rotated::create(&app, "alice").await;

    for query in ["revoke=perhaps", "revoke=", "revoke=true&revoke=true"] {
        main.person.delete(&format!("{}?{query}", main.path)).await.is(400).names("revoke");
    }
    main.person.delete(&format!("{}?revoke=false", main.path)).await.is(204);
}

async fn an_unknown_rotation_is_not_deleted(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let path = paths::rotation(&main.project, "staging", "none");

    main.person.delete(&path).await.is(404).says("rotation not found");
    main.person.delete(&format!("{path}?revoke=true")).await.is(404).says("rotation not found");
}

async fn the_name_of_a_deleted_rotation_is_free_and_its_keys_are_not(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.person.delete(&main.path).await.is(204);
    let all = paths::rotations(&main.project, "staging");

    // The secrets that the rotation wrote still exist, as ordinary secrets.
    main.person.post(&all, &postgresql("main-db")).await.is(400).code("already_exists");
    for key in ["USERNAME", "PASSWORD", "HOST", "PORT", "DATABASE", "URL"] {
        let key = format!("MAIN_DB_{key}");
        main.person.delete(&paths::secret(&main.project, "staging", &key)).await.is(204);
    }

    main.person.post(&all, &postgresql("main-db")).await.is(201);
    main.succeed().await;
    main.works(&app).await;
}

on_every_store![
    secrets_and_users_stay_when_a_rotation_is_deleted,
    a_deletion_is_recorded_with_the_remaining_users,
    revoking_deletes_the_secrets_and_shuts_both_users_out,
    an_attempt_ends_with_the_revocation_of_its_rotation,
    a_rotation_that_never_ran_can_be_revoked,
    a_failed_revocation_can_be_repeated,
    a_rotation_that_waits_an_hour_after_a_failure_can_be_revoked,
    whether_to_revoke_is_true_or_false,
    an_unknown_rotation_is_not_deleted,
    the_name_of_a_deleted_rotation_is_free_and_its_keys_are_not,
];
