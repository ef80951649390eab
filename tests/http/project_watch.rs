//! Tests of the event stream of changes to all environments of a project (watch).

use std::collections::BTreeMap;

use secrets_core::model::Role;
use secrets_tests::{App, Client, Event, Kind, Person, Watch, on_every_store, paths};
use serde_json::{Value, json};

/// Maximum time to wait for an event, in seconds. The server polls the store every 0.2 seconds, and
/// reads the permissions again every second.
const SOON: u64 = 20;

fn path(project: &str) -> String {
    format!("{project}/watch")
}

async fn next(watch: &mut Watch, seconds: u64) -> Event {
    Watch::parse(watch.next_event(seconds).await)
}

/// Reads events up to and including the next event with an ID. Returns this ID, and for each event
/// its type and the name of its environment.
async fn batch(watch: &mut Watch, seconds: u64) -> (String, Vec<String>) {
    let mut events = Vec::new();
    loop {
        let Event { id, data } = next(watch, seconds).await;
        let text = |field: &str| data[field].as_str().unwrap().to_owned();
        events.push(format!("{} {}", text("type"), text("name")));
        if !id.is_empty() {
            events.sort();
            return (id, events);
        }
    }
}

async fn next_names(watch: &mut Watch) -> Vec<String> {
    batch(watch, SOON).await.1
}

/// Opens the event stream of a project. Returns the stream, and the names of the environments in
/// its first events.
async fn begin(client: &Client, project: &str) -> (Watch, Vec<String>) {
    let mut watch = client.watch(&path(project), &[]).await;
    assert_eq!(watch.status(), 200);
    let first = next_names(&mut watch).await;
    let names = first.iter().map(|event| event.strip_prefix("secrets.current ").unwrap());
    let names = names.map(str::to_owned).collect();
    (watch, names)
}

/// Returns the IDs of a project's environments by name.
async fn environments(client: &Client, project: &str) -> BTreeMap<String, Value> {
    let list = client.get(&paths::environments(project)).await.is(200).json();
    let list = list["environments"].as_array().unwrap();
    list.iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one["id"].clone())).collect()
}

async fn a_project_watch_begins_with_an_event_for_each_environment(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let known = environments(&alice, &web).await;

    let mut watch = alice.watch(&path(&web), &[]).await;

    let mut events = Vec::new();
    for _ in 0..known.len() {
        events.push(next(&mut watch, SOON).await);
    }
    for event in &events {
        let name = event.data["name"].as_str().unwrap();
        let own = alice.watch(&paths::watch(&web, name), &[]).await;
        let own = { own }.next(SOON).await;
        let revision = Watch::parse(own).id;
        let expected = json!({
            "type": "secrets.current",
            "environment": known[name],
            "name": name,
            "revision": revision,
        });
        assert_eq!(event.data, expected);
    }
    let with_id = events.iter().filter(|event| !event.id.is_empty());
    assert_eq!(with_id.count(), 1);
    assert!(!events.last().unwrap().id.is_empty());
}

async fn a_change_is_an_event_for_the_environment_and_its_children(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "parent", None).await;
    alice.environment(&web, "child", Some("parent")).await;
    alice.environment(&web, "grandchild", Some("child")).await;
    let (mut watch, _) = begin(&alice, &web).await;

    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    assert_eq!(next_names(&mut watch).await, ["secrets.updated staging"]);

    alice.secret(&web, "parent", "KEY", "kvc_value").await;
    let expected =
        ["secrets.updated child", "secrets.updated grandchild", "secrets.updated parent"];
    assert_eq!(next_names(&mut watch).await, expected);
    assert!(watch.is_silent(1).await);
}

async fn created_changed_and_deleted_environments_are_events(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (mut watch, _) = begin(&alice, &web).await;

    let id = alice.environment(&web, "preview", None).await;
    let added = next(&mut watch, SOON).await.data;
    assert_eq!((&added["type"], &added["name"]), (&json!("environment.added"), &json!("preview")));
    assert_eq!(added["environment"], id.as_str());

    let one = paths::environment(&web, &id);
    alice.patch(&one, &json!({ "name": "review" })).await.is(200);
    let renamed = next(&mut watch, SOON).await.data;
    assert_eq!((&renamed["type"], &renamed["name"]), (&json!("secrets.updated"), &json!("review")));
    assert_eq!(renamed["environment"], id.as_str());

    alice.patch(&one, &json!({ "inherits_from": "staging" })).await.is(200);
    assert_eq!(next_names(&mut watch).await, ["secrets.updated review"]);
    alice.patch(&one, &json!({ "inherits_from": null })).await.is(200);
    assert_eq!(next_names(&mut watch).await, ["secrets.updated review"]);

    alice.delete(&one).await.is(204);
    let removed = next(&mut watch, SOON).await.data;
    let expected = json!({ "type": "environment.removed", "environment": id, "name": "review" });
    assert_eq!(removed, expected);
}

async fn only_readable_environments_have_events(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    let access = async |role: &str| {
        let path = paths::permission(&web, "production", &bob.id);
        alice.put(&path, &json!({ "role": role })).await.is(200);
    };
    access("none").await;

    let (mut watch, names) = begin(&bob, &web).await;
    assert_eq!(names, ["development", "staging"]);
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    assert_eq!(next_names(&mut watch).await, ["secrets.updated staging"]);

    access("read").await;
    assert_eq!(batch(&mut watch, SOON).await.1, ["environment.added production"]);
    alice.secret(&web, "production", "OTHER", "kvc_value").await;
    assert_eq!(next_names(&mut watch).await, ["secrets.updated production"]);

    access("none").await;
    alice.secret(&web, "production", "THIRD", "kvc_value").await;
    assert_eq!(batch(&mut watch, SOON).await.1, ["environment.removed production"]);
    alice.secret(&web, "production", "FOURTH", "kvc_value").await;
    assert!(watch.is_silent(1).await);
}

async fn a_token_gets_events_for_the_environments_in_its_scope(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let scope = json!({ "project_ids": [web.rsplit('/').next()], "environments": ["staging"] });
    let token = app.bearer(&alice.token(&scope).await);

    let (mut watch, names) = begin(&token, &web).await;

    assert_eq!(names, ["staging"]);
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    assert_eq!(next_names(&mut watch).await, ["secrets.updated staging"]);
}

async fn a_caller_without_an_environment_waits_for_the_first(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    let access = async |environment: &str, role: &str| {
        let path = paths::permission(&web, environment, &bob.id);
        alice.put(&path, &json!({ "role": role })).await.is(200);
    };
    for environment in ["development", "staging", "production"] {
        access(environment, "none").await;
    }

    let mut watch = bob.watch(&path(&web), &[]).await;

    assert_eq!(watch.status(), 200);
    access("staging", "read").await;
    assert_eq!(batch(&mut watch, SOON).await.1, ["environment.added staging"]);
}

async fn a_client_that_reconnects_gets_the_missed_events(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut watch = alice.watch(&path(&web), &[]).await;
    let (seen, first) = batch(&mut watch, SOON).await;
    drop(watch);
    let again = async || {
        let mut watch = alice.watch(&path(&web), &[("last-event-id", &seen)]).await;
        batch(&mut watch, SOON).await
    };

    assert_eq!(again().await, (seen.clone(), first));
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let (id, missed) = again().await;

    let expected =
        ["secrets.updated development", "secrets.updated production", "secrets.updated staging"];
    assert_eq!(missed, expected);
    assert_ne!(id, seen);
}

async fn a_change_on_another_node_reaches_the_watchers_of_a_project(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (mut watch, _) = begin(&alice, &web).await;
    let other = app.restarted().await;
    let elsewhere = other.bearer(&other.jwt("alice"));

    let body = json!({ "key": "KEY", "value": "kvc_value" });
    elsewhere.post(&paths::secrets(&web, "staging"), &body).await.is(201);
    assert_eq!(next_names(&mut watch).await, ["secrets.updated staging"]);
    let body = json!({ "name": "preview" });
    elsewhere.post(&paths::environments(&web), &body).await.is(201);

    assert_eq!(next_names(&mut watch).await, ["environment.added preview"]);
}

/// Waits until the server ends an event stream. Before the end, only events about removed
/// environments may arrive.
async fn ends(watch: &mut Watch) {
    while let Some(block) = watch.next_event(SOON).await {
        assert_eq!(Watch::parse(Some(block)).data["type"], "environment.removed");
    }
}

async fn a_project_watch_ends_with_the_project_and_the_membership(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    let (mut of_bob, _) = begin(&bob, &web).await;
    let (mut of_alice, _) = begin(&alice, &web).await;

    alice.delete(&format!("/api/v1/teams/{}/members/{}", alice.team, bob.id)).await.is(204);
    ends(&mut of_bob).await;
    alice.delete(&web).await.is(204);

    ends(&mut of_alice).await;
}

async fn a_project_watch_ends_when_its_token_does(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = json!({ "name": "t", "team_id": alice.team, "all_projects": true });
    let token = alice.post("/api/v1/tokens", &body).await.is(201).json();
    let client = app.bearer(token["token"].as_str().unwrap());
    let (mut watch, _) = begin(&client, &web).await;

    let path = format!("/api/v1/tokens/{}", token["id"].as_str().unwrap());
    alice.delete(&path).await.is(204);

    ends(&mut watch).await;
}

async fn a_project_watch_takes_one_place_like_that_of_an_environment(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let mut watches = Vec::new();
    for _ in 0..3 {
        watches.push(begin(&alice, &web).await);
    }
    let mut others = Vec::new();
    for _ in 0..2 {
        others.push(alice.watch(&paths::watch(&web, "staging"), &[]).await);
        assert_eq!(others.last().unwrap().status(), 200);
    }

    alice.watch(&path(&web), &[]).await.into_reply().await.is(429).code("rate_limited");
    let refused = alice.watch(&paths::watch(&web, "staging"), &[]).await.into_reply().await;
    refused.is(429).code("rate_limited");
}

async fn a_project_watch_is_refused_without_access(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let writer = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&writer).await);

    for (client, status) in [(&*bob, 403), (&writer, 403), (&app.anonymous(), 401)] {
        client.watch(&path(&web), &[]).await.into_reply().await.is(status);
    }
    let unknown = path("/api/v1/projects/nowhere");
    alice.watch(&unknown, &[]).await.into_reply().await.is(404);
}

on_every_store![
    a_project_watch_begins_with_an_event_for_each_environment,
    a_change_is_an_event_for_the_environment_and_its_children,
    created_changed_and_deleted_environments_are_events,
    only_readable_environments_have_events,
    a_token_gets_events_for_the_environments_in_its_scope,
    a_caller_without_an_environment_waits_for_the_first,
    a_client_that_reconnects_gets_the_missed_events,
    a_change_on_another_node_reaches_the_watchers_of_a_project,
    a_project_watch_ends_with_the_project_and_the_membership,
    a_project_watch_ends_when_its_token_does,
    a_project_watch_takes_one_place_like_that_of_an_environment,
    a_project_watch_is_refused_without_access,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_of_projects_count_in_the_quarter_of_a_team() {
    let app = App::start(Kind::Memory).await;
    let owner: Person = app.person("alice").await;
    let web = owner.project("Web").await;
    let mut watches = Vec::new();
    for _ in 0..5 {
        let token = app.bearer(&owner.token(&json!({ "all_projects": true })).await);
        for _ in 0..5 {
            watches.push(begin(&token, &web).await);
        }
    }

    owner.watch(&path(&web), &[]).await.into_reply().await.is(429).code("rate_limited");
    assert_eq!(watches.len(), 25);
}
