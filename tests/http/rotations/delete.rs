//! Tests of deleting rotations, with or without the secrets and users that they created.

use chrono::TimeDelta;
use secrets_core::model::{Clock as _, RotationId, ids};
use secrets_core::ports::rotator::Fault;
use secrets_core::projects::purge;
use secrets_core::rotations;
use secrets_core::testing::fixtures;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Build, Kind, Rotated, on_every_store, paths, postgresql, until};
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
    let entry = app.entry(&main.person.team, "rotation.revoked").await;
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    let mut deleted: Vec<_> = details["deleted_secrets"].as_array().unwrap().clone();
    deleted.sort_by_key(Value::to_string);
    let keys = ["DATABASE", "HOST", "PASSWORD", "PORT", "URL", "USERNAME"];
    assert_eq!(deleted, keys.map(|key| format!("MAIN_DB_{key}")));
    let entry = app.entry(&main.person.team, "rotation.deleted").await;
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(details.get("users_left_in_place"), None);
}

async fn an_attempt_ends_with_the_revocation_of_its_rotation(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let (rotation, calls) = (main.record(&app).await, app.database.calls().len());
    app.database.script("apply", [Script::Hang]);
    let (rotate, body) = (format!("{}/rotate", main.path), json!({}));
    let revoke = async {
        until("a call", async || app.database.calls().len() > calls).await;
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

async fn the_users_left_by_a_failed_revocation_are_recorded(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    app.database.script("lock", [Script::Fail(Fault::Unreachable)]);
    main.person.delete(&format!("{}?revoke=true", main.path)).await.is(503);

    main.person.delete(&main.path).await.is(204);

    let entry = app.entry(&main.person.team, "rotation.deleted").await;
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(details["users_left_in_place"].as_array().unwrap().len(), 2);
}

async fn an_environment_is_purged_after_the_last_lease_of_an_attempt(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;
    let all = paths::rotations(&web, "preview");
    let mut body = postgresql("main-db");
    body["rotate_immediately"] = json!(true);
    let id = alice.post(&all, &body).await.is(201).id();
    let (engine, now) = (app.service.engine(), app.clock.now());
    let mut tx = app.store.begin().await.unwrap();
    let record = tx.rotation(RotationId::from(ids::parse(&id).unwrap())).await.unwrap().unwrap();
    tx.insert_attempt(&fixtures::attempt(&record, 1)).await.unwrap();
    let until = now + TimeDelta::minutes(1);
    assert!(tx.acquire_lease(record.id, now, until).await.unwrap().is_some());
    tx.commit().await.unwrap();

    alice.delete(&paths::environment(&web, "preview")).await.is(204);

    let entry = app.entry(&alice.team, "environment.deleted").await;
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(details["users_left_in_place"].as_array().unwrap().len(), 2);
    assert_eq!(purge(engine).await.unwrap(), 0, "a worker works on the attempt");
    app.wait(TimeDelta::minutes(1));
    assert!(rotations::claim_rotations(engine).await.unwrap().is_empty());
    assert_eq!(purge(engine).await.unwrap(), 1);
}

async fn a_rotation_that_waits_an_hour_after_a_failure_can_be_revoked(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let (username, password) = main.served().await;
    let (rotation, now) = (main.record(&app).await.id, app.clock.now());
    // Takes the lease that delays the next attempt, after the leases of workers are released.
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
    the_users_left_by_a_failed_revocation_are_recorded,
    a_rotation_that_waits_an_hour_after_a_failure_can_be_revoked,
    whether_to_revoke_is_true_or_false,
    an_unknown_rotation_is_not_deleted,
    the_name_of_a_deleted_rotation_is_free_and_its_keys_are_not;
    an_environment_is_purged_after_the_last_lease_of_an_attempt,
];
