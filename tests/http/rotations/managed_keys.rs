//! Tests of secret keys that are reserved for a rotation: as soon as the rotation exists, only the
//! rotation can write them.

use secrets_tests::{App, Person, Rotated, in_memory_and_on_postgres, paths, postgresql};
use serde_json::json;

const KEYS: [&str; 6] = [
    "MAIN_DB_USERNAME",
    "MAIN_DB_PASSWORD",
    "MAIN_DB_HOST",
    "MAIN_DB_PORT",
    "MAIN_DB_DATABASE",
    "MAIN_DB_URL",
];

async fn keys_are_reserved_before_a_rotation_writes_them(app: App) {
    let main = Rotated::create(&app, "alice").await;

    for key in KEYS {
        let body = json!({ "key": key, "value": "kvc_mine" });
        let reply = main.person.post(&paths::secrets(&main.project, "staging"), &body).await;

        reply.is(409).says("a rotation of this environment writes this key");
        main.person.get(&paths::secret(&main.project, "staging", key)).await.is(404);
    }
}

async fn a_rotation_does_not_take_a_key_that_is_there(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "MAIN_DB_URL", "kvc_mine").await;
    let path = paths::rotations(&web, "staging");

    let reply = alice.post(&path, &postgresql("main-db")).await;

    let error = "this rotation would write MAIN_DB_URL, which already exists in the environment; choose another key with secret_mapping";
    reply.is(400).code("already_exists").says(error);
    let mut body = postgresql("main-db");
    body["secret_mapping"] = json!({ "url": "MAIN_DB_ADDRESS" });
    alice.post(&path, &body).await.is(201);
}

async fn two_rotations_do_not_write_the_same_key(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let mut body = postgresql("other");
    body["secret_mapping"] = json!({ "host": "MAIN_DB_HOST" });

    let reply = main.person.post(&paths::rotations(&main.project, "staging"), &body).await;

    reply.is(400).code("already_exists");
    assert!(reply.text().contains("MAIN_DB_HOST"), "{}", reply.text());
    // A rotation with the name `main_db` has the same secret keys.
    let body = postgresql("main_db");
    let reply = main.person.post(&paths::rotations(&main.project, "staging"), &body).await;
    reply.is(400).code("already_exists");
}

async fn a_secret_that_a_rotation_wrote_cannot_be_changed(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.succeed().await;
    let path = paths::secret(&main.project, "staging", "MAIN_DB_PASSWORD");
    let before = main.served().await;

    let value = json!({ "value": "kvc_mine" });
    main.person.put(&path, &value).await.is(400).code("managed_key");
    main.person.put(&path, &json!({ "hidden": true })).await.is(400).code("managed_key");
    main.person.delete(&path).await.is(400).code("managed_key");
    let rollback = json!({ "version": 1 });
    main.person.post(&format!("{path}/rollback"), &rollback).await.is(400).code("managed_key");

    assert_eq!(main.served().await, before);
    main.works(&app).await;
}

async fn an_import_that_would_change_a_managed_secret_changes_nothing(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let before = main.served().await;
    let bulk = paths::secret(&main.project, "staging", "bulk");
    let secrets = json!([
        { "key": "MINE", "value": "kvc_mine" },
        { "key": "MAIN_DB_PASSWORD", "value": "kvc_mine" },
    ]);

    let body = json!({ "secrets": secrets, "overwrite": true });
    let reply = main.person.post(&bulk, &body).await;

    reply.is(400).code("managed_key");
    assert_eq!(main.served().await, before);
    main.person.get(&paths::secret(&main.project, "staging", "MINE")).await.is(404);
}

async fn an_import_does_not_take_a_key_before_it_is_written(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let bulk = paths::secret(&main.project, "staging", "bulk");
    let secrets = json!([{ "key": "MAIN_DB_PASSWORD", "value": "kvc_mine" }]);

    for overwrite in [false, true] {
        let body = json!({ "secrets": secrets, "overwrite": overwrite });
        main.person.post(&bulk, &body).await.is(400).code("managed_key");
    }
    main.succeed().await;
}

async fn an_import_without_overwrite_skips_managed_secrets(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let before = main.served().await;
    let bulk = paths::secret(&main.project, "staging", "bulk");
    let secrets = json!([
        { "key": "MINE", "value": "kvc_mine" },
        { "key": "MAIN_DB_PASSWORD", "value": "kvc_mine" },
    ]);

    let body = json!({ "secrets": secrets, "overwrite": false });
    main.person.post(&bulk, &body).await.is(200);

    assert_eq!(main.served().await, before);
    main.person.get(&paths::secret(&main.project, "staging", "MINE")).await.is(200);
}

async fn a_child_environment_may_override_a_managed_secret(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let (person, project) = (&main.person, &main.project);
    person.environment(project, "preview", Some("staging")).await;
    let path = paths::secret(project, "preview", "MAIN_DB_HOST");
    assert_eq!(value(person, &path).await, "db.example.com");

    person.secret(project, "preview", "MAIN_DB_HOST", "kvc_preview").await;

    assert_eq!(value(person, &path).await, "kvc_preview");
    person.put(&path, &json!({ "value": "kvc_again" })).await.is(200);
    person.delete(&path).await.is(204);
    assert_eq!(value(person, &path).await, "db.example.com");
}

async fn secrets_are_ordinary_once_their_rotation_is_deleted(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.person.delete(&main.path).await.is(204);
    let path = paths::secret(&main.project, "staging", "MAIN_DB_PASSWORD");
    main.works(&app).await;

    main.person.put(&path, &json!({ "value": "kvc_mine" })).await.is(200);
    main.person.delete(&path).await.is(204);
    main.person.secret(&main.project, "staging", "MAIN_DB_PASSWORD", "kvc_mine").await;
}

async fn value(person: &Person, path: &str) -> serde_json::Value {
    person.get(path).await.is(200).json()["secret"]["value"].clone()
}

in_memory_and_on_postgres![
    keys_are_reserved_before_a_rotation_writes_them,
    a_rotation_does_not_take_a_key_that_is_there,
    two_rotations_do_not_write_the_same_key,
    a_secret_that_a_rotation_wrote_cannot_be_changed,
    an_import_that_would_change_a_managed_secret_changes_nothing,
    an_import_does_not_take_a_key_before_it_is_written,
    an_import_without_overwrite_skips_managed_secrets,
    a_child_environment_may_override_a_managed_secret,
    secrets_are_ordinary_once_their_rotation_is_deleted,
];
