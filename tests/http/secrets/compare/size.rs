//! Tests of the size of a comparison: its limit, and the memory that is reserved for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use secrets_core::engine::{Options, Ports};
use secrets_core::model::{Error, UserId};
use secrets_core::ports::memory::{ReservedMemory, WorkMemory};
use secrets_tests::{App, Build, Kind, on_every_store, paths};
use serde_json::json;

use super::compare;

/// Memory budget for tests, which counts all reserved bytes.
#[derive(Default)]
struct Reserved(AtomicU64);

#[async_trait]
impl WorkMemory for Reserved {
    async fn reserve(&self, _: Option<UserId>, bytes: u64) -> Result<ReservedMemory, Error> {
        self.0.fetch_add(bytes, Ordering::SeqCst);
        Ok(Box::new(()))
    }
}

/// Starts a server whose responses may contain at most this number of bytes of secrets.
async fn limited(kind: Kind, max_answer_bytes: usize) -> App {
    let options = Options { max_answer_bytes, ..Options::default() };
    Build::on(kind).options(options).start().await
}

async fn a_comparison_that_is_too_large_is_413_and_one_of_fewer_environments_is_not(kind: Kind) {
    let app = limited(kind, 8_192).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = json!({ "key": "KEY", "value": "kvc_value", "description": "d".repeat(500) });
    alice.post(&paths::secrets(&web, "production"), &body).await.is(201);
    for number in 0..20 {
        alice.environment(&web, &format!("child-{number}"), Some("production")).await;
    }

    let error = "the comparison exceeds 8 KiB: select fewer environments";
    let expected = json!({ "error": error, "code": "answer_too_large" });
    for query in ["", "?equal=true"] {
        let refused = alice.get(&compare(&web, query)).await;
        assert_eq!(refused.is(413).json(), expected);
    }
    for query in ["?environments=production,child-0", "?environments=child-1&equal=true"] {
        alice.get(&compare(&web, query)).await.is(200);
    }
    alice.get(&paths::secrets(&web, "child-0")).await.is(200);
}

async fn a_comparison_of_one_environment_that_is_too_large_says_how_to_read_it(kind: Kind) {
    let app = limited(kind, 4_096).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["ONE", "TWO", "THREE"] {
        alice.secret(&web, "production", key, &"kvc_value".repeat(200)).await;
    }

    let refused = alice.get(&compare(&web, "?environments=production")).await;

    let error = refused.is(413).code("answer_too_large").json();
    let expected = "the comparison exceeds 4 KiB: read the secrets one by one, or let the \
                    environment inherit from fewer environments";
    assert_eq!(error["error"], expected);
}

async fn cells_without_a_secret_count_for_the_size_of_a_comparison(kind: Kind) {
    let app = limited(kind, 16_384).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for number in 0..40 {
        alice.secret(&web, "production", &format!("KEY_{number}"), "kvc_value").await;
    }
    for number in 0..8 {
        alice.environment(&web, &format!("empty-{number}"), None).await;
    }

    alice.get(&compare(&web, "")).await.is(413).code("answer_too_large");
    alice.get(&compare(&web, "?environments=production")).await.is(200);
}

async fn an_inheritance_chain_is_reserved_once_for_all_environments_of_a_comparison(app: App) {
    let memory = Arc::new(Reserved::default());
    let app = app.with(Ports { memory: Some(memory.clone()), ..app.ports() }).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for name in ["one", "two", "three"] {
        alice.environment(&web, name, Some("production")).await;
    }
    for key in ["ONE", "TWO"] {
        alice.secret(&web, "production", key, &"v".repeat(50_000)).await;
    }

    alice.get(&compare(&web, "")).await.is(200);

    let reserved = memory.0.load(Ordering::SeqCst);
    assert!((100_000..110_000).contains(&reserved), "{reserved}");
}

on_every_store![
    an_inheritance_chain_is_reserved_once_for_all_environments_of_a_comparison,
    ;
    a_comparison_that_is_too_large_is_413_and_one_of_fewer_environments_is_not,
    a_comparison_of_one_environment_that_is_too_large_says_how_to_read_it,
    cells_without_a_secret_count_for_the_size_of_a_comparison,
];
