//! Tests of rows of secrets that were replaced by earlier copies, inserted or deleted. Each record
//! decrypts; only the manifest of the environment shows the change.

use std::sync::Arc;

use secrets_core::keys::{accept_restore, replace_project_keys, request_project_keys};
use secrets_core::model::Clock as _;
use secrets_core::service::{MANIFESTS, VerifiedRecords};
use secrets_tests::{App, Rotated, paths};
use serde_json::json;

use super::Victim;

/// Statement that copies all secrets to another table.
const COPY: &str = "CREATE TABLE copies AS SELECT * FROM secrets";

async fn verified(app: &App) -> VerifiedRecords {
    app.service.verify_records().await.unwrap()
}

/// Asserts that the secrets of all environments match their manifests.
async fn assert_all_match(app: &App, environments: u64, what: &str) {
    let verified = verified(app).await;
    assert_eq!(verified.changed_environments, [], "{what}");
    assert_eq!(verified.environments, environments, "{what}");
}

/// Runs the worker that compares the secrets with the manifests. Returns the number of environments
/// that it reports.
async fn reported(app: &App) -> u64 {
    let count = || {
        let failures = app.service.engine().counts().decryption_failures;
        failures.into_iter().find(|(reason, _)| *reason == "manifest").unwrap().1
    };
    let before = count();
    (MANIFESTS.job)(Arc::clone(app.service.engine())).await.unwrap();
    count() - before
}

async fn a_secret_that_was_replaced_by_its_earlier_row_is_reported(app: App) {
    let victim = Victim::of(app).await;
    let app = &victim.app;
    let path = paths::secret(&victim.project, "development", "ONE");
    let first = victim.person.get(&path).await.is(200).json()["secret"]["value"].clone();
    app.sql(COPY).await;
    victim.person.put(&path, &json!({ "value": "kvc_second" })).await.is(200);
    assert_all_match(app, 3, "before").await;
    assert_eq!(reported(app).await, 0);

    let replay = "DELETE FROM secrets WHERE version = 2;
        INSERT INTO secrets SELECT * FROM copies WHERE id NOT IN (SELECT id FROM secrets)";
    app.sql(replay).await;

    // The earlier row is valid by itself.
    let restarted = app.restarted().await;
    let read = restarted.bearer(&app.jwt("ann")).get(&path).await.is(200).json();
    assert_eq!(read["secret"]["value"], first);
    assert_eq!(verified(app).await.changed_environments.len(), 1);
    assert_eq!(reported(app).await, 1);
    // Later writes do not make the manifest valid again.
    victim.person.put(&path, &json!({ "value": "kvc_third" })).await.is(200);
    assert_eq!(verified(app).await.changed_environments.len(), 1);
    assert_eq!(reported(app).await, 1);

    accept_restore(app.service.engine(), None, true).await.unwrap();

    assert_eq!(verified(app).await.changed_environments.len(), 0);
    assert_eq!(reported(app).await, 0);
    assert_all_match(app, 3, "after").await;
}

async fn every_change_of_rows_is_reported(app: App) {
    let victim = Victim::of(app).await;
    let app = &victim.app;
    app.sql(COPY).await;
    app.sql("CREATE TABLE manifests AS SELECT id, manifest FROM environments").await;
    let deleted = paths::secret(&victim.project, "staging", "ONE");
    victim.person.delete(&deleted).await.is(204);
    assert_all_match(app, 3, "before").await;
    app.sql("CREATE TABLE current AS SELECT * FROM secrets").await;

    for (what, change, environments) in [
        ("a deleted row", "DELETE FROM secrets WHERE key = 'TWO'", 1),
        (
            "a deleted secret that was inserted again",
            "INSERT INTO secrets SELECT * FROM copies WHERE id NOT IN (SELECT id FROM secrets)",
            1,
        ),
        ("another version", "UPDATE secrets SET version = 7 WHERE key = 'TWO'", 1),
        ("a hidden secret", "UPDATE secrets SET hidden = TRUE WHERE key = 'TWO'", 1),
        (
            "moved secrets",
            "UPDATE secrets SET environment_id = (SELECT id FROM environments WHERE name = 'staging')",
            2,
        ),
        ("all deleted", "DELETE FROM secrets", 1),
    ] {
        app.sql(change).await;
        assert_eq!(verified(app).await.changed_environments.len(), environments, "{what}");
        app.sql("DELETE FROM secrets; INSERT INTO secrets SELECT * FROM current").await;
        assert_all_match(app, 3, what).await;
    }

    for change in [
        "UPDATE environments SET manifest = NULL, manifest_revision = NULL WHERE name = 'production';
            UPDATE environments SET manifest_revision = NULL WHERE name = 'staging'",
        "UPDATE environments SET manifest_revision = -1 WHERE name = 'staging'",
        "UPDATE environments SET manifest = '' WHERE name = 'staging'",
    ] {
        app.sql(change).await;
        assert_eq!(verified(app).await.changed_environments.len(), 1, "{change}");
    }
    // An environment without a valid manifest can be written.
    victim.person.secret(&victim.project, "staging", "NEW", "kvc_new").await;

    let swap = "UPDATE environments SET manifest = (
            SELECT manifests.manifest FROM manifests WHERE manifests.id <> environments.id
                AND manifests.manifest IS NOT NULL ORDER BY manifests.id LIMIT 1)
        WHERE name = 'development'";
    app.sql(swap).await;
    assert_eq!(verified(app).await.changed_environments.len(), 2, "another manifest");
}

async fn rows_that_cannot_be_read_are_reported_with_the_changed_rows_of_later_environments(
    app: App,
) {
    let victim = Victim::of(app).await;
    let app = &victim.app;
    assert_eq!(reported(app).await, 0);
    let change = |assignment: &str, environment: &str| {
        format!(
            "UPDATE secrets SET {assignment} WHERE environment_id =
                 (SELECT id FROM environments WHERE name = '{environment}')"
        )
    };

    // The worker compares the environments in the order of their IDs: `development` first.
    app.sql(&change("version = -1", "development")).await;
    app.sql(&change("version = 7", "staging")).await;

    assert_eq!(reported(app).await, 2);
}

async fn an_environment_without_a_current_manifest_gets_one(app: App) {
    let victim = Victim::of(app).await;
    let app = &victim.app;
    // `development` has no manifest, as in a database of an earlier version. `staging` is as after
    // a write by an earlier version.
    app.sql("UPDATE environments SET manifest = NULL WHERE name = 'development'").await;
    app.sql("UPDATE environments SET revision = revision + 1 WHERE name = 'staging'").await;
    let path = paths::secret(&victim.project, "development", "ONE");
    victim.person.put(&path, &json!({ "value": "kvc_second" })).await.is(200);
    assert_all_match(app, 1, "before").await;

    assert_eq!(reported(app).await, 0);

    assert_all_match(app, 3, "after").await;
    victim.person.put(&path, &json!({ "value": "kvc_third" })).await.is(200);
    assert_all_match(app, 3, "a write afterwards").await;
}

async fn every_write_updates_the_manifest(app: App) {
    let victim = Victim::of(app).await;
    let (app, ann) = (&victim.app, &victim.person);
    assert_all_match(app, 3, "created").await;
    let secrets = paths::secrets(&victim.project, "development");
    let one = paths::secret(&victim.project, "development", "ONE");

    ann.put(&one, &json!({ "value": "kvc_second" })).await.is(200);
    assert_all_match(app, 3, "updated").await;
    ann.put(&one, &json!({ "description": "kvc_about" })).await.is(200);
    assert_all_match(app, 3, "described").await;
    ann.put(&one, &json!({ "hidden": true })).await.is(200);
    assert_all_match(app, 3, "hidden").await;
    ann.post(&format!("{one}/rollback"), &json!({ "version": 1 })).await.is(200);
    assert_all_match(app, 3, "rolled back").await;
    let values = ["ONE", "TWO", "THREE"].map(|key| json!({ "key": key, "value": "kvc_bulk" }));
    let import = json!({ "overwrite": true, "secrets": values });
    ann.post(&format!("{secrets}/bulk"), &import).await.is(200);
    assert_all_match(app, 3, "imported").await;
    ann.delete(&one).await.is(204);
    assert_all_match(app, 3, "deleted").await;
    // A refused write does not change the manifest.
    ann.post(&secrets, &json!({ "key": "TWO", "value": "kvc_again" })).await.is(409);
    assert_all_match(app, 3, "refused").await;

    let main = Rotated::create(app, "bob").await;
    main.succeed().await;
    main.succeed().await;
    assert_all_match(app, 6, "rotated").await;

    request_project_keys(app.store.as_ref(), app.clock.now()).await.unwrap();
    replace_project_keys(app.service.engine()).await.unwrap();
    assert_all_match(app, 6, "encrypted with new keys").await;
    assert_eq!(reported(app).await, 0);

    main.person.delete(&format!("{}?revoke=true", main.path)).await.is(204);
    assert_all_match(app, 6, "revoked").await;
}

secrets_tests::on_sql_stores!(
    a_secret_that_was_replaced_by_its_earlier_row_is_reported,
    every_change_of_rows_is_reported,
    rows_that_cannot_be_read_are_reported_with_the_changed_rows_of_later_environments,
    an_environment_without_a_current_manifest_gets_one,
    every_write_updates_the_manifest,
);
