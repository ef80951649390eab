use std::collections::BTreeSet;

use futures_util::future::join_all;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

use super::super::super::cache::{NOT_CACHED, WATCHED};
use super::super::tables::SqlStore;
use super::super::{RESERVED, open, open_migrated};
use super::*;
use crate::model::{EnvironmentPath, Principal};
use crate::store::{ResolvedEnvironment, Selection, Store, StoreOptions, Tx};
use crate::testing::fixtures::{World, secret};
use crate::testing::postgres::TestDatabase;
use tokio::time::timeout;

/// Two nodes that share a database.
struct Nodes {
    one: SqlStore,
    other: SqlStore,
    world: World,
    database: TestDatabase,
}

impl Nodes {
    async fn start() -> Self {
        let database = TestDatabase::create().await;
        let node = async || open(&database.url(), StoreOptions::default()).await.unwrap();
        let (one, other) = (node().await, node().await);
        let world = World::build(&one).await;
        // After a new connection, all records are loaded again.
        for node in [&one, &other] {
            let reserved = &node.pools().reserved;
            let connections = join_all((0..RESERVED).map(|_| reserved.acquire())).await;
            assert!(connections.iter().all(Result::is_ok));
        }
        Self { one, other, world, database }
    }

    /// Adds a secret to the environment `staging`, in an open transaction.
    async fn writing(&self, key: &str) -> Box<dyn Tx> {
        let mut tx = self.one.begin().await.unwrap();
        tx.insert_secrets(&[secret(&self.world.staging, key)]).await.unwrap();
        tx
    }

    /// Deletes all changes that were committed before.
    async fn prune(&self) {
        let (pools, timeouts) = (self.one.pools(), StoreOptions::default().timeouts);
        // The second statement deletes the changes that are visible to the first.
        prune(&pools, timeouts).await.unwrap();
        prune(&pools, timeouts).await.unwrap();
        assert_eq!(self.count("SELECT COUNT(*) FROM changed_counters").await, 0);
    }

    async fn count(&self, text: &'static str) -> i64 {
        sqlx::query_scalar(text).fetch_one(&self.one.pools().readers).await.unwrap()
    }

    async fn write(&self, key: &str) {
        self.writing(key).await.commit().await.unwrap();
    }

    /// Returns the keys of the secrets in `staging` that this node reads.
    async fn keys(&self, node: &SqlStore) -> Vec<String> {
        let mut reads = node.read().await.unwrap();
        let path = EnvironmentPath::new(self.world.project.id, "staging");
        let owner = Principal::User(self.world.owner.id);
        let found = reads.resolve_environment(&path, owner, Selection::All).await.unwrap();
        let ResolvedEnvironment { chain, .. } = found.unwrap();
        chain[0].secrets.iter().map(|secret| secret.key.to_string()).collect()
    }

    /// Reads on a node until a read is answered from the cache.
    async fn warm_up(&self, node: &SqlStore) {
        let before = hits(node);
        while hits(node) == before {
            self.keys(node).await;
        }
    }

    async fn run(&self, text: &'static str) {
        let mut connection = PgConnection::connect(&self.database.url()).await.unwrap();
        sqlx::raw_sql(text).execute(&mut connection).await.unwrap();
    }
}

fn hits(node: &SqlStore) -> u64 {
    node.usage().cache.unwrap().hits
}

#[tokio::test]
async fn a_node_reads_what_another_has_committed() {
    let nodes = Nodes::start().await;
    for number in 0..20 {
        let key = format!("KEY_{number:02}");
        nodes.warm_up(&nodes.other).await;
        let tx = nodes.writing(&key).await;
        let before = nodes.keys(&nodes.other).await;
        assert!(!before.contains(&key));
        tx.commit().await.unwrap();

        let after = nodes.keys(&nodes.other).await;

        assert_eq!(after, [before, vec![key]].concat());
    }
}

#[tokio::test]
async fn a_commit_that_is_older_than_the_last_query_is_not_missed() {
    let nodes = Nodes::start().await;
    let slow = nodes.writing("SLOW").await;
    // Transactions that begin and commit later advance the snapshots.
    for key in ["A", "B", "C"] {
        let mut tx = nodes.one.begin().await.unwrap();
        tx.insert_secrets(&[secret(&nodes.world.production, key)]).await.unwrap();
        tx.commit().await.unwrap();
        nodes.warm_up(&nodes.other).await;
    }
    slow.commit().await.unwrap();

    assert_eq!(nodes.keys(&nodes.other).await, ["SLOW"]);
}

#[tokio::test]
async fn an_unchanged_record_is_read_from_the_cache() {
    let nodes = Nodes::start().await;
    nodes.write("KEY").await;
    nodes.warm_up(&nodes.other).await;
    let before = hits(&nodes.other);

    for _ in 0..10 {
        assert_eq!(nodes.keys(&nodes.other).await, ["KEY"]);
    }

    assert_eq!(hits(&nodes.other), before + 10);
}

#[tokio::test]
async fn a_node_that_missed_deleted_changes_reads_everything_again() {
    let nodes = Nodes::start().await;
    for key in ["A", "B"] {
        nodes.warm_up(&nodes.other).await;
        nodes.write(key).await;
        nodes.prune().await;

        let keys = nodes.keys(&nodes.other).await;

        assert_eq!(keys.last().map(String::as_str), Some(key));
    }
    // The node is up to date again.
    nodes.warm_up(&nodes.other).await;
}

#[tokio::test]
async fn a_node_that_knows_the_deleted_changes_keeps_its_cache() {
    let nodes = Nodes::start().await;
    nodes.prune().await;
    nodes.write("KEY").await;
    nodes.warm_up(&nodes.other).await;
    let timeouts = StoreOptions::default().timeouts;
    prune(&nodes.one.pools(), timeouts).await.unwrap();
    assert_eq!(nodes.keys(&nodes.other).await, ["KEY"]);
    prune(&nodes.one.pools(), timeouts).await.unwrap();
    assert_eq!(nodes.count("SELECT COUNT(*) FROM changed_counters").await, 0);
    let before = hits(&nodes.other);

    assert_eq!(nodes.keys(&nodes.other).await, ["KEY"]);

    assert_eq!(hits(&nodes.other), before + 1);
}

#[tokio::test]
async fn a_long_transaction_neither_slows_queries_nor_stops_the_deletion() {
    let nodes = Nodes::start().await;
    let mut connection = PgConnection::connect(&nodes.database.url()).await.unwrap();
    let mut long = connection.begin().await.unwrap();
    sqlx::raw_sql("CREATE TABLE long_work (id INTEGER)").execute(&mut *long).await.unwrap();
    nodes.prune().await;
    nodes.write("KEY").await;
    nodes.warm_up(&nodes.other).await;

    nodes.prune().await;

    assert_eq!(nodes.keys(&nodes.other).await, ["KEY"]);
    long.rollback().await.unwrap();
}

#[tokio::test]
async fn a_change_of_a_long_transaction_is_deleted_only_after_it_was_visible() {
    let nodes = Nodes::start().await;
    nodes.prune().await;
    nodes.warm_up(&nodes.other).await;
    let long = nodes.writing("LONG").await;
    let timeouts = StoreOptions::default().timeouts;
    for _ in 0..3 {
        nodes.run("UPDATE users SET updated_at = updated_at").await;
        prune(&nodes.one.pools(), timeouts).await.unwrap();
        nodes.warm_up(&nodes.other).await;
    }
    long.commit().await.unwrap();
    prune(&nodes.one.pools(), timeouts).await.unwrap();

    assert_eq!(nodes.keys(&nodes.other).await, ["LONG"]);
}

#[tokio::test]
async fn changes_from_a_dump_of_another_server_are_deleted() {
    let nodes = Nodes::start().await;
    nodes
        .run(
            "INSERT INTO changed_counters VALUES ('9000000000', 7);
             INSERT INTO changed_counters_horizon VALUES
                 (1, 'another', '9000000000', '1:1:', '9000000001', '9000000001:9000000001:')",
        )
        .await;

    prune(&nodes.one.pools(), StoreOptions::default().timeouts).await.unwrap();

    assert_eq!(nodes.count("SELECT COUNT(*) FROM changed_counters").await, 0);
    let later = "SELECT COUNT(*) FROM changed_counters_horizon
                 WHERE xid >= '9000000000' OR next_xid >= '9000000000'";
    assert_eq!(nodes.count(later).await, 0);
    nodes.warm_up(&nodes.other).await;
}

#[tokio::test]
async fn after_a_crash_of_the_server_everything_is_read_again() {
    let nodes = Nodes::start().await;
    nodes.write("KEY").await;
    nodes.warm_up(&nodes.one).await;
    // A crash closes all connections.
    nodes
        .run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    while nodes.one.ping().await.is_err() {}
    let before = hits(&nodes.one);
    let read = async {
        loop {
            let mut reads = nodes.one.read().await.unwrap();
            let path = EnvironmentPath::new(nodes.world.project.id, "staging");
            let owner = Principal::User(nodes.world.owner.id);
            if reads.resolve_environment(&path, owner, Selection::All).await.is_ok() {
                return;
            }
        }
    };

    timeout(Duration::from_mins(1), read).await.unwrap();

    assert_eq!(hits(&nodes.one), before, "a record from before the crash was used");
}

#[tokio::test]
async fn readers_that_wait_share_a_query() {
    let nodes = Nodes::start().await;
    nodes.warm_up(&nodes.one).await;
    let follower = &nodes.one.pools().follower;
    let before = follower.begun.load(Ordering::SeqCst);
    // No query can begin until all readers wait.
    let held = follower.last.lock().await;
    let begin_together = async {
        while follower.ended.receiver_count() < 64 {
            tokio::task::yield_now().await;
        }
        drop(held);
    };

    let reads = join_all((0..64).map(|_| nodes.keys(&nodes.one)));
    let (read, ()) = tokio::join!(reads, begin_together);

    assert!(read.iter().all(Vec::is_empty));
    assert_eq!(follower.begun.load(Ordering::SeqCst) - before, 1);
}

#[tokio::test]
async fn a_reader_that_was_dropped_keeps_no_other_from_reading() {
    let nodes = Nodes::start().await;
    nodes.warm_up(&nodes.one).await;
    for _ in 0..20 {
        let (dropped, kept) = tokio::join!(
            timeout(Duration::from_micros(50), nodes.keys(&nodes.one)),
            nodes.keys(&nodes.one),
        );
        assert_eq!((kept, dropped.unwrap_or_default()), (Vec::new(), Vec::new()));
    }
}

#[tokio::test]
async fn a_query_that_fails_fails_the_readers_that_wait_for_it() {
    let nodes = Nodes::start().await;
    nodes.warm_up(&nodes.one).await;
    nodes.run("ALTER TABLE changed_counters RENAME TO hidden").await;
    let mut reads = nodes.one.read().await.unwrap();

    let refused = reads.user_by_subject("issuer", "subject").await;

    assert!(refused.is_err(), "{refused:?}");
    nodes.run("ALTER TABLE hidden RENAME TO changed_counters").await;
    assert_eq!(nodes.keys(&nodes.one).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_restored_or_promoted_server_is_another_server() {
    let nodes = Nodes::start().await;
    nodes.write("KEY").await;
    nodes.warm_up(&nodes.one).await;
    let pools = nodes.one.pools();
    pools.follower.last.lock().await.as_mut().unwrap().server = "another".into();
    let before = hits(&nodes.one);

    assert_eq!(nodes.keys(&nodes.one).await, ["KEY"]);

    assert_eq!(hits(&nodes.one), before, "a record of another server was used");
}

#[tokio::test]
async fn every_table_has_triggers_or_is_not_cached() {
    let nodes = Nodes::start().await;
    let pools = nodes.one.pools();
    let names = async |text: &'static str| -> BTreeSet<String> {
        let names: Vec<String> = sqlx::query_scalar(text).fetch_all(&pools.readers).await.unwrap();
        names.into_iter().collect()
    };

    let tables = names("SELECT tablename::TEXT FROM pg_tables WHERE schemaname = 'public'").await;
    let triggers = names(
        "SELECT event_object_table || ' ' || event_manipulation FROM information_schema.triggers
         WHERE trigger_name LIKE 'record_%'",
    )
    .await;

    let watched = WATCHED.iter().map(|(table, _)| *table);
    let of_this_module = ["changed_counters", "changed_counters_horizon"];
    let known = watched.clone().chain(NOT_CACHED).chain(of_this_module);
    assert_eq!(tables, known.map(str::to_owned).collect());
    let events = ["DELETE", "INSERT", "UPDATE"];
    let expected = watched.flat_map(|table| events.map(|event| format!("{table} {event}")));
    assert_eq!(triggers, expected.collect());
}

#[tokio::test]
async fn a_change_names_the_counter_of_each_changed_record() {
    let nodes = Nodes::start().await;
    let pools = nodes.one.pools();
    for (table, column) in WATCHED {
        let text = format!(
            "SELECT NOT EXISTS (
                 SELECT 1 FROM {table} WHERE
                     ('x' || right(CAST({column} AS TEXT), 3))::BIT(12)::INTEGER
                     NOT IN (SELECT counter FROM changed_counters))"
        );
        let all: bool =
            sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&pools.readers).await.unwrap();
        assert!(all, "{table}");
    }
}

#[tokio::test]
async fn a_store_for_tools_has_no_cache() {
    let database = TestDatabase::create().await;

    let store = open_migrated(&database.url(), StoreOptions::default()).await.unwrap();

    assert!(store.usage().cache.is_none());
    let mut reads = store.read().await.unwrap();
    assert!(reads.user_by_subject("issuer", "subject").await.unwrap().is_none());
}
