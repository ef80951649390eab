//! Tests with a database that freezes or stops responding, and with a server process that is
//! stopped within a transaction. Other requests continue, and the service recovers without a
//! restart.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::{Client, Person, paths};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::program::{Program, Running};
use crate::rotations::world::until;

/// Number of concurrent clients, each of which alternately writes and reads.
const CLIENTS: usize = 12;

fn node(name: &str, url: &str) -> Program {
    Program::serve(name, "unused".as_ref()).with("SECRETS_DATABASE_URL", url)
}

fn signal(program: &Running, name: &str) {
    let id = program.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

/// TCP proxy in front of a database, which can stop forwarding without closing connections.
#[derive(Clone)]
struct Proxy(Arc<State>);

#[derive(Default)]
struct State {
    /// Connections with a number below this forward nothing. Connections are numbered in the order
    /// in which they open.
    silent_below: AtomicU64,
    connections: AtomicU64,
    /// True if no connection forwards anything, not even a new one.
    is_frozen: AtomicBool,
}

impl Proxy {
    /// Starts a proxy in front of the database at this URL. Returns the proxy, and the URL that
    /// reaches the database through the proxy.
    async fn start(url: &str) -> (Self, String) {
        let (front, behind) = url.rsplit_once('@').unwrap();
        let (target, database) = behind.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = Self(Arc::default());
        let (accepting, target) = (proxy.clone(), target.to_owned());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = accepting.0.connections.fetch_add(1, Ordering::SeqCst);
                let server = TcpStream::connect(&target).await.unwrap();
                let ((from, to), (back, forth)) = (client.into_split(), server.into_split());
                tokio::spawn(accepting.clone().forward(number, from, forth));
                tokio::spawn(accepting.clone().forward(number, back, to));
            }
        });
        (proxy, format!("{front}@{address}/{database}"))
    }

    async fn forward(
        self,
        number: u64,
        mut from: tokio::net::tcp::OwnedReadHalf,
        mut to: tokio::net::tcp::OwnedWriteHalf,
    ) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            while self.is_silent(number) {
                sleep(Duration::from_millis(20)).await;
            }
            if to.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    }

    fn is_silent(&self, number: u64) -> bool {
        self.0.is_frozen.load(Ordering::SeqCst)
            || number < self.0.silent_below.load(Ordering::SeqCst)
    }

    /// Stops forwarding on all open connections, permanently. New connections work.
    fn silence(&self) {
        let connections = self.0.connections.load(Ordering::SeqCst);
        self.0.silent_below.store(connections, Ordering::SeqCst);
    }

    fn freeze(&self, is_frozen: bool) {
        self.0.is_frozen.store(is_frozen, Ordering::SeqCst);
    }
}

/// Waits for the status of a request, for at most this time. Returns `None` if there was no
/// response.
async fn within(limit: Duration, request: impl Future<Output = u16>) -> Option<u16> {
    timeout(limit, request).await.ok()
}

/// Creates a project with the secret `KEY`. Returns the path of the project and the path of the
/// secret.
async fn prepared(alice: &Person) -> (String, String) {
    let project = alice.project("Web API").await;
    alice.secret(&project, "development", "KEY", "kvc_first").await;
    let key = paths::secret(&project, "development", "KEY");
    (project, key)
}

/// Starts clients that concurrently write and read the same secret in a loop, until the returned
/// value is dropped.
fn load(alice: &Client, key: &str) -> JoinSet<()> {
    let mut load = JoinSet::new();
    for client in 0..CLIENTS {
        let (alice, key) = (alice.clone(), key.to_owned());
        load.spawn(async move {
            loop {
                let body = json!({ "value": format!("kvc_{client}") });
                let _ = timeout(Duration::from_secs(30), alice.try_put(&key, &body)).await;
                let _ = timeout(Duration::from_secs(30), alice.get(&key)).await;
            }
        });
    }
    load
}

/// Stops the program with SIGSTOP while it holds the lock on a row of an environment. If the
/// program holds no such lock when it is stopped, lets it continue and tries again.
async fn stop_in_a_transaction(program: &Running, watcher: &mut PgConnection) {
    for _ in 0..200 {
        sleep(Duration::from_millis(20)).await;
        signal(program, "-STOP");
        sleep(Duration::from_millis(50)).await;
        let is_held: bool = sqlx::query_scalar(
            "SELECT (SELECT COUNT(*) FROM environments) >
                 (SELECT COUNT(*) FROM (SELECT 1 FROM environments FOR UPDATE SKIP LOCKED) free)",
        )
        .fetch_one(&mut *watcher)
        .await
        .unwrap();
        if is_held {
            return;
        }
        signal(program, "-CONT");
    }
    panic!("the program never stopped inside a transaction");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stalls_in_a_transaction_stops_no_other() {
    let store = TestDatabase::create().await;
    let stalled = node("database_stalled", &store.url()).start();
    let awake = node("database_awake", &store.url()).start();
    let (owner, alice) = (stalled.person("alice").await, awake.person("alice").await);
    let (_, key) = prepared(&owner).await;
    let mut watcher = PgConnection::connect(&store.url()).await.unwrap();
    let load = load(&owner, &key);

    stop_in_a_transaction(&stalled, &mut watcher).await;
    let stopped = Instant::now();

    let mut writes = JoinSet::new();
    for _ in 0..9 {
        let (alice, key) = (Client::clone(&alice), key.clone());
        writes.spawn(async move {
            let write = async { alice.put(&key, &json!({ "value": "kvc_next" })).await.status };
            within(Duration::from_secs(10), write).await
        });
    }
    while !writes.is_empty() {
        let read =
            within(Duration::from_secs(4), async { alice.get("/api/v1/users/me").await.status });
        assert_eq!(read.await, Some(200));
        let health = within(Duration::from_secs(2), async { alice.get("/health").await.status });
        assert_eq!(health.await, Some(200));
        while let Some(write) = writes.try_join_next() {
            assert!(matches!(write.unwrap(), Some(200 | 503)));
        }
        sleep(Duration::from_millis(250)).await;
    }

    // The database has ended the transaction of the stalled node.
    until("the environment can be written", async || {
        alice.put(&key, &json!({ "value": "kvc_last" })).await.status == 200
    })
    .await;
    assert!(stopped.elapsed() > Duration::from_secs(1), "nothing was held");
    drop(load);
    signal(&stalled, "-CONT");
    let secret = alice.get(&key).await.is(200).json();
    let history = alice.get(&format!("{key}/history?limit=1")).await.is(200).json();
    assert!(!history["history"].as_array().unwrap().is_empty(), "{secret}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_are_replaced_under_load() {
    let store = TestDatabase::create().await;
    let (proxy, url) = Proxy::start(&store.url()).await;
    let program = node("database_silent", &url).start();
    let alice = program.person("alice").await;
    let (_, key) = prepared(&alice).await;
    let _load = load(&alice, &key);
    sleep(Duration::from_secs(1)).await;

    proxy.silence();
    let begun = Instant::now();
    let limit = Duration::from_secs(5);
    let body = json!({ "value": "kvc_healed" });
    loop {
        let write = within(limit, async { alice.put(&key, &body).await.status }).await;
        let read = within(limit, async { alice.get(&key).await.status }).await;
        let health = within(limit, async { alice.get("/health").await.status }).await;
        if [write, read, health] == [Some(200); 3] {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{write:?} {read:?} {health:?}");
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_database_gives_an_answer_within_five_seconds() {
    let store = TestDatabase::create().await;
    let (proxy, url) = Proxy::start(&store.url()).await;
    let program = node("database_frozen", &url).start();
    let alice = program.person("alice").await;
    let (project, key) = prepared(&alice).await;

    proxy.freeze(true);
    let limit = Duration::from_secs(5);
    for path in [
        key.clone(),
        project,
        "/api/v1/users/me".to_owned(),
        "/api/v1/audit".to_owned(),
        "/health".to_owned(),
    ] {
        let read = within(limit, async { alice.get(&path).await.status }).await;
        assert_eq!(read, Some(503), "GET {path}");
    }
    let write = async { alice.put(&key, &json!({ "value": "kvc_frozen" })).await.status };
    assert_eq!(within(limit, write).await, Some(503));

    proxy.freeze(false);
    until("it is healthy again", async || {
        let read = within(limit, async { alice.get(&key).await.status }).await;
        let health = within(limit, async { alice.get("/health").await.status }).await;
        [read, health] == [Some(200); 2]
    })
    .await;
}
