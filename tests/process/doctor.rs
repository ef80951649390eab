//! `doctor verify`: checks all stored data.

use std::path::PathBuf;
use std::time::Duration;

use secrets_tests::{Person, canary};
use serde_json::json;

use crate::program::{Ended, Program, folder, jwt, root_key, sql};

/// Creates a database with a secret of two versions and a description.
async fn filled(name: &str) -> PathBuf {
    let database = folder(name).join("secrets.db");
    let mut program = Program::serve(name, &database).start();
    let client = program.bearer(&jwt("alice"));
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let alice = Person::new(client, &user);
    let project = alice.project("Doctor").await;
    alice.secret(&project, "production", "KEY", &canary("doctor")).await;
    let path = format!("{project}/environments/production/secrets/KEY");
    let change = json!({ "value": canary("again"), "description": canary("described") });
    alice.put(&path, &change).await.is(200);
    let gone = alice.project("Gone").await;
    alice.secret(&gone, "production", "KEY", &canary("gone")).await;
    alice.delete(&gone).await.is(204);
    // The sealing job runs when the next server starts.
    program.terminate(Duration::from_secs(10));
    let mut program = Program::serve(name, &database).start();
    tokio::time::sleep(Duration::from_millis(500)).await;
    program.terminate(Duration::from_secs(10));
    database
}

fn verify(name: &str, database: &std::path::Path) -> Ended {
    Program::new(name, &["doctor", "verify"])
        .with("SECRETS_DATABASE_URL", &format!("sqlite://{}", database.display()))
        .with("SECRETS_ROOT_KEY", &root_key(7))
        .run()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unchanged_database_is_valid() {
    let database = filled("doctor_well").await;

    let ended = verify("doctor_well", &database);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("2 secrets with 4 records decrypted"), "{}", ended.stdout);
    assert!(ended.stdout.contains("7 entries in 1 chains"), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_version_that_was_changed_is_found() {
    let database = filled("doctor_version").await;
    sql(&database, "UPDATE secret_versions SET sealed = (SELECT sealed FROM secrets)").await;

    let ended = verify("doctor_version", &database);

    assert_eq!(ended.code, Some(65), "{}", ended.stdout);
    assert!(ended.stdout.contains(": a record cannot be decrypted"), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_without_a_key_is_found_and_the_rest_is_verified() {
    let database = folder("doctor_key").join("secrets.db");
    let mut program = Program::serve("doctor_key", &database).start();
    let client = program.bearer(&jwt("alice"));
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let alice = Person::new(client, &user);
    let lost = alice.project("Lost").await;
    alice.secret(&lost, "production", "KEY", &canary("lost")).await;
    let kept = alice.project("SealedField").await;
    for number in 0..7 {
        alice.secret(&kept, "production", &format!("K{number}"), &canary("kept")).await;
    }
    program.terminate(Duration::from_secs(10));
    let erasing = "DELETE FROM project_keys
                WHERE project_id = (SELECT id FROM projects WHERE name = 'Lost')";
    sql(&database, erasing).await;

    let ended = verify("doctor_key", &database);

    assert_eq!(ended.code, Some(65), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("7 secrets with 7 records decrypted"), "{}", ended.stdout);
    assert!(ended.stdout.contains(": a record cannot be decrypted"), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_of_the_log_that_was_changed_is_found() {
    let database = filled("doctor_log").await;
    sql(&database, "UPDATE audit_log SET action = 'secret.read' WHERE position = 3").await;

    let ended = verify("doctor_log", &database);

    assert_eq!(ended.code, Some(65), "{}", ended.stdout);
    assert!(ended.stdout.contains("broken at position 3"), "{}", ended.stdout);
}
