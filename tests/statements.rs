//! Tests of the number of SQL statements that a request runs. A read by the External Secrets
//! Operator runs one statement that loads the environment with all its ancestors, besides those for
//! the audit log, and none for data that was read before and has not changed. On PostgreSQL, two
//! further statements query the changes that other nodes have committed: one before the caller is
//! authenticated, and one before the environment is looked up. Concurrent requests can share them.
//! The number of statements of an import does not depend on the number of its secrets. A change of a
//! secret runs six or seven statements on SQLite, and four more on PostgreSQL.
//!
//! These tests run alone in their process, because they subscribe to the log of the SQL driver
//! globally.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fmt;
use std::sync::Mutex;

use hyper::Method;
use secrets_tests::{App, Build, Client, Kind};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Summaries of the SQL statements that have run since a test last cleared the list.
static STATEMENTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_has_as_many_statements_at_any_depth() {
    tracing::subscriber::set_global_default(Listener).unwrap();
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let app = start(Build::on(kind)).await;
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
        let value = json!({ "value": "kvc_changed" });

        for environment in ["production", "level-2", "level-16"] {
            let place = format!("project={id}&env={environment}");
            for path in [format!("secret?{place}&key=KEY"), format!("secrets?{place}")] {
                let path = format!("/api/v1/eso/{path}");
                // The first read prepares the statements.
                token.get(&path).await.is(200);
                let again = statements_of(&token, &path).await;
                let path_of_key = format!("{project}/environments/production/secrets/KEY");
                alice.put(&path_of_key, &value).await.is(200);
                let changed = statements_of(&token, &path).await;

                let expected = if kind == Kind::Sqlite { (0, 1) } else { (2, 3) };
                let counts = (again.len(), changed.len());
                assert_eq!(counts, expected, "{kind:?} {environment}: {again:?} {changed:?}");
            }
        }
        an_import_has_as_many_statements_at_any_size(kind).await;
        a_change_of_a_secret_has_few_statements(kind).await;
        a_request_over_a_limit_has_no_statement(kind).await;
    }
}

/// Starts a service that runs no SQL statements except those of requests.
async fn start(build: Build) -> App {
    // Background workers would run further SQL statements.
    let app = build.without_workers().start().await;
    // Opens both connections for the queries for changes: with a new connection, all cached records
    // are loaded again.
    let (one, other) = tokio::join!(app.store.ping(), app.store.ping());
    assert!(one.is_ok() && other.is_ok());
    app
}

/// Checks that the number of SQL statements of an import does not depend on the number of secrets,
/// whether the import inserts or replaces them.
async fn an_import_has_as_many_statements_at_any_size(kind: Kind) {
    let app = start(Build::on(kind)).await;
    let alice = app.person("alice").await;
    let project = alice.project("Import").await;
    let path = format!("{project}/environments/production/secrets/bulk");
    let statements = async |keys: std::ops::Range<usize>, overwrite: bool| {
        let keys = keys.map(|number| json!({ "key": format!("KEY_{number}"), "value": "kvc_new" }));
        let body = json!({ "secrets": keys.collect::<Vec<_>>(), "overwrite": overwrite });
        STATEMENTS.lock().unwrap().clear();
        alice.post(&path, &body).await.is(200);
        std::mem::take(&mut *STATEMENTS.lock().unwrap())
    };
    for overwrite in [false, true] {
        // The first imports prepare the statements.
        statements(0..1, false).await;
        statements(1..3, overwrite).await;

        let few = statements(if overwrite { 1..3 } else { 3..5 }, overwrite).await;
        let many = statements(if overwrite { 1..60 } else { 5..60 }, overwrite).await;

        assert_eq!(many.len(), few.len(), "{kind:?} {overwrite}: {few:#?} {many:#?}");
    }
}

/// Checks the number of SQL statements of a request that creates, updates, rolls back or deletes a
/// secret, and of an update that deletes the oldest version. On PostgreSQL, there are four more:
/// for the changes of other nodes, for the caller and the environment again after the lock, and the
/// commit.
async fn a_change_of_a_secret_has_few_statements(kind: Kind) {
    let app = start(Build::on(kind)).await;
    let alice = app.person("alice").await;
    let project = alice.project("Change").await;
    let path = format!("{project}/environments/production/secrets");
    let scope = json!({ "all_projects": true, "permissions": ["read", "write"] });
    let token = app.bearer(&alice.token(&scope).await);
    let statements = async |method: Method, path: &str, body: &Value| {
        STATEMENTS.lock().unwrap().clear();
        let answer = match method {
            Method::DELETE => token.delete(path).await,
            method => token.json(method, path, body).await,
        };
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.status);
        std::mem::take(&mut *STATEMENTS.lock().unwrap())
    };
    let one = format!("{path}/KEY");
    let (new, value) =
        (json!({ "key": "KEY", "value": "kvc_new" }), json!({ "value": "kvc_next" }));
    // The first request loads the service token.
    token.post(&path, &json!({ "key": "FIRST", "value": "kvc_first" })).await.is(201);

    let created = statements(Method::POST, &path, &new).await;
    let updated = statements(Method::PUT, &one, &value).await;
    let body = json!({ "version": 1 });
    let rolled_back = statements(Method::POST, &format!("{one}/rollback"), &body).await;
    for _ in 0..100 {
        token.put(&one, &value).await.is(200);
    }
    let pruned = statements(Method::PUT, &one, &value).await;
    let deleted = statements(Method::DELETE, &one, &json!(null)).await;

    let all = [created, updated, rolled_back, pruned, deleted];
    let more = if kind == Kind::Sqlite { 0 } else { 4 };
    let expected = [6, 6, 7, 7, 7].map(|number| number + more);
    assert_eq!(all.each_ref().map(Vec::len), expected, "{kind:?}: {all:#?}");
}

/// Checks that a request that exceeds a rate limit runs no SQL statement, because the server checks
/// the limits before it looks up the credential.
async fn a_request_over_a_limit_has_no_statement(kind: Kind) {
    let app = start(Build::on(kind).rates(100, 5).proxies("127.0.0.1")).await;
    let alice = app.person("alice").await;
    let anywhere = alice.token(&json!({ "all_projects": true })).await;
    let bound = json!({ "all_projects": true, "ip_allowlist": ["192.0.2.0/24"] });
    let bound = alice.token(&bound).await;
    let uses = async |token: &str, address: &str| {
        let headers = [("x-forwarded-for", address)];
        app.bearer(token).raw(Method::GET, "/api/v1/users/me", &headers, "").await.status
    };
    for _ in 0..5 {
        assert_eq!(uses(&anywhere, "203.0.113.1").await, 200);
    }
    for _ in 0..20 {
        assert_eq!(uses(&bound, "203.0.113.2").await, 403);
    }
    STATEMENTS.lock().unwrap().clear();

    for _ in 0..50 {
        assert_eq!(uses(&anywhere, "203.0.113.1").await, 429, "over the limit of the token");
        assert_eq!(uses(&anywhere, "203.0.113.9").await, 429, "from another address too");
        assert_eq!(uses(&bound, "203.0.113.2").await, 429, "over the limit of failures");
    }

    let statements = std::mem::take(&mut *STATEMENTS.lock().unwrap());
    assert!(statements.is_empty(), "{kind:?}: {statements:?}");
}

/// Sends a request that reads `path`, and returns the summaries of the SQL statements that the
/// server runs for it. Statements for transactions, new connections, the audit log and the last use
/// of the token are not included.
async fn statements_of(token: &Client, path: &str) -> Vec<String> {
    STATEMENTS.lock().unwrap().clear();
    token.get(path).await.is(200);
    let statements = std::mem::take(&mut *STATEMENTS.lock().unwrap());
    let is_unrelated = |statement: &String| {
        ["INSERT INTO audit_batches", "BEGIN", "COMMIT", "UPDATE tokens SET last_used_at"]
            .iter()
            .any(|beginning| statement.starts_with(beginning))
    };
    statements.into_iter().filter(|statement| !is_unrelated(statement)).collect()
}

/// Beginnings of SQL statements that no request runs: those that set up new connections, whose
/// number depends on how many connections are free, and those of the background tasks of a store.
const OF_NO_REQUEST: [&str; 3] =
    ["SELECT set_config(", "PRAGMA ", "WITH moved AS (INSERT INTO changed_counters_"];

/// Log subscriber that records the summary of each SQL statement in the log of the SQL driver,
/// except the statements in [`OF_NO_REQUEST`].
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
        let is_of_request = || !OF_NO_REQUEST.iter().any(|start| value.starts_with(start));
        if field.name() == "summary" && is_of_request() {
            STATEMENTS.lock().unwrap().push(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
