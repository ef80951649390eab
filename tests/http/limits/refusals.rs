//! Tests of the audit entries for refused requests.

use chrono::TimeDelta;
use hyper::Method;
use secrets_core::model::{Error, Origin, Role};
use secrets_core::store::AuditRecord;
use secrets_core::workers;
use secrets_tests::{App, Build, Kind, Person, on_every_store, paths};
use serde_json::{Value, json};

const ME: &str = "/api/v1/users/me";

/// Starts a server without background workers, so that only the test writes the audit entries for
/// refused requests.
async fn server(kind: Kind) -> App {
    Build::on(kind).proxies("127.0.0.1").without_workers().start().await
}

/// Creates a service token that may only be used from 192.0.2.0/24.
async fn bound_token(person: &Person) -> String {
    person.token(&json!({ "all_projects": true, "ip_allowlist": ["192.0.2.0/24"] })).await
}

async fn denied(app: &App, team: &str) -> Vec<AuditRecord> {
    let mut entries = app.audit(team).await;
    entries.retain(|entry| entry.outcome == "denied");
    entries
}

/// Returns the number of refused requests that an audit entry represents.
fn count(entry: &AuditRecord) -> u64 {
    let details: Value = serde_json::from_str(&entry.metadata).unwrap();
    details["count"].as_u64().unwrap()
}

async fn refused_uses_of_a_token_leave_one_entry_a_minute(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    let token = bound_token(&alice).await;
    let uses = if kind == Kind::Sqlite { 20_000 } else { 500 };

    for _ in 0..uses {
        let address = Some("203.0.113.9".parse().unwrap());
        let refused = app.service.authenticate(&token, Origin { address, ..Origin::default() });
        assert!(matches!(refused.await, Err(Error::AddressNotAllowed(_))));
    }

    let at_once = denied(&app, &alice.team).await;
    assert_eq!(at_once.iter().map(count).collect::<Vec<_>>(), [1]);
    app.wait(TimeDelta::minutes(1));
    workers::flush(app.service.engine()).await.unwrap();
    let later = denied(&app, &alice.team).await;
    assert_eq!(later.iter().map(count).collect::<Vec<_>>(), [uses - 1, 1]);
    assert!(later.iter().all(|entry| entry.action == "token.used_denied"));
}

async fn uses_from_other_networks_are_failures_of_the_address(kind: Kind) {
    let app = Build::on(kind).rates(1_000, 60).proxies("127.0.0.1").start().await;
    let alice = app.person("alice").await;
    let token = app.bearer(&bound_token(&alice).await);
    let from = async |address: &str| {
        let headers = [("x-forwarded-for", address)];
        token.raw(Method::GET, ME, &headers, "").await
    };
    from("192.0.2.1").await.is(200);

    for _ in 0..20 {
        from("203.0.113.9").await.is(403).code("ip_not_allowed");
    }

    from("203.0.113.9").await.is(429);
    from("203.0.113.10").await.is(403);
    assert_eq!(from("192.0.2.1").await.is(200).number("x-ratelimit-remaining"), 58);
}

async fn an_ended_token_is_in_the_log(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    let token = alice.token(&json!({ "all_projects": true, "expires_in_days": 1 })).await;
    app.wait(TimeDelta::days(2));

    for _ in 0..3 {
        app.bearer(&token).get(ME).await.is(401);
    }

    let entries = denied(&app, &alice.team).await;
    assert_eq!(entries.iter().map(count).collect::<Vec<_>>(), [1]);
    assert_eq!(entries[0].action, "token.used_denied");
    assert!(entries[0].metadata.contains(r#""reason":"expired""#), "{}", entries[0].metadata);
}

async fn a_token_that_calls_an_operation_for_users_is_in_the_log(kind: Kind) {
    let app = server(kind).await;
    let alice = app.person("alice").await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    for _ in 0..5 {
        token.post("/api/v1/projects", &json!({ "name": "Web" })).await.is(403);
    }
    token.get("/api/v1/account").await.is(403);

    let entries = denied(&app, &alice.team).await;
    let details = entries.iter().map(|entry| -> Value {
        assert_eq!(entry.action, "token.used_denied");
        serde_json::from_str(&entry.metadata).unwrap()
    });
    let mut operations: Vec<_> = details
        .map(|details| {
            assert_eq!(details["reason"], "credential");
            details["operation"].as_str().unwrap().to_owned()
        })
        .collect();
    operations.sort_unstable();
    assert_eq!(operations, ["account.get", "project.create"]);
    app.wait(TimeDelta::minutes(1));
    workers::flush(app.service.engine()).await.unwrap();
    assert_eq!(denied(&app, &alice.team).await.iter().map(count).sum::<u64>(), 6);
}

async fn a_refused_read_and_a_refused_change_are_in_the_log(kind: Kind) {
    let app = server(kind).await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    let none = json!({ "role": "none" });
    alice.put(&paths::permission(&web, "production", &bob.id), &none).await.is(200);
    let key = paths::secret(&web, "production", "KEY");

    for _ in 0..10 {
        bob.get(&key).await.is(403);
        bob.put(&key, &json!({ "value": "kvc_other" })).await.is(403);
    }

    let mut entries = denied(&app, &alice.team).await;
    entries.sort_by(|one, other| one.action.cmp(&other.action));
    let actions: Vec<_> = entries.iter().map(|entry| entry.action.as_ref()).collect();
    assert_eq!(actions, ["secret.read", "secret.updated"]);
    for entry in &entries {
        assert_eq!(entry.environment_name.as_deref(), Some("production"));
        assert_eq!(entry.actor_id.map(|id| id.to_string()), Some(bob.id.clone()));
        assert_eq!(entry.actor_email.as_deref(), Some("bob@example.com"));
    }
    app.wait(TimeDelta::minutes(1));
    workers::flush(app.service.engine()).await.unwrap();
    let counts: u64 = denied(&app, &alice.team).await.iter().map(count).sum();
    assert_eq!(counts, 20);
}

/// Checks that the audit log of a team does not contain names of callers outside of the team. Such
/// callers could otherwise choose what the log shows.
async fn a_caller_outside_of_the_team_is_in_the_log_without_a_name(kind: Kind) {
    let app = server(kind).await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;

    bob.get(&paths::secret(&web, "production", "KEY")).await.is(403);
    bob.delete(&web).await.is(403);

    let entries = denied(&app, &alice.team).await;
    assert_eq!(entries.len(), 2);
    for entry in entries {
        assert_eq!(entry.actor_id.map(|id| id.to_string()), Some(bob.id.clone()));
        assert_eq!((entry.actor_name, entry.actor_email), (None, None));
    }
}

on_every_store![
    ;
    refused_uses_of_a_token_leave_one_entry_a_minute,
    uses_from_other_networks_are_failures_of_the_address,
    an_ended_token_is_in_the_log,
    a_token_that_calls_an_operation_for_users_is_in_the_log,
    a_refused_read_and_a_refused_change_are_in_the_log,
    a_caller_outside_of_the_team_is_in_the_log_without_a_name,
];
