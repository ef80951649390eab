//! Tests of programs with a database that a later version has migrated.

use std::path::PathBuf;
use std::time::Duration;

use secrets_tests::Person;
use serde_json::json;

use crate::program::{Program, folder, jwt, sql};

/// Creates a database file that a later version has migrated. Returns the path of the file.
async fn migrated_by_a_later_version(name: &str) -> PathBuf {
    let database = folder(name).join("secrets.db");
    Program::serve(name, &database).start().terminate(Duration::from_secs(10));
    let later = "ALTER TABLE secrets ADD COLUMN later BIGINT NOT NULL DEFAULT 7;
                 INSERT INTO _sqlx_migrations
                 SELECT MAX(version) + 1, 'later', CURRENT_TIMESTAMP, TRUE, '', 0 FROM _sqlx_migrations";
    sql(&database, later).await;
    database
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_uses_tables_of_a_later_version_that_support_it() {
    let name = "upgrade_supported";
    let database = migrated_by_a_later_version(name).await;

    let check = Program::configured(name, "check", &database).run();
    let program = Program::serve(name, &database).start();

    assert_eq!(check.code, Some(0), "{}", check.stderr);
    assert!(
        check.stdout.contains("a later version of the program has migrated"),
        "{}",
        check.stdout
    );
    let client = program.bearer(&jwt("alice"));
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let alice = Person::new(client, &user);
    let project = alice.project("Later").await;
    alice.secret(&project, "production", "KEY", "kvc_later").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_refuses_tables_that_no_longer_support_it() {
    let name = "upgrade_refused";
    let database = migrated_by_a_later_version(name).await;
    let raised = "UPDATE schema_compatibility
                  SET oldest_version = (SELECT MAX(version) FROM _sqlx_migrations)";
    sql(&database, raised).await;

    for command in ["serve", "check", "migrate"] {
        let ended = Program::configured(name, command, &database).run();

        assert_eq!(ended.code, Some(69), "{command}: {}", ended.stderr);
        let reason = "a later version of the program migrated the database";
        assert!(ended.stderr.contains(reason), "{command}: {}", ended.stderr);
    }
}
