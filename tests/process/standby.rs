//! Tests of the promotion of a PostgreSQL standby under load, with synchronous replication: no
//! acknowledged write is lost, and the server program finds the new primary without a restart.

use std::collections::BTreeMap;
use std::io::{Write as _, stderr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use secrets_tests::{Client, paths, until};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::program::Program;
use crate::standby_pair::Pair;

/// Number of clients that write at the same time.
const WRITERS: usize = 6;

/// Maximum time from a promotion to the next acknowledged write: 5 s, and more because other tests
/// use the processors at the same time.
const RECOVERY: Duration = Duration::from_secs(20);

/// Record of the writes of a secret: the last acknowledged version, and the number of later writes
/// that got no acknowledgement.
#[derive(Debug, Default, Clone, Copy)]
struct Written {
    acknowledged: u64,
    unknown: u64,
}

impl Written {
    /// Records a write. `version` is the version that the service acknowledged; `None` if the write
    /// was not acknowledged.
    fn add(&mut self, version: Option<u64>) {
        *self = match version {
            Some(acknowledged) => Self { acknowledged, unknown: 0 },
            None => Self { unknown: self.unknown + 1, ..*self },
        };
    }
}

/// Running clients that write secrets until they are stopped.
struct Load {
    writers: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    written: Arc<Mutex<BTreeMap<String, Written>>>,
    count: Arc<AtomicU32>,
}

impl Load {
    fn start(client: &Client, project: &str) -> Self {
        let mut load = Self {
            writers: JoinSet::new(),
            is_over: Arc::default(),
            written: Arc::default(),
            count: Arc::default(),
        };
        for writer in 0..WRITERS {
            let (client, key) = (client.clone(), format!("KEY_{writer}"));
            let path = paths::secret(project, "development", &key);
            let (is_over, written) = (Arc::clone(&load.is_over), Arc::clone(&load.written));
            let count = Arc::clone(&load.count);
            load.writers.spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let value =
                        json!({ "value": format!("kvc_{}", count.load(Ordering::Relaxed)) });
                    let reply =
                        timeout(Duration::from_secs(15), client.try_put(&path, &value)).await;
                    let reply = reply.ok().flatten().filter(|reply| reply.status == 200);
                    let version =
                        reply.map(|reply| reply.json()["secret"]["version"].as_u64().unwrap());
                    written.lock().unwrap().entry(key.clone()).or_default().add(version);
                    count.fetch_add(u32::from(version.is_some()), Ordering::Relaxed);
                    // Waits longer after a refusal, because refusals come at once.
                    sleep(Duration::from_millis(if version.is_some() { 1 } else { 50 })).await;
                }
            });
        }
        load
    }

    /// Waits until the service has acknowledged `count` more writes.
    async fn more(&self, count: u32) {
        let before = self.count.load(Ordering::Relaxed);
        until("clients write", async || self.count.load(Ordering::Relaxed) >= before + count).await;
    }

    async fn stop(mut self) -> BTreeMap<String, Written> {
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(writer) = self.writers.join_next().await {
            writer.unwrap();
        }
        self.written.lock().unwrap().clone()
    }
}

/// Returns the number of promotions that a test performs: 2, or the number in the environment
/// variable `SECRETS_TEST_PROMOTIONS`.
fn promotions() -> u32 {
    #[expect(clippy::disallowed_methods, reason = "the only configuration of the tests")]
    let asked = std::env::var("SECRETS_TEST_PROMOTIONS").ok();
    asked.map_or(2, |asked| asked.parse().unwrap())
}

/// Sends writes until the service acknowledges one. Returns the time that this took.
async fn recovery(client: &Client, path: &str) -> Duration {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(90), "no write is acknowledged");
        let value = json!({ "value": "kvc_again" });
        // A request that waits for the old server must not hide that new requests succeed.
        let reply = timeout(Duration::from_secs(3), client.try_put(path, &value)).await;
        if reply.ok().flatten().is_some_and(|reply| reply.status == 200) {
            return began.elapsed();
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Asserts that the audit log has one entry for each update of the secrets.
async fn assert_each_version_is_recorded_once(client: &Client, project: &str, pair: &Pair) {
    let listed = client.get(&paths::secrets(project, "development")).await.is(200).json();
    let versions = listed["secrets"].as_array().unwrap().iter();
    let updates: i64 = versions.map(|secret| secret["version"].as_i64().unwrap() - 1).sum();
    for count in ["count(*)", "count(DISTINCT (resource_id, metadata))"] {
        let query = format!("SELECT {count} FROM audit_log WHERE action = 'secret.updated'");
        assert_eq!(pair.number(&query).await, updates, "{count}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_standby_has_all_acknowledged_writes_and_is_found() {
    let mut pair = Pair::start("standby").await;
    let program = Program::serve("standby_node", "unused".as_ref())
        .with("SECRETS_DATABASE_URL", &pair.url())
        .start();
    let alice = program.person("alice").await;
    let project = alice.project("Web").await;
    for key in (0..WRITERS).map(|writer| format!("KEY_{writer}")).chain(["AGAIN".to_owned()]) {
        alice.secret(&project, "development", &key, "kvc_first").await;
    }
    let again = paths::secret(&project, "development", "AGAIN");
    let (mut slowest, mut total) = (Duration::ZERO, 0);

    for round in 0..promotions() {
        let load = Load::start(&alice, &project);
        load.more(30).await;
        let is_killed = round % 2 == 0;
        if is_killed {
            pair.kill_primary();
        } else {
            pair.freeze_primary();
        }
        pair.promote().await;
        let recovered = recovery(&alice, &again).await;
        load.more(10).await;
        if !is_killed {
            // The old primary accepts writes again, with a lower timeline than the new one.
            pair.continue_old();
            sleep(Duration::from_secs(1)).await;
            load.more(10).await;
        }
        total += load.count.load(Ordering::Relaxed);
        let written = load.stop().await;
        for (key, Written { acknowledged, unknown }) in written {
            let secret =
                alice.get(&paths::secret(&project, "development", &key)).await.is(200).json();
            let version = secret["secret"]["version"].as_u64().unwrap();
            assert!(version >= acknowledged, "{key}: {version} of {acknowledged} in round {round}");
            assert!(
                version <= acknowledged + unknown,
                "{key}: {version}, {acknowledged}, {unknown}"
            );
        }
        slowest = slowest.max(recovered);
        pair.add_standby().await;
    }

    assert_each_version_is_recorded_once(&alice, &project, &pair).await;
    assert!(slowest < RECOVERY, "{slowest:?}");
    writeln!(stderr(), "{total} acknowledged writes, {slowest:?} until the next write").unwrap();
}
