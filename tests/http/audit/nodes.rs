//! Tests of the audit log of several server processes (nodes) with one database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use secrets_core::audit;
use secrets_tests::{App, Client, on_every_store, paths};

const READERS_PER_NODE: usize = 4;
const ROUNDS: usize = 10;
const LIST: &str = "/api/v1/audit?action=secret.read&limit=200";

/// Alternately reads a secret and lists the audit entries for reads. Every list must contain the
/// entries for all reads to which any node had responded before.
async fn read_and_list(reader: Client, secret: String, answered: Arc<AtomicUsize>) {
    for _ in 0..ROUNDS {
        reader.get(&secret).await.is(200);
        let before = answered.fetch_add(1, Ordering::SeqCst) + 1;
        let log = reader.get(LIST).await.is(200).json();
        let listed = log["logs"].as_array().unwrap().len();
        assert!(listed >= before, "{listed} of at least {before} entries");
    }
}

async fn a_list_contains_the_reads_of_every_node(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let other = app.restarted().await;
    let (secret, answered) = (paths::secret(&web, "staging", "KEY"), Arc::new(AtomicUsize::new(0)));

    let mut readers = Vec::new();
    for node in [&app, &other] {
        for _ in 0..READERS_PER_NODE {
            let reader = node.bearer(&app.jwt("alice"));
            let work = read_and_list(reader, secret.clone(), Arc::clone(&answered));
            readers.push(tokio::spawn(work));
        }
    }
    for reader in readers {
        reader.await.unwrap();
    }

    app.seal().await;
    let verified = audit::verify(app.service.engine()).await.unwrap();
    assert_eq!((verified.unsealed, verified.broken), (0, Vec::new()));
    let log = alice.get(LIST).await.is(200).json();
    assert_eq!(log["logs"].as_array().unwrap().len(), 2 * READERS_PER_NODE * ROUNDS);
}

on_every_store![a_list_contains_the_reads_of_every_node];
