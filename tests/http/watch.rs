//! Tests of the event stream of changes to an environment (watch).

use std::time::{Duration, Instant};

use secrets_core::model::Role;
use secrets_tests::{App, Client, Kind, Person, Watch, on_every_store, paths};
use serde_json::json;

use super::device_login::session;

/// Maximum time to wait for an event or for the end of a stream, in seconds. The server polls the
/// store every 0.2 seconds, and checks the caller's access every second.
const SOON: u64 = 20;

async fn begin(client: &Client, path: &str) -> (Watch, String) {
    let mut watch = client.watch(path, &[]).await;
    assert_eq!(watch.status(), 200);
    let first = Watch::parse(watch.next_event(SOON).await);
    assert_eq!(first.data, json!({ "type": "secrets.current", "revision": first.id }));
    (watch, first.id)
}

async fn next_revision(watch: &mut Watch) -> String {
    let event = Watch::parse(watch.next_event(SOON).await);
    assert_eq!(event.data, json!({ "type": "secrets.updated", "revision": event.id }));
    event.id
}

async fn a_watch_sends_the_revision_and_then_changes(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "parent", None).await;
    alice.environment(&web, "preview", Some("parent")).await;
    let (mut watch, first) = begin(&alice, &paths::watch(&web, "preview")).await;

    alice.secret(&web, "preview", "KEY", "kvc_value").await;
    let own = next_revision(&mut watch).await;
    alice.secret(&web, "parent", "OTHER", "kvc_value").await;
    let of_parent = next_revision(&mut watch).await;
    let none = json!({ "inherits_from": null });
    alice.patch(&paths::environment(&web, "preview"), &none).await.is(200);
    let alone = next_revision(&mut watch).await;

    let mut distinct = vec![first, own, of_parent, alone];
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 4);
    alice.secret(&web, "parent", "THIRD", "kvc_value").await;
    assert!(watch.is_silent(1).await);
}

async fn a_watch_sends_changes_of_every_ancestor(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "root", None).await;
    alice.environment(&web, "grandparent", Some("root")).await;
    alice.environment(&web, "parent", Some("grandparent")).await;
    alice.environment(&web, "preview", Some("parent")).await;
    let (mut watch, first) = begin(&alice, &paths::watch(&web, "preview")).await;

    alice.secret(&web, "grandparent", "KEY", "kvc_value").await;
    let of_grandparent = next_revision(&mut watch).await;
    alice.secret(&web, "root", "KEY", "kvc_value").await;
    let of_root = next_revision(&mut watch).await;

    assert_ne!(first, of_grandparent);
    assert_ne!(of_grandparent, of_root);
}

async fn a_watch_is_a_stream_of_events_that_is_not_cached(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let reply = alice.watch(&paths::watch(&web, "staging"), &[]).await.into_reply().await;

    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert!(reply.header("x-request-id").is_some());
}

async fn a_change_on_another_node_is_sent(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (mut watch, _) = begin(&alice, &paths::watch(&web, "staging")).await;
    let other = app.restarted().await;
    let elsewhere = other.bearer(&other.jwt("alice"));

    let body = json!({ "key": "KEY", "value": "kvc_value" });
    elsewhere.post(&paths::secrets(&web, "staging"), &body).await.is(201);

    next_revision(&mut watch).await;
}

async fn a_client_that_reconnects_gets_the_missed_change(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::watch(&web, "staging");
    let (watch, seen) = begin(&alice, &path).await;
    drop(watch);
    let mut same = alice.watch(&path, &[("last-event-id", &seen)]).await;
    let same = Watch::parse(same.next_event(SOON).await);
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    let mut later = alice.watch(&path, &[("last-event-id", &seen)]).await;

    assert_eq!((&same.data["type"], same.id == seen), (&json!("secrets.current"), true));
    assert_ne!(next_revision(&mut later).await, seen);
}

async fn a_watch_ends_with_its_environment(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;
    let (mut one, _) = begin(&alice, &paths::watch(&web, "preview")).await;
    let (mut two, _) = begin(&alice, &paths::watch(&web, "staging")).await;

    alice.delete(&paths::environment(&web, "preview")).await.is(204);
    assert_eq!(one.next_event(SOON).await, None);
    alice.delete(&web).await.is(204);
    assert_eq!(two.next_event(SOON).await, None);
}

async fn a_watch_ends_when_its_token_does(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = json!({ "name": "t", "team_id": alice.team, "all_projects": true });
    let token = alice.post("/api/v1/tokens", &body).await.is(201).json();
    let client = app.bearer(token["token"].as_str().unwrap());
    let (mut watch, _) = begin(&client, &paths::watch(&web, "staging")).await;

    let path = format!("/api/v1/tokens/{}", token["id"].as_str().unwrap());
    alice.delete(&path).await.is(204);

    assert_eq!(watch.next_event(SOON).await, None);
}

async fn a_watch_ends_when_its_command_line_session_does(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (client, _) = session(&app, &alice).await;
    let (mut watch, _) = begin(&client, &paths::watch(&web, "staging")).await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    next_revision(&mut watch).await;

    alice.delete("/api/v1/auth/sessions").await.is(200);

    assert_eq!(watch.next_event(SOON).await, None);
}

async fn a_watch_ends_when_the_sign_in_does(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (mut watch, _) = begin(&alice, &paths::watch(&web, "staging")).await;

    app.wait(chrono::TimeDelta::days(2));

    assert_eq!(watch.next_event(SOON).await, None);
}

async fn a_watch_ends_when_the_permission_to_read_does(app: App) {
    let alice = app.person("alice").await;
    let (bob, carol) = (app.person("bob").await, app.person("carol").await);
    for member in [&bob, &carol] {
        app.join(&alice.team, &member.id, Role::Member).await;
    }
    let web = alice.project("Web").await;
    let path = paths::watch(&web, "staging");
    let (mut of_bob, _) = begin(&bob, &path).await;
    let (mut of_carol, _) = begin(&carol, &path).await;
    let (mut of_alice, _) = begin(&alice, &path).await;

    alice.delete(&format!("/api/v1/teams/{}/members/{}", alice.team, bob.id)).await.is(204);
    let none = json!({ "role": "none" });
    alice.put(&paths::permission(&web, "staging", &carol.id), &none).await.is(200);

    assert_eq!(of_bob.next_event(SOON).await, None);
    assert_eq!(of_carol.next_event(SOON).await, None);
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    next_revision(&mut of_alice).await;
}

async fn a_principal_has_at_most_five_watches(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    let path = paths::watch(&web, "staging");
    let mut watches = Vec::new();
    for _ in 0..5 {
        watches.push(begin(&alice, &path).await);
    }

    let refused = alice.watch(&path, &[]).await.into_reply().await;
    refused.is(429).code("rate_limited");
    assert!(refused.number("retry-after") > 0);
    begin(&bob, &path).await;

    watches.pop();
    let began = Instant::now();
    let mut status = 429;
    while status == 429 && began.elapsed() < Duration::from_secs(SOON) {
        status = alice.watch(&path, &[]).await.status();
    }
    assert_eq!(status, 200);
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    for (watch, _) in &mut watches {
        next_revision(watch).await;
    }
}

async fn a_caller_without_read_access_cannot_watch(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let writer = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&writer).await);
    let path = paths::watch(&web, "staging");

    bob.watch(&path, &[]).await.into_reply().await.is(403);
    writer.watch(&path, &[]).await.into_reply().await.is(403);
    app.anonymous().watch(&path, &[]).await.into_reply().await.is(401);
    alice.watch(&paths::watch(&web, "nowhere"), &[]).await.into_reply().await.is(404);
}

/// Checks that a secret can have the key `watch`, although this is also the path of the watch
/// endpoint.
async fn a_key_may_be_called_watch(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    alice.secret(&web, "staging", "watch", "kvc_value").await;

    let reply = alice.get(&paths::secret(&web, "staging", "watch")).await.is(200).json();
    assert_eq!(reply["secret"]["value"], "kvc_value");
}

on_every_store![
    a_watch_sends_the_revision_and_then_changes,
    a_watch_sends_changes_of_every_ancestor,
    a_watch_is_a_stream_of_events_that_is_not_cached,
    a_change_on_another_node_is_sent,
    a_client_that_reconnects_gets_the_missed_change,
    a_watch_ends_with_its_environment,
    a_watch_ends_when_its_token_does,
    a_watch_ends_when_its_command_line_session_does,
    a_watch_ends_when_the_sign_in_does,
    a_watch_ends_when_the_permission_to_read_does,
    a_principal_has_at_most_five_watches,
    a_caller_without_read_access_cannot_watch,
    a_key_may_be_called_watch,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_without_changes_is_kept_alive() {
    let app = App::start(Kind::Memory).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (mut watch, _) = begin(&alice, &paths::watch(&web, "staging")).await;

    let comment = watch.next(20).await.unwrap();

    assert!(comment.starts_with(':'), "{comment}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_has_at_most_a_hundred_watches() {
    let app = App::start(Kind::Memory).await;
    let mut watches = Vec::new();
    for name in ["alice", "bob", "carol", "dave"] {
        watches.extend(watches_of_a_team(&app, name).await.2);
    }
    let eve = app.person("eve").await;
    let web = eve.project("Web").await;

    let refused = eve.watch(&paths::watch(&web, "staging"), &[]).await.into_reply().await;

    refused.is(503).code("unavailable");
    assert_eq!(watches.len(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_has_a_quarter_of_the_watches() {
    let app = App::start(Kind::Memory).await;
    let (alice, path, mut watches) = watches_of_a_team(&app, "alice").await;

    let refused = alice.watch(&path, &[]).await.into_reply().await;

    refused.is(429).code("rate_limited");
    let bob = app.person("bob").await;
    let other = bob.project("Other").await;
    begin(&bob, &paths::watch(&other, "staging")).await;
    let web = path.split("/environments").next().unwrap();
    alice.secret(web, "staging", "KEY", "kvc_value").await;
    for (watch, _) in &mut watches {
        next_revision(watch).await;
    }
}

/// Creates a user with a project and five service tokens, and opens five event streams of an
/// environment with each token. Returns the user, the path of the event stream, and the 25 streams.
async fn watches_of_a_team(app: &App, name: &str) -> (Person, String, Vec<(Watch, String)>) {
    let owner = app.person(name).await;
    let path = paths::watch(&owner.project("Web").await, "staging");
    let mut watches = Vec::new();
    for _ in 0..5 {
        let token = app.bearer(&owner.token(&json!({ "all_projects": true })).await);
        for _ in 0..5 {
            watches.push(begin(&token, &path).await);
        }
    }
    (owner, path, watches)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_ends_its_watches_at_once() {
    let mut app = App::start(Kind::Memory).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (mut watch, _) = begin(&alice, &paths::watch(&web, "staging")).await;
    let began = Instant::now();

    let drained = app.stop().await;

    assert_eq!(watch.next_event(SOON).await, None);
    assert_eq!(drained.cut, 0);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
