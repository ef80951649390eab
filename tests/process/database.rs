//! Tests with a database that freezes or stops responding, and with a server process that is
//! stopped within a transaction. Other requests continue, and the service recovers without a
//! restart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::targets::Target;
use secrets_tests::{Client, DatabaseProxy, Person, Receiver, Reply, paths, until};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::program::{Program, Running};
use crate::rotations::world::{LOOPBACK, World};

/// Number of concurrent clients, each of which alternately writes and reads.
const CLIENTS: usize = 12;

/// Time within which the service responds to a request: 5 s, and more because other tests use
/// the processors at the same time.
const LIMIT: Duration = Duration::from_secs(20);

fn node(name: &str, url: &str) -> Program {
    Program::serve(name, "unused".as_ref()).with("SECRETS_DATABASE_URL", url)
}

/// Runs a request with a time limit. Returns its status, or `None` if there was no response in
/// time.
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

/// Running clients that write and read at the same time. They stop when this value is dropped.
struct Load {
    clients: JoinSet<()>,
    seen: Arc<Seen>,
}

/// Successful responses that the clients have received.
#[derive(Default)]
struct Seen {
    /// Version and value of every acknowledged write.
    written: Mutex<Vec<(u64, String)>>,
    /// Time of the last successful response.
    answered: Mutex<Option<Instant>>,
}

impl Load {
    fn start(alice: &Client, key: &str) -> Self {
        let (mut clients, seen) = (JoinSet::new(), Arc::<Seen>::default());
        for client in 0..CLIENTS {
            let (alice, key, seen) = (alice.clone(), key.to_owned(), Arc::clone(&seen));
            clients.spawn(async move {
                for round in 0.. {
                    seen.exchange(&alice, &key, format!("kvc_{client}_{round}")).await;
                }
            });
        }
        Self { clients, seen }
    }
}

impl Seen {
    /// Writes this value to the secret at the path `key`, then reads the secret. Records successful
    /// responses.
    async fn exchange(&self, alice: &Client, key: &str, value: String) {
        let body = json!({ "value": value });
        let reply = timeout(Duration::from_secs(30), alice.try_put(key, &body)).await;
        if let Ok(Some(reply)) = reply
            && reply.status == 200
        {
            self.acknowledge(&reply, value);
        }
        let reply = timeout(Duration::from_secs(30), alice.get(key)).await;
        if reply.is_ok_and(|reply| reply.status == 200) {
            *self.answered.lock().unwrap() = Some(Instant::now());
        }
    }

    fn acknowledge(&self, reply: &Reply, value: String) {
        let version = reply.json()["secret"]["version"].as_u64().unwrap();
        self.written.lock().unwrap().push((version, value));
        *self.answered.lock().unwrap() = Some(Instant::now());
    }

    /// Waits until one of the clients receives a successful response after this call began.
    async fn answers(&self) {
        let before = Instant::now();
        until("a request succeeds", async || {
            self.answered.lock().unwrap().is_some_and(|last| last > before)
        })
        .await;
    }
}

/// Stops the server program with SIGSTOP while it holds the lock on a row of an environment. If the
/// program holds no such lock when it is stopped, lets it continue and tries again.
async fn stop_in_a_transaction(program: &Running, watcher: &mut PgConnection) {
    for _ in 0..200 {
        sleep(Duration::from_millis(20)).await;
        program.freeze().await;
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
        program.resume();
    }
    panic!("the program never stopped inside a transaction");
}

/// Asserts that all `reads`, writes of the last secret in `reads`, and health checks succeed until
/// all of the `blocked` writes have ended.
async fn must_continue(
    reads: &[(&Client, &str)],
    mut blocked: JoinSet<u16>,
    health: impl AsyncFn() -> u16,
) {
    let (writer, secret) = reads[reads.len() - 1];
    for round in 0.. {
        for (reader, path) in reads {
            let read = within(LIMIT, async { reader.get(path).await.status }).await;
            assert_eq!(read, Some(200), "GET {path}");
        }
        let body = json!({ "value": format!("kvc_other_{round}") });
        let write = within(LIMIT, async { writer.put(secret, &body).await.status }).await;
        assert_eq!(write, Some(200), "another write");
        assert_eq!(within(LIMIT, health()).await, Some(200), "/health");
        while let Some(write) = blocked.try_join_next() {
            assert!(matches!(write.unwrap(), 200 | 503));
        }
        if blocked.is_empty() {
            return;
        }
    }
}

/// Compares the acknowledged writes of the secret `KEY` with its versions and audit entries.
/// Asserts that each version was written once and recorded once, and that each version in the
/// history has the acknowledged value.
async fn must_be_applied_once(
    watcher: &mut PgConnection,
    (reader, key): (&Client, &str),
    seen: &Seen,
) {
    let last: i64 = sqlx::query_scalar("SELECT version FROM secrets WHERE key = 'KEY'")
        .fetch_one(&mut *watcher)
        .await
        .unwrap();
    let recorded: Vec<String> = sqlx::query_scalar(
        "SELECT metadata FROM audit_log
         WHERE resource_name = 'KEY' AND action IN ('secret.created', 'secret.updated')",
    )
    .fetch_all(&mut *watcher)
    .await
    .unwrap();
    let version =
        |text: &String| serde_json::from_str::<Value>(text).unwrap()["version"].as_i64().unwrap();
    let mut recorded: Vec<_> = recorded.iter().map(version).collect();
    recorded.sort_unstable();
    assert_eq!(recorded, (1..=last).collect::<Vec<_>>(), "one audit entry for each version");
    let acknowledged = seen.written.lock().unwrap().clone();
    let versions: BTreeSet<_> = acknowledged.iter().map(|(version, _)| *version).collect();
    assert_eq!(versions.len(), acknowledged.len(), "a version was acknowledged twice");
    assert!(versions.iter().all(|version| i64::try_from(*version).unwrap() <= last));

    let current = reader.get(key).await.is(200).json()["secret"].clone();
    let mut kept = reader.get(&format!("{key}/history")).await.is(200).json()["history"].clone();
    kept.as_array_mut().unwrap().push(current);
    let kept: BTreeMap<_, _> = kept
        .as_array()
        .unwrap()
        .iter()
        .map(|kept| (kept["version"].as_u64().unwrap(), kept["value"].as_str().unwrap().to_owned()))
        .collect();
    assert!(kept.contains_key(&u64::try_from(last).unwrap()) && kept.len() > 1, "{}", kept.len());
    for (version, value) in acknowledged {
        assert!(kept.get(&version).is_none_or(|kept| *kept == value), "version {version}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stalls_in_a_transaction_stops_no_other() {
    let store = TestDatabase::create().await;
    let stalled = node("database_stalled", &store.url()).start();
    let awake = node("database_awake", &store.url()).start();
    let (owner, alice) = (stalled.person("alice").await, awake.person("alice").await);
    let (_, key) = prepared(&owner).await;
    // Another account, because the blocked writes use up the write permits of their account.
    let bob = awake.person("bob").await;
    let project = bob.project("Other").await;
    bob.secret(&project, "development", "OTHER", "kvc_other").await;
    let other = paths::secret(&project, "development", "OTHER");
    let mut watcher = PgConnection::connect(&store.url()).await.unwrap();
    let load = Load::start(&owner, &key);
    load.seen.answers().await;

    stop_in_a_transaction(&stalled, &mut watcher).await;
    let stopped = Instant::now();

    let mut writes = JoinSet::new();
    for number in 0..9 {
        let (alice, key, seen) = (Client::clone(&alice), key.clone(), Arc::clone(&load.seen));
        writes.spawn(async move {
            let value = format!("kvc_next_{number}");
            let body = json!({ "value": value });
            let reply = timeout(Duration::from_secs(10), alice.put(&key, &body)).await.unwrap();
            if reply.status == 200 {
                seen.acknowledge(&reply, value);
            }
            reply.status
        });
    }
    let health = async || alice.get("/health").await.status;
    must_continue(&[(&alice, "/api/v1/users/me"), (&alice, &key), (&bob, &other)], writes, health)
        .await;
    eprintln!("the blocked writes ended {:?} after the stop", stopped.elapsed());

    // The database has ended the transaction of the stalled node.
    until("the environment can be written", async || {
        let reply = alice.put(&key, &json!({ "value": "kvc_last" })).await;
        if reply.status == 200 {
            load.seen.acknowledge(&reply, "kvc_last".to_owned());
        }
        reply.status == 200
    })
    .await;
    assert!(stopped.elapsed() > Duration::from_secs(1), "nothing was held");
    stalled.resume();
    load.seen.answers().await;
    let Load { mut clients, seen } = load;
    clients.shutdown().await;
    // Requests whose client has gone continue to their end.
    quiet(&mut watcher).await;
    must_be_applied_once(&mut watcher, (&alice, &key), &seen).await;
}

/// Waits until the database has no open transaction that writes.
async fn quiet(watcher: &mut PgConnection) {
    until("no transaction is open", async || {
        let open: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()
                 AND backend_xid IS NOT NULL",
        )
        .fetch_one(&mut *watcher)
        .await
        .unwrap();
        open == 0
    })
    .await;
}

/// Requests `/health` again and again during the load, until the returned task is dropped. Fails if
/// the response is 200 although no request of the load has succeeded for longer than a request may
/// take.
fn sample_health(alice: &Client, seen: &Arc<Seen>) -> JoinSet<()> {
    let (alice, seen, mut sampler) = (alice.clone(), Arc::clone(seen), JoinSet::new());
    sampler.spawn(async move {
        loop {
            let asked = Instant::now();
            let status = within(LIMIT, async { alice.get("/health").await.status }).await;
            assert!(status.is_some(), "/health hangs");
            let last = seen.answered.lock().unwrap().unwrap();
            let hanging = asked.saturating_duration_since(last);
            assert!(status != Some(200) || hanging < LIMIT, "200 while requests hang: {hanging:?}");
            sleep(Duration::from_millis(50)).await;
        }
    });
    sampler
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_are_replaced_under_load() {
    let store = TestDatabase::create().await;
    let (proxy, url) = DatabaseProxy::start(&store.url()).await;
    let world = World::new("database_silent", &[Target::postgres()]).await;
    let receiver = Receiver::start().await;
    let program = node("database_silent", &url).with("SECRETS_EGRESS_ALLOW", LOOPBACK).start();
    let alice = program.person("alice").await;
    let (_, key) = prepared(&alice).await;
    let rotated = &world.rotated[0];
    rotated.create(&alice).await;
    assert_eq!(rotated.rotate(&alice).await["status"], "success");
    let hook = json!({ "url": receiver.url("/"), "events": ["rotation.started"] });
    alice.post(&rotated.path("/webhooks"), &hook).await.is(201);
    let load = Load::start(&alice, &key);
    load.seen.answers().await;
    let mut health = sample_health(&alice, &load.seen);

    proxy.silence();
    let begun = Instant::now();
    // The rotation is due now.
    let direct = tokio::sync::Mutex::new(PgConnection::connect(&store.url()).await.unwrap());
    let due = "UPDATE rotations SET next_rotation_at = now(), work_at = now()";
    sqlx::raw_sql(due).execute(&mut *direct.lock().await).await.unwrap();
    let body = json!({ "value": "kvc_healed" });
    loop {
        let write = within(LIMIT, async { alice.put(&key, &body).await.status }).await;
        let read = within(LIMIT, async { alice.get(&key).await.status }).await;
        let health = within(LIMIT, async { alice.get("/health").await.status }).await;
        if [write, read, health] == [Some(200); 3] {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{write:?} {read:?} {health:?}");
        sleep(Duration::from_millis(100)).await;
    }
    eprintln!("healthy {:?} after the connections fell silent", begun.elapsed());
    let limit = Duration::from_mins(1);
    until("the rotation begins", async || {
        assert!(begun.elapsed() < limit, "the rotation has not begun");
        let attempts = "SELECT COUNT(*) FROM rotation_attempts";
        sqlx::query_scalar::<_, i64>(attempts).fetch_one(&mut *direct.lock().await).await.unwrap()
            == 2
    })
    .await;
    eprintln!("the due rotation began after {:?}", begun.elapsed());
    until("the webhook is delivered", async || {
        assert!(begun.elapsed() < limit, "the webhook is not delivered");
        !receiver.taken().is_empty()
    })
    .await;
    eprintln!("the webhook was delivered after {:?}", begun.elapsed());
    assert!(health.try_join_next().is_none(), "the sampler ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_database_gives_an_answer_soon() {
    let store = TestDatabase::create().await;
    let (proxy, url) = DatabaseProxy::start(&store.url()).await;
    let program = node("database_frozen", &url).start();
    let alice = program.person("alice").await;
    let (project, key) = prepared(&alice).await;

    proxy.freeze(true);
    for path in [
        key.clone(),
        project,
        "/api/v1/users/me".to_owned(),
        "/api/v1/audit".to_owned(),
        "/health".to_owned(),
    ] {
        let read = within(LIMIT, async { alice.get(&path).await.status }).await;
        assert_eq!(read, Some(503), "GET {path}");
    }
    let write = async { alice.put(&key, &json!({ "value": "kvc_frozen" })).await.status };
    assert_eq!(within(LIMIT, write).await, Some(503));

    proxy.freeze(false);
    until("it is healthy again", async || {
        let read = within(LIMIT, async { alice.get(&key).await.status }).await;
        let health = within(LIMIT, async { alice.get("/health").await.status }).await;
        [read, health] == [Some(200); 2]
    })
    .await;
}
