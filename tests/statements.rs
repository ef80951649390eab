//! Number of SQL statements of an ESO read: two at any depth of the chain, one to authenticate the
//! caller and one to load the environment, besides those of the audit log.
//!
//! This test runs alone in its process, because it records the log of the SQL driver.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::fmt;
use std::sync::Mutex;

use secrets_tests::{App, Client, Kind};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Beginnings of the statements since the list was last cleared.
static STATEMENTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_is_two_statements_at_any_depth() {
    tracing::subscriber::set_global_default(Listener).unwrap();
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let app = App::start(kind).await;
        let alice = app.person("alice").await;
        let project = alice.project("Depth").await;
        alice.secret(&project, "production", "KEY", "kvc_deep").await;
        let mut parent = "production".to_owned();
        for depth in 2..=16 {
            let name = format!("level-{depth}");
            let body = json!({ "name": name, "inherits_from": parent });
            alice.post(&format!("{project}/environments"), &body).await.is(201);
            parent = name;
        }
        let id = project.rsplit('/').next().unwrap();
        let token = app.bearer(&alice.token(&json!({ "project_ids": [id] })).await);

        for environment in ["production", "level-2", "level-16"] {
            let place = format!("project={id}&env={environment}");
            for path in [format!("secret?{place}&key=KEY"), format!("secrets?{place}")] {
                let statements = run_by(&token, &format!("/api/v1/eso/{path}")).await;

                assert_eq!(statements.len(), 2, "{kind:?} {environment}: {statements:?}");
            }
        }
    }
}

/// Returns the statements of one read, without those that write the audit log, open a connection or
/// maintain the store.
async fn run_by(token: &Client, path: &str) -> Vec<String> {
    // The first read prepares the statements.
    token.get(path).await.is(200);
    STATEMENTS.lock().unwrap().clear();
    token.get(path).await.is(200);
    let statements = std::mem::take(&mut *STATEMENTS.lock().unwrap());
    let beside = |statement: &String| {
        [
            "INSERT INTO audit_log",
            "BEGIN",
            "COMMIT",
            "PRAGMA foreign_keys",
            "UPDATE tokens SET last_used_at",
            "SELECT clock_timestamp()",
            "SELECT (SELECT NULL",
        ]
        .iter()
        .any(|beginning| statement.starts_with(beginning))
    };
    statements.into_iter().filter(|statement| !beside(statement)).collect()
}

/// Tracing layer that records the summary of each statement.
struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Summary);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Summary;

impl Visit for Summary {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "summary" {
            STATEMENTS.lock().unwrap().push(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
