mod plans;

use std::slice::from_ref;
use std::sync::Arc;

use tokio::time::{Instant, sleep};

use super::*;
use crate::model::{EnvironmentId, EnvironmentPath, Principal, ProjectRef};
use crate::store::{AuditFilter, EnvironmentRecord, Reads, Selection, Store, StoreError};
use crate::testing::fixtures::{World, at, environment, next_version, secret};
use crate::testing::patient;
use crate::testing::postgres::TestDatabase;

const LOSE_CONNECTIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()";

async fn opened() -> (SqlStore, TestDatabase) {
    let database = TestDatabase::create().await;
    (open(&database.url(), StoreOptions::default()).await.unwrap(), database)
}

async fn run(database: &TestDatabase, text: &'static str) {
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    sqlx::raw_sql(text).execute(&mut connection).await.unwrap();
}

#[tokio::test]
async fn resolving_an_environment_is_planned_once() {
    let database = TestDatabase::create().await;
    let options =
        StoreOptions { connections: Some(1), cache_bytes: Some(0), ..StoreOptions::default() };
    let store = open(&database.url(), options).await.unwrap();
    let world = World::build(&store).await;
    let path = EnvironmentPath::new(world.project.id, "staging");

    for _ in 0..10 {
        let mut reads = store.read().await.unwrap();
        reads
            .resolve_environment(&path, Principal::User(world.owner.id), Selection::All)
            .await
            .unwrap();
    }

    let plans = "SELECT SUM(custom_plans)::BIGINT FROM pg_prepared_statements";
    let planned_anew: i64 =
        sqlx::query_scalar(plans).fetch_one(&store.pools().readers).await.unwrap();
    assert_eq!(planned_anew, 0);
}

#[tokio::test]
async fn a_connection_that_was_lost_while_idle_is_replaced() {
    let (store, database) = opened().await;
    let world = World::build(&store).await;
    sleep(PING_AFTER_IDLE + Duration::from_millis(100)).await;
    run(&database, LOSE_CONNECTIONS).await;

    let found = store.read().await.unwrap().team(world.team.id).await.unwrap();

    assert_eq!(found, Some(world.team));
}

#[tokio::test]
async fn a_connection_that_was_lost_in_use_fails_once() {
    let database = TestDatabase::create().await;
    let store =
        open(&database.url(), StoreOptions { connections: Some(1), ..StoreOptions::default() })
            .await
            .unwrap();
    let world = World::build(&store).await;
    let mut reads = store.read().await.unwrap();
    reads.team(world.team.id).await.unwrap();
    run(&database, LOSE_CONNECTIONS).await;

    let lost = reads.team(world.team.id).await;
    drop(reads);
    let found = store.read().await.unwrap().team(world.team.id).await;

    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert_eq!(found.unwrap(), Some(world.team));
}

#[tokio::test]
async fn waiting_for_a_connection_has_a_timeout() {
    let database = TestDatabase::create().await;
    let store =
        open(&database.url(), StoreOptions { connections: Some(1), ..StoreOptions::default() })
            .await
            .unwrap();
    let world = World::build(&store).await;
    let read = async |reads: &mut dyn Reads| reads.team(world.team.id).await.err();
    let mut held = store.read().await.unwrap();
    assert!(read(held.as_mut()).await.is_none());
    let begun = Instant::now();

    let refused = read(store.read().await.unwrap().as_mut()).await;

    assert!(matches!(refused, Some(StoreError::Unavailable(_))), "{refused:?}");
    assert!(begun.elapsed() < 10 * StoreOptions::default().timeouts.acquire);
}

#[tokio::test]
async fn a_statement_at_its_timeout_closes_its_connection() {
    let database = TestDatabase::create().await;
    // The server has no timeouts, so that only the timeout of the store can end the statement.
    let unlimited = "options[lock_timeout]=0&options[statement_timeout]=0";
    let mut options = StoreOptions { connections: Some(2), ..StoreOptions::default() };
    options.timeouts.read = Duration::from_millis(300);
    let store = open(&format!("{}&{unlimited}", database.url()), options).await.unwrap();
    let world = World::build(&store).await;
    let mut blocker = PgConnection::connect(&database.url()).await.unwrap();
    let mut held = blocker.begin().await.unwrap();
    sqlx::raw_sql("LOCK TABLE teams").execute(&mut *held).await.unwrap();

    let refused = store.read().await.unwrap().team(world.team.id).await;

    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    held.rollback().await.unwrap();
    // The connection that waited was closed, and another takes its place.
    let again = async {
        loop {
            if let Ok(found) = store.read().await.unwrap().team(world.team.id).await {
                return found;
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_mins(1), again).await.unwrap();
    assert_eq!(found, Some(world.team));
}

#[tokio::test]
async fn a_replacement_that_comes_second_changes_no_size() {
    let database = TestDatabase::create().await;
    let store = Arc::new(open(&database.url(), StoreOptions::default()).await.unwrap());
    let world = World::build(store.as_ref()).await;
    let held = secret(&world.staging, "KEY");
    let mut tx = store.begin().await.unwrap();
    tx.insert_secrets(from_ref(&held)).await.unwrap();
    tx.commit().await.unwrap();
    let next = next_version(&held);
    let mut first = store.begin().await.unwrap();
    first.replace_secrets(from_ref(&next)).await.unwrap();

    let (other, replacement) = (Arc::clone(&store), next.clone());
    let second = tokio::spawn(async move {
        let mut second = other.begin().await.unwrap();
        let replaced = second.replace_secrets(&[replacement]).await;
        second.commit().await.unwrap();
        replaced
    });
    let mut observer = PgConnection::connect(&database.url()).await.unwrap();
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut observer).await.unwrap() == 0 {}
    first.commit().await.unwrap();

    let replaced = second.await.unwrap();
    assert!(matches!(replaced, Err(StoreError::Stale(_))), "{replaced:?}");
    let mut reads = store.read().await.unwrap();
    let counters = reads.environment_counters(world.staging.id).await.unwrap();
    let expected = (next.size() as u64, held.sealed.as_bytes().len() as u64);
    assert_eq!((counters.size, counters.history_size), expected);
}

#[tokio::test]
async fn a_transaction_with_a_failed_statement_is_not_committed() {
    let database = TestDatabase::create().await;
    let store = open(&database.url(), StoreOptions::default()).await.unwrap();
    let world = World::build(&store).await;
    let unknown = EnvironmentRecord { id: EnvironmentId::draw(at(0)), ..world.staging.clone() };

    let mut tx = store.begin().await.unwrap();
    tx.insert_secrets(&[secret(&world.staging, "KEY")]).await.unwrap();
    tx.insert_secrets(&[secret(&unknown, "KEY")]).await.unwrap_err();

    tx.commit().await.unwrap_err();
    let mut reads = store.read().await.unwrap();
    assert_eq!(reads.count_secrets(world.staging.id).await.unwrap(), 0);
}

#[tokio::test]
async fn a_pool_whose_calls_are_not_answered_fails_the_health_check() {
    let database = TestDatabase::create().await;
    // Statements wait for the lock, as on a connection whose server does not respond.
    let url = format!("{}&options[lock_timeout]=0", database.url());
    let mut options = StoreOptions { connections: Some(2), ..StoreOptions::default() };
    // The only connection for reads is not free before the health check ends.
    options.timeouts.read = Duration::from_secs(30);
    let store = Arc::new(open(&url, options).await.unwrap());
    let world = World::build(store.as_ref()).await;
    let mut blocker = PgConnection::connect(&database.url()).await.unwrap();
    let mut held = blocker.begin().await.unwrap();
    sqlx::raw_sql("LOCK TABLE teams").execute(&mut *held).await.unwrap();
    let (reader, team) = (Arc::clone(&store), world.team.id);
    let reading = tokio::spawn(async move {
        loop {
            if let Ok(found) = reader.read().await.unwrap().team(team).await {
                return found;
            }
        }
    });
    store.ping().await.unwrap();

    while !store.is_stalled() {
        sleep(Duration::from_millis(20)).await;
    }
    let refused = store.ping().await;

    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(store.is_stalled());
    held.rollback().await.unwrap();
    assert_eq!(reading.await.unwrap(), Some(world.team));
    store.ping().await.unwrap();
    assert!(!store.is_stalled());
}

#[tokio::test]
async fn settings_of_the_url_stay() {
    let database = TestDatabase::create().await;
    let url = format!("{}&options[lock_timeout]=7s", database.url());
    let store = open(&url, StoreOptions::default()).await.unwrap();

    for (setting, expected) in [("lock_timeout", "7s"), ("statement_timeout", "9s")] {
        let text = AssertSqlSafe(format!("SHOW {setting}"));
        let value: String =
            sqlx::query_scalar(text).fetch_one(&store.pools().writers).await.unwrap();
        assert_eq!(value, expected, "{setting}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_unavailable() {
    // Nothing listens on the discard port.
    let refused =
        open("postgres://nobody@127.0.0.1:9/nothing", StoreOptions::default()).await.err();

    assert!(matches!(refused, Some(StoreError::Unavailable(_))), "{refused:?}");
}

#[tokio::test]
async fn a_violation_does_not_quote_the_value() {
    let (store, _database) = opened().await;
    let world = World::build(&store).await;
    let nowhere = environment(&world.project, "nowhere");

    let mut tx = store.begin().await.unwrap();
    let refused = tx.insert_secrets(&[secret(&nowhere, "KEY")]).await;

    let Err(StoreError::Corrupt(cause)) = refused else { panic!("{refused:?}") };
    let text = format!("{cause:?} {cause}");
    assert!(text.contains("23503") && text.contains("secrets_environment_id_fkey"), "{text}");
    assert!(!text.contains(&nowhere.id.to_string()), "{text}");
}

#[tokio::test]
async fn nothing_is_found_by_a_text_with_a_nul() {
    let (store, _database) = opened().await;
    let world = World::build(&store).await;
    let owner = Principal::User(world.owner.id);
    let mut reads = store.read().await.unwrap();

    let project = reads.project(&ProjectRef::from("billing\0"), owner).await.unwrap();
    let path = EnvironmentPath::new(world.project.id, "staging\0");
    let resolve = reads.resolve_environment(&path, owner, Selection::None).await.unwrap().unwrap();

    assert!(project.is_none());
    assert!(resolve.chain.is_empty());
    assert_eq!(reads.user_by_subject("iss\0uer", "").await.unwrap(), None);
}

#[tokio::test]
async fn queries_of_the_audit_log_use_no_connection_of_other_reads() {
    let database = TestDatabase::create().await;
    let options = StoreOptions { connections: Some(2), ..patient() };
    let store = open(&database.url(), options).await.unwrap();
    let world = World::build(&store).await;
    let newest = AuditFilter::newest(world.team.id, 1);
    let mut query = store.read_audit_log().await.unwrap();
    query.audit_entries(&newest).await.unwrap();

    let mut read = store.read().await.unwrap();
    assert!(read.user(world.owner.id).await.unwrap().is_some());
    drop(query);
    store.read_audit_log().await.unwrap().audit_entries(&newest).await.unwrap();
}
