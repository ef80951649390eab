use std::os::unix::fs::PermissionsExt;
use std::slice::from_ref;

use sqlx::AssertSqlSafe;
use tempfile::TempDir;

use super::transactions::BEGIN;
use super::*;
use crate::model::{Cause, Principal};
use crate::store::{AuditFilter, SecretRecord, Store, StoreError};
use crate::testing::fixtures::{World, at, entry, next_version, sealed, secret};
use crate::testing::{folder, patient};

mod plans;
mod purged_projects;

async fn opened() -> (SqlStore, TempDir) {
    let folder = TempDir::new_in(folder()).unwrap();
    (open(&folder.path().join("secrets.db"), StoreOptions::default()).await.unwrap(), folder)
}

fn unavailable<T>(result: StoreResult<T>) -> Cause {
    match result {
        Err(StoreError::Unavailable(cause)) => cause,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it is available"),
    }
}

#[tokio::test]
async fn a_secret_whose_project_has_no_key_is_a_sample_without_one() {
    let (store, _folder) = opened().await;
    let world = World::build(&store).await;
    let held = secret(&world.staging, "KEY");
    let mut tx = store.begin().await.unwrap();
    tx.insert_secrets(from_ref(&held)).await.unwrap();
    tx.commit().await.unwrap();
    sqlx::query("DELETE FROM project_keys").execute(&store.pools().writers).await.unwrap();

    let found = store.read().await.unwrap().sample(held.id).await.unwrap().unwrap();

    assert_eq!((found.secret, found.key), (held, None));
}

#[tokio::test]
async fn the_migration_counts_the_sizes_of_existing_secrets() {
    let (store, _folder) = opened().await;
    let world = World::build(&store).await;
    let first =
        SecretRecord { description: Some(sealed(b"description")), ..secret(&world.staging, "KEY") };
    let mut tx = store.begin().await.unwrap();
    tx.insert_secrets(&[first.clone(), secret(&world.staging, "OTHER")]).await.unwrap();
    tx.replace_secrets(from_ref(&next_version(&first))).await.unwrap();
    tx.commit().await.unwrap();
    let counters = async || {
        let mut reads = store.read().await.unwrap();
        reads.environment_counters(world.staging.id).await.unwrap()
    };
    let counted = counters().await;
    let forget = "UPDATE environments SET size = 0, history_size = 0;
                  UPDATE secret_versions SET environment_id = NULL";
    sqlx::raw_sql(forget).execute(&store.pools().writers).await.unwrap();
    assert_ne!(counters().await, counted);

    let migration = include_str!("../../../../migrations/0017_environment_sizes.sql");
    for statement in migration.split(';').filter(|text| text.contains("UPDATE ")) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&store.pools().writers).await.unwrap();
    }

    assert_eq!(counters().await, counted);
}

#[tokio::test]
async fn a_second_process_is_refused_with_the_lock_named() {
    let (store, folder) = opened().await;
    let path = folder.path().join("secrets.db");

    let cause = unavailable(open(&path, StoreOptions::default()).await).to_string();
    assert!(cause.contains("secrets.db.lock"), "{cause}");

    drop(store);
    open(&path, StoreOptions::default()).await.unwrap();
}

#[tokio::test]
async fn a_commit_survives_a_loss_of_power() {
    let (store, _folder) = opened().await;

    let synchronous = sqlx::query_scalar::<_, i64>("PRAGMA synchronous");
    let journal = sqlx::query_scalar::<_, String>("PRAGMA journal_mode");

    // FULL: each commit waits for the disk.
    assert_eq!(synchronous.fetch_one(&store.pools().writers).await.unwrap(), 2);
    assert_eq!(journal.fetch_one(&store.pools().writers).await.unwrap(), "wal");
}

#[tokio::test]
async fn a_destroyed_key_is_in_no_file_after_a_checkpoint() {
    let (store, folder) = opened().await;
    let world = World::build(&store).await;
    let is_in_files = || {
        ["secrets.db", "secrets.db-wal"].iter().any(|name| {
            let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
            bytes.windows(world.key.wrapped.len()).any(|part| part == world.key.wrapped)
        })
    };
    let checkpoint = async || {
        let checkpoint = sqlx::query_scalar::<_, i64>("PRAGMA wal_checkpoint(TRUNCATE)");
        assert_eq!(checkpoint.fetch_one(&store.pools().writers).await.unwrap(), 0);
    };
    checkpoint().await;
    assert!(is_in_files());
    let mut tx = store.begin().await.unwrap();
    tx.delete_project(world.project.id, at(60)).await.unwrap();
    assert_eq!(tx.destroy_project_keys(world.project.id, at(61)).await.unwrap(), 1);
    tx.commit().await.unwrap();

    checkpoint().await;

    assert!(!is_in_files());
}

#[tokio::test]
async fn only_the_owner_can_access_the_files() {
    let (store, folder) = opened().await;
    World::build(&store).await;
    store.ping().await.unwrap();

    for name in ["secrets.db", "secrets.db-wal", "secrets.db-shm", "secrets.db.lock"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn writing_goes_on_when_there_is_room_again() {
    let (store, _folder) = opened().await;
    let world = World::build(&store).await;
    let secrets: Vec<SecretRecord> =
        (0..500).map(|number| secret(&world.staging, &format!("K{number}"))).collect();
    sqlx::query("PRAGMA max_page_count = 1").execute(&store.pools().writers).await.unwrap();

    let mut tx = store.begin().await.unwrap();
    unavailable(tx.insert_secrets(&secrets).await);
    drop(tx);
    sqlx::query("PRAGMA max_page_count = 1000000").execute(&store.pools().writers).await.unwrap();
    let mut tx = store.begin().await.unwrap();
    tx.insert_secrets(&secrets).await.unwrap();
    tx.commit().await.unwrap();

    let mut reads = store.read().await.unwrap();
    assert_eq!(reads.count_secrets(world.staging.id).await.unwrap(), 500);
}

#[tokio::test]
async fn a_store_closes_although_another_process_reads_it() {
    use sqlx::Connection as _;
    let (store, folder) = opened().await;
    let path = folder.path().join("secrets.db");
    // Like a backup: a reader that does not take the lock of the service.
    let options = SqliteConnectOptions::new().filename(&path).read_only(true);
    let mut reader = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    sqlx::query("SELECT * FROM instance").execute(&mut *reading).await.unwrap();
    let world = World::build(&store).await;
    let mut tx = store.begin().await.unwrap();
    tx.insert_secrets(&[secret(&world.staging, "KEY")]).await.unwrap();
    tx.commit().await.unwrap();

    store.close().await.unwrap();

    drop(store);
    drop(reading);
    reader.close().await.unwrap();
    let store = open(&path, StoreOptions::default()).await.unwrap();
    let mut reads = store.read().await.unwrap();
    assert_eq!(reads.count_secrets(world.staging.id).await.unwrap(), 1);
}

#[tokio::test]
async fn writing_goes_on_when_the_database_ended_a_transaction() {
    let (store, _folder) = opened().await;
    let mut tx = store.pools().writers.begin_with(BEGIN).await.unwrap();

    // SQLite does this by itself in the worst cases of a full disk.
    sqlx::raw_sql("ROLLBACK").execute(&mut *tx).await.unwrap();
    drop(tx);

    World::build(&store).await;
}

#[tokio::test]
async fn an_unreadable_row_is_named_and_not_quoted() {
    let (store, _folder) = opened().await;
    let world = World::build(&store).await;
    let mut tx = store.begin().await.unwrap();
    tx.insert_secrets(&[secret(&world.staging, "KEY")]).await.unwrap();
    tx.commit().await.unwrap();
    let spoil = "UPDATE secrets SET created_at = 'kvc_not_a_time'";
    sqlx::query(spoil).execute(&store.pools().writers).await.unwrap();

    let mut reads = store.read().await.unwrap();
    let path = crate::model::EnvironmentPath::new(world.project.id, world.staging.id);
    let wanted = crate::store::Selection::All;
    let seen = reads.resolve_environment(&path, Principal::User(world.owner.id), wanted).await;

    let Err(StoreError::Corrupt(cause)) = seen else { panic!("{seen:?}") };
    let cause = format!("{cause:?} {cause}");
    assert!(cause.contains("secrets.created_at of "), "{cause}");
    assert!(!cause.contains("kvc_"), "{cause}");
}

#[tokio::test]
async fn queries_of_the_audit_log_use_no_connection_of_other_reads() {
    let folder = TempDir::new_in(folder()).unwrap();
    let options = StoreOptions { connections: Some(1), ..patient() };
    let store = open(&folder.path().join("secrets.db"), options).await.unwrap();
    let world = World::build(&store).await;
    let newest = AuditFilter::newest(world.team.id, 1);
    let mut query = store.read_audit_log().await.unwrap();
    query.audit_entries(&newest).await.unwrap();

    let mut read = store.read().await.unwrap();
    assert!(read.user(world.owner.id).await.unwrap().is_some());
    drop(query);
    store.read_audit_log().await.unwrap().audit_entries(&newest).await.unwrap();
}

#[tokio::test]
async fn waiting_for_a_connection_has_a_timeout() {
    let folder = TempDir::new_in(folder()).unwrap();
    let mut options =
        StoreOptions { connections: Some(1), cache_bytes: Some(0), ..StoreOptions::default() };
    options.timeouts.acquire = Duration::from_secs(1);
    let store = open(&folder.path().join("secrets.db"), options).await.unwrap();
    let world = World::build(&store).await;
    let mut reading = store.read().await.unwrap();
    reading.team(world.team.id).await.unwrap();
    let writing = store.begin().await.unwrap();

    unavailable(store.read().await.unwrap().team(world.team.id).await);
    unavailable(store.begin().await);
    unavailable(store.begin_for_request(false).await);
    let read = entry(&world.team, "secret.read", at(0));
    unavailable(store.insert_audit_batch(&[read].into()).await);

    drop((reading, writing));
    let found = store.read().await.unwrap().team(world.team.id).await;
    assert_eq!(found.unwrap(), Some(world.team));
}

#[tokio::test]
async fn a_statement_at_its_timeout_closes_its_connection() {
    let folder = TempDir::new_in(folder()).unwrap();
    let path = folder.path().join("secrets.db");
    let mut options = StoreOptions::default();
    options.timeouts.write = Duration::from_millis(200);
    let store = open(&path, options).await.unwrap();
    let mut other = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();

    unavailable(store.begin().await);

    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    // The connection that waited was closed, and another takes its place.
    let again = async { while store.begin().await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(10), again).await.unwrap();
}

#[tokio::test]
async fn commits_are_copied_to_the_database_file_in_the_background() {
    let folder = TempDir::new_in(folder()).unwrap();
    let path = folder.path().join("secrets.db");
    let store = open(&path, StoreOptions::default()).await.unwrap();
    let world = World::build(&store).await;
    // Much smaller than the size at which a commit makes a checkpoint.
    let wal = std::fs::metadata(beside(&path, "-wal")).unwrap().len();
    assert!(wal > 0 && wal < 1_000 * 4_096, "{wal}");
    let copy = folder.path().join("copy.db");

    // The database file alone has the committed rows.
    let found = async {
        loop {
            std::fs::copy(&path, &copy).unwrap();
            let copy = open_read_only(&copy, StoreOptions::default()).unwrap();
            let team = copy.read().await.unwrap().team(world.team.id).await;
            if let Ok(Some(team)) = team {
                return team;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };

    assert_eq!(tokio::time::timeout(Duration::from_mins(1), found).await.unwrap(), world.team);
    store.close().await.unwrap();
    assert!(!beside(&path, "-wal").exists());
}
