//! Tests of rate limits that several server processes (nodes) share through Redis, including the
//! time while Redis cannot be reached.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::{Client, Reply, targets, until};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::program::{Program, Running, jwt, log_path};
use crate::redis_server::Redis;
use crate::servers::{Signal, address};

/// Number of clients that send requests at the same time.
const CLIENTS: u64 = 8;

fn node(name: &str, store: &TestDatabase, redis: &Redis) -> Program {
    Program::serve(name, "unused".as_ref())
        .with("SECRETS_DATABASE_URL", &store.url())
        .with("SECRETS_REDIS_URL", &redis.url())
}

async fn windows(node: &Running) -> String {
    let health = node.bearer("none").get("/health").await.is(200).json();
    health["rate_limits"].as_str().unwrap().to_owned()
}

/// Returns the value of a metric without labels, which the node at this address exports.
async fn metric(address: &str, name: &str) -> f64 {
    let scraped = Client::new(address.parse().unwrap(), None).get("/metrics").await.text();
    let value = scraped.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name}: {scraped}")).parse().unwrap()
}

/// Waits until all nodes count in Redis. Returns the number of times that Redis did not respond to
/// them in time so far. On a busy machine, Redis may need longer than the nodes wait, so that a node
/// counts by itself for a while.
async fn failures_of(metrics: &[String; 2]) -> f64 {
    let mut failures = 0.0;
    for address in metrics {
        until("the node counts in Redis", async || metric(address, "secrets_redis_up").await > 0.5)
            .await;
        failures += metric(address, "secrets_redis_failures_total").await;
    }
    failures
}

fn header(reply: &Reply, name: &str) -> u64 {
    reply.headers[name].to_str().unwrap().parse().unwrap()
}

/// Sends requests, alternating between the clients. Returns the number of responses by status, and
/// the number of remaining requests in the last response; `None` if a new minute began in the
/// meantime.
async fn send(clients: &[Client], count: usize) -> Option<(BTreeMap<u16, usize>, u64)> {
    let (mut statuses, mut minutes, mut remaining) = (BTreeMap::new(), BTreeSet::new(), 0);
    for client in clients.iter().cycle().take(count) {
        let reply = client.get("/api/v1/users/me").await;
        *statuses.entry(reply.status).or_default() += 1;
        minutes.insert(header(&reply, "x-ratelimit-reset"));
        remaining = header(&reply, "x-ratelimit-remaining");
    }
    (minutes.len() == 1).then_some((statuses, remaining))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_share_their_rate_limits() {
    let (store, redis) = (TestDatabase::create().await, Redis::new("redis_shared"));
    let _server = redis.start().await;
    let metrics = [address(), address()].map(|(host, port)| format!("{host}:{port}"));
    let nodes =
        [("redis_one", &metrics[0]), ("redis_other", &metrics[1])].map(|(name, metrics)| {
            node(name, &store, &redis)
                .with("SECRETS_RATE_LIMIT_PER_PRINCIPAL", "10")
                .with("SECRETS_RATE_LIMIT_PER_IP", "8")
                .with("SECRETS_METRICS_LISTEN", metrics)
                .start()
        });
    for node in &nodes {
        assert_eq!(windows(node).await, "shared");
    }

    // Each attempt has a new user, because an attempt does not count if the minute ends or a node
    // counts by itself meanwhile.
    let mut counted = None;
    for attempt in 0..3 {
        let failures = failures_of(&metrics).await;
        let token = jwt(&format!("redis-{attempt}"));
        nodes[0].bearer(&token).post("/api/v1/auth/sync", &serde_json::json!({})).await.is(200);
        let clients = nodes.each_ref().map(|node| node.bearer(&token));
        let sent = send(&clients, 14).await;
        let is_shared = failures_of(&metrics).await <= failures;
        counted = counted.or(sent.filter(|_| is_shared));
    }
    let mut refused = None;
    for _ in 0..3 {
        let failures = failures_of(&metrics).await;
        let clients = nodes.each_ref().map(|node| node.bearer("kvc_wrong"));
        let sent = send(&clients, 12).await;
        let is_shared = failures_of(&metrics).await <= failures;
        refused = refused.or(sent.filter(|_| is_shared));
    }

    // The sign-in was the first of ten requests.
    let (statuses, remaining) = counted.expect("three attempts cannot all be disturbed");
    assert_eq!(statuses, [(200, 9), (429, 5)].into());
    assert_eq!(remaining, 0);
    let (statuses, _) = refused.expect("three attempts cannot all be disturbed");
    assert!(statuses.keys().all(|status| [401, 429].contains(status)), "{statuses:?}");
    assert!(statuses[&429] >= 4, "{statuses:?}");
    let keys = redis.keys().await;
    assert!(!keys.is_empty());
    for key in keys {
        let hash = key.strip_prefix("secrets:rate:").unwrap();
        assert!(hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}");
    }
}

/// Running clients that send requests until they are stopped. Each client counts its responses by
/// status.
struct Load {
    clients: JoinSet<BTreeMap<u16, usize>>,
    is_over: Arc<AtomicBool>,
    /// Number of responses to all clients so far.
    count: Arc<AtomicUsize>,
}

impl Load {
    fn start(client: &Client) -> Self {
        let (mut clients, is_over) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
        let count = Arc::<AtomicUsize>::default();
        for _ in 0..CLIENTS {
            let (client, is_over) = (client.clone(), Arc::clone(&is_over));
            let count = Arc::clone(&count);
            clients.spawn(async move {
                let mut statuses = BTreeMap::new();
                while !is_over.load(Ordering::Relaxed) {
                    let status = client.get("/api/v1/users/me").await.status;
                    *statuses.entry(status).or_default() += 1;
                    count.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(5)).await;
                }
                statuses
            });
        }
        Self { clients, is_over, count }
    }

    async fn stop(mut self) -> BTreeMap<u16, usize> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut all = BTreeMap::new();
        while let Some(statuses) = self.clients.join_next().await {
            for (status, count) in statuses.unwrap() {
                *all.entry(status).or_default() += count;
            }
        }
        all
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_redis_is_frozen_killed_and_restarted() {
    let (store, redis) = (TestDatabase::create().await, Redis::new("redis_away"));
    let server = redis.start().await;
    let _ = std::fs::remove_file(log_path("redis_away_node"));
    let (host, port) = address();
    let metrics = format!("{host}:{port}");
    let node = node("redis_away_node", &store, &redis)
        .with("SECRETS_RATE_LIMIT_PER_PRINCIPAL", "1000000")
        .with("SECRETS_METRICS_LISTEN", &metrics)
        .start();
    let token = jwt("alice");
    node.bearer(&token).post("/api/v1/auth/sync", &serde_json::json!({})).await.is(200);
    let load = Load::start(&node.bearer(&token));

    server.signal(Signal::Stop);
    until("the node counts by itself", async || windows(&node).await == "per_node_fallback").await;
    sleep(Duration::from_secs(1)).await;
    server.signal(Signal::Continue);
    until("the node counts in Redis", async || windows(&node).await == "shared").await;
    server.kill();
    until("the node counts by itself", async || windows(&node).await == "per_node_fallback").await;
    let scraped = Client::new(metrics.parse().unwrap(), None).get("/metrics").await.text();
    assert!(scraped.contains("secrets_redis_up 0.0\n"), "{scraped}");
    let server = redis.start().await;
    until("the node counts in Redis", async || windows(&node).await == "shared").await;
    server.signal(Signal::Terminate);
    server.wait();
    let _server = redis.start().await;
    sleep(Duration::from_millis(500)).await;
    until("the node counts in Redis", async || windows(&node).await == "shared").await;
    until("many requests were sent", async || load.count.load(Ordering::Relaxed) > 300).await;

    let statuses = load.stop().await;
    assert_eq!(statuses.keys().copied().collect::<Vec<_>>(), [200], "{statuses:?}");
    let failures = metric(&metrics, "secrets_redis_failures_total").await;
    assert!(failures > 0.0);
    // Each interruption causes failures only for the requests that were waiting for Redis. On a busy
    // machine, a slow response of Redis is an interruption too.
    let most = f64::from(u32::try_from(CLIENTS + 1).unwrap());
    let lost = "Redis cannot be used";
    until(&format!("the log has an interruption for {most} of {failures} failures"), async || {
        let log = std::fs::read_to_string(log_path("redis_away_node")).unwrap();
        failures <= f64::from(u32::try_from(log.matches(lost).count()).unwrap()) * most
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_is_reached_with_tls_if_its_certificate_is_trusted() {
    let (store, redis) = (TestDatabase::create().await, Redis::with_tls("redis_tls"));
    let _server = redis.start().await;
    let authority = targets::servers().join("ca.pem");

    let trusting = node("redis_tls_trusted", &store, &redis)
        .with("SSL_CERT_FILE", authority.to_str().unwrap())
        .start();
    let doubting = node("redis_tls_untrusted", &store, &redis).start();

    assert_eq!(windows(&trusting).await, "shared");
    assert_eq!(windows(&doubting).await, "per_node_fallback");
}
