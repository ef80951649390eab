//! Tests of the command `doctor`, which verifies and measures all stored data.

use std::path::PathBuf;
use std::time::Duration;

use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::{Person, canary};
use serde_json::{Value, json};
use sqlx::{Connection as _, SqliteConnection};

use crate::program::{Ended, Program, folder, jwt, root_key, sql};

/// Creates a database file with a secret that has two versions and a description, and with a
/// deleted project. Returns the path of the file.
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
async fn a_row_that_cannot_be_decoded_is_found_and_the_rest_is_verified() {
    let database = folder("doctor_row").join("secrets.db");
    let mut program = Program::serve("doctor_row", &database).start();
    let client = program.bearer(&jwt("alice"));
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let alice = Person::new(client, &user);
    let project = alice.project("Rows").await;
    for number in 0..7 {
        alice.secret(&project, "production", &format!("K{number}"), &canary("row")).await;
    }
    program.terminate(Duration::from_secs(10));
    sql(&database, "UPDATE secrets SET version = -1 WHERE key = 'K3'").await;

    let ended = verify("doctor_row", &database);

    assert_eq!(ended.code, Some(65), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("6 secrets with 6 records decrypted"), "{}", ended.stdout);
    assert!(ended.stdout.contains(": a record cannot be decrypted"), "{}", ended.stdout);
    assert!(ended.stdout.contains("audit log: "), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_of_the_log_that_was_changed_is_found() {
    let database = filled("doctor_log").await;
    sql(&database, "UPDATE audit_log SET action = 'secret.read' WHERE position = 3").await;

    let ended = verify("doctor_log", &database);

    assert_eq!(ended.code, Some(65), "{}", ended.stdout);
    assert!(ended.stdout.contains("broken at position 3"), "{}", ended.stdout);
}

/// Runs the command `doctor sizes` with these additional arguments on a database that a running
/// service uses.
fn sizes(name: &str, database: &str, arguments: &[&str]) -> Ended {
    let arguments = [&["doctor", "sizes"], arguments].concat();
    Program::new(name, &arguments).with("SECRETS_DATABASE_URL", database).run()
}

async fn sizes_are_reported(name: &str, database: &str, program: Program) {
    let mut program = program.with("SECRETS_DEFAULT_PLAN", "free").start();
    let client = program.bearer(&jwt("alice"));
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let alice = Person::new(client, &user);
    for project in ["One", "Two", "Three"] {
        alice.project(project).await;
    }

    let text = sizes(name, database, &[]);
    let printed = sizes(name, database, &["--json"]);
    program.terminate(Duration::from_secs(10));

    assert_eq!((text.code, printed.code), (Some(0), Some(0)), "{} {}", text.stderr, printed.stderr);
    let team = &alice.team;
    assert!(text.stdout.contains("table projects: 3 rows\n"), "{}", text.stdout);
    assert!(text.stdout.ends_with(&format!("team {team}: 3 of 3 projects\n")), "{}", text.stdout);
    let printed: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(printed["tables"]["environments"], 9);
    assert!(printed["database_bytes"].as_u64().unwrap() > 100_000, "{printed}");
    let near = json!([{ "team_id": team, "quota": "projects", "used": 3, "limit": 3 }]);
    assert_eq!(printed["near_limits"], near);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sizes_of_all_tables_are_reported_while_the_service_runs() {
    let database = folder("doctor_sizes").join("secrets.db");
    let url = format!("sqlite://{}", database.display());

    sizes_are_reported("doctor_sizes", &url, Program::serve("doctor_sizes", &database)).await;

    let printed = sizes("doctor_sizes", &url, &["--json"]).stdout;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                 AND name NOT IN ('_sqlx_migrations', 'schema_compatibility') ORDER BY name";
    let names: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut connection).await.unwrap();
    let reported: Vec<_> = printed["tables"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(reported, names);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sizes_are_reported_on_postgres() {
    let url = TestDatabase::create().await.url();
    let program = Program::serve("doctor_sizes_postgres", "unused".as_ref());
    let program = program.with("SECRETS_DATABASE_URL", &url);

    sizes_are_reported("doctor_sizes_postgres", &url, program).await;
}
