//! Tests of killing the service (`kill -9`) while clients write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrets_tests::{Client, Person, canary};
use serde_json::json;

use crate::program::{Program, folder, jwt};

const ROUNDS: u32 = 20;
const WRITERS: u32 = 8;

/// Record of the writes: for each secret key, the last version that the service acknowledged, and
/// the last version that a client sent.
#[derive(Default)]
struct Journal {
    acknowledged: BTreeMap<String, u32>,
    sent: BTreeMap<String, u32>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledged_write_survives_a_kill_and_none_is_half_written() {
    let folder = folder("kill");
    let database = folder.join("secrets.db");
    let journal = Arc::new(Mutex::new(Journal::default()));
    let program = Program::serve("kill", &database).start();
    let secrets = new_project(&program.bearer(&jwt("alice"))).await;
    program.kill();

    for round in 0..ROUNDS {
        let program = Program::serve("kill", &database).start();
        let client = program.bearer(&jwt("alice"));
        compare(&client, &secrets, &journal).await;

        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicU32::new(0));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let work = Writer {
                    client: client.clone(),
                    secrets: secrets.clone(),
                    journal: Arc::clone(&journal),
                    stop: Arc::clone(&stop),
                    count: Arc::clone(&count),
                };
                tokio::spawn(work.write(format!("KEY_{writer}")))
            })
            .collect();
        // Kills the server at a different moment in each round, and never before the first write.
        tokio::time::sleep(Duration::from_millis(20 + u64::from(round) * 7)).await;
        while count.load(Ordering::Relaxed) < 10 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        program.kill();
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
    }

    let program = Program::serve("kill", &database).start();
    compare(&program.bearer(&jwt("alice")), &secrets, &journal).await;
    let total: u32 = journal.lock().unwrap().acknowledged.values().sum();
    assert!(total >= ROUNDS * 10, "only {total} writes were tried");
}

struct Writer {
    client: Client,
    secrets: String,
    journal: Arc<Mutex<Journal>>,
    stop: Arc<AtomicBool>,
    count: Arc<AtomicU32>,
}

impl Writer {
    /// Writes new versions of a secret, one after another, until the server is killed.
    async fn write(self, key: String) {
        while !self.stop.load(Ordering::Relaxed) {
            let next = {
                let mut journal = self.journal.lock().unwrap();
                let next = journal.acknowledged.get(&key).copied().unwrap_or_default() + 1;
                journal.sent.insert(key.clone(), next);
                next
            };
            let value = value(&key, next);
            let reply = if next == 1 {
                self.client.try_post(&self.secrets, &json!({ "key": key, "value": value })).await
            } else {
                let path = format!("{}/{key}", self.secrets);
                self.client.try_put(&path, &json!({ "value": value })).await
            };
            let Some(reply) = reply else { return };
            assert!(matches!(reply.status, 200 | 201), "{}", reply.text());
            self.journal.lock().unwrap().acknowledged.insert(key.clone(), next);
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Asserts that each stored secret has the last acknowledged version, or the version that was sent
/// but not acknowledged, and the complete value of its version.
async fn compare(client: &Client, secrets: &str, journal: &Mutex<Journal>) {
    let stored = client.get(&format!("{secrets}/export")).await.is(200).json();
    let stored: BTreeMap<_, _> = stored["secrets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| (secret["key"].as_str().unwrap().to_owned(), secret.clone()))
        .collect();
    let mut journal = journal.lock().unwrap();
    for (key, sent) in journal.sent.clone() {
        let acknowledged = journal.acknowledged.get(&key).copied().unwrap_or_default();
        let version = stored.get(&key).map_or(0, |secret| secret["version"].as_u64().unwrap());
        let version = u32::try_from(version).unwrap();

        assert!(
            version >= acknowledged,
            "{key}: {acknowledged} was acknowledged, {version} is there"
        );
        assert!(version <= sent, "{key}: {sent} was sent, {version} is there");
        if version > 0 {
            assert_eq!(stored[&key]["value"], value(&key, version), "{key}");
            journal.acknowledged.insert(key, version);
        }
    }
}

fn value(key: &str, version: u32) -> String {
    // The value spans several database pages, so that the test detects a partial write.
    canary(&format!("{key}_{version}")).repeat(200)
}

async fn new_project(client: &Client) -> String {
    let user = client.post("/api/v1/auth/sync", &json!({})).await.is(200).json();
    let alice = Person::new(client.clone(), &user);
    let project = alice.project("Kill").await;
    format!("{project}/environments/production/secrets")
}
