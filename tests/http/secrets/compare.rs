//! Tests of `/api/v1/projects/{projectId}/compare`, which shows the secrets of several environments
//! side by side.

mod permissions;
mod size;

use hyper::Method;
use secrets_core::model::{Clock as _, Role};
use secrets_tests::{App, Client, Kind, Person, Reply, on_every_store, paths, postgresql};
use serde_json::{Value, json};

fn compare(project: &str, query: &str) -> String {
    format!("{project}/compare{query}")
}

async fn compared(client: &Client, project: &str, query: &str) -> Value {
    client.get(&compare(project, query)).await.is(200).json()
}

/// Returns the cell of each environment in the row of a secret key, by the name of the environment.
fn cells(comparison: &Value, key: &str) -> Value {
    let rows = comparison["keys"].as_array().unwrap();
    let row = rows.iter().find(|row| row["key"] == key).unwrap();
    let environments = comparison["environments"].as_array().unwrap();
    let names = environments.iter().map(|environment| environment["name"].as_str().unwrap());
    names.map(str::to_owned).zip(row["cells"].as_array().unwrap().iter().cloned()).collect()
}

/// Returns the state, the origin (`from`) and the version in each cell of a secret key, by the name
/// of the environment.
fn states(comparison: &Value, key: &str) -> Value {
    let mut cells = cells(comparison, key);
    for (_, cell) in cells.as_object_mut().unwrap() {
        if !cell.is_null() {
            *cell = json!([cell["state"], cell["from"], cell["version"]]);
        }
    }
    cells
}

/// Returns one field of each environment in a comparison, by the name of the environment.
fn columns(comparison: &Value, field: &str) -> Value {
    let environments = comparison["environments"].as_array().unwrap();
    let named = |environment: &Value| {
        (environment["name"].as_str().unwrap().to_owned(), environment[field].clone())
    };
    environments.iter().map(named).collect()
}

/// Creates an inheritance chain: the environment `near` inherits from `middle`, which inherits from
/// `production`. Returns the user and the path of the project.
async fn chain(app: &App) -> (Person, String) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "middle", Some("production")).await;
    alice.environment(&web, "near", Some("middle")).await;
    (alice, web)
}

async fn hide(person: &Person, project: &str, environment: &str, key: &str) {
    let body = json!({ "key": key, "hidden": true });
    person.post(&paths::secrets(project, environment), &body).await.is(201);
}

async fn a_comparison_has_a_cell_for_each_key_and_environment(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "B", "kvc_b").await;
    let body = json!({ "key": "A", "value": "kvc_a", "description": "First" });
    alice.post(&paths::secrets(&web, "production"), &body).await.is(201);
    let ids = alice.get(&paths::environments(&web)).await.json()["environments"].clone();

    let reply = alice.get(&compare(&web, "")).await;

    let environment = |place: usize, name: &str, missing: u32| {
        json!({
            "id": ids[place]["id"], "name": name, "order": place, "role": "admin",
            "missing": missing,
        })
    };
    let mut own = json!({
        "state": "own", "version": 1, "updated_at": app.clock.now(), "updated_by": alice.id,
    });
    let b = own.clone();
    own["description"] = json!("First");
    let revision = reply.is(200).header("etag").unwrap().trim_matches('"');
    assert_eq!(
        reply.json(),
        json!({
            "revision": revision,
            "environments": [
                environment(0, "development", 2),
                environment(1, "staging", 1),
                environment(2, "production", 1),
            ],
            "keys": [
                { "key": "A", "cells": [null, null, own] },
                { "key": "B", "cells": [null, b, null] },
            ],
        })
    );
}

async fn a_cell_has_its_origin_in_the_chain(app: App) {
    let (alice, web) = chain(&app).await;
    for key in ["INHERITED", "OVERRIDDEN", "HIDDEN", "HIDDEN_ABOVE"] {
        alice.secret(&web, "production", key, "kvc_far").await;
    }
    let far = paths::secret(&web, "production", "INHERITED");
    alice.put(&far, &json!({ "value": "kvc_far_2" })).await.is(200);
    alice.secret(&web, "near", "OVERRIDDEN", "kvc_near").await;
    hide(&alice, &web, "near", "HIDDEN").await;
    hide(&alice, &web, "middle", "HIDDEN_ABOVE").await;
    hide(&alice, &web, "middle", "SHOWN_AGAIN").await;
    alice.secret(&web, "near", "SHOWN_AGAIN", "kvc_near").await;
    // No environment has a value for this key, so it is missing in none.
    hide(&alice, &web, "near", "WITHOUT_VALUE").await;

    let seen = compared(&alice, &web, "?environments=production,middle,near").await;

    let of = |far: Value, middle: Value, near: Value| json!({ "production": far, "middle": middle, "near": near });
    let (own, from_far) = (json!(["own", null, 1]), json!(["inherited", "production", 1]));
    let updated = json!(["inherited", "production", 2]);
    assert_eq!(states(&seen, "INHERITED"), of(json!(["own", null, 2]), updated.clone(), updated));
    assert_eq!(
        states(&seen, "OVERRIDDEN"),
        of(own.clone(), from_far.clone(), json!(["override", "production", 1]))
    );
    assert_eq!(
        states(&seen, "HIDDEN"),
        of(own.clone(), from_far, json!(["hidden", "production", 1]))
    );
    assert_eq!(
        states(&seen, "HIDDEN_ABOVE"),
        of(
            own.clone(),
            json!(["hidden", "production", 1]),
            json!(["inherited_hidden", "middle", 1])
        )
    );
    assert_eq!(states(&seen, "SHOWN_AGAIN"), of(Value::Null, json!(["hidden", null, 1]), own));
    let missing = json!({ "production": 1, "middle": 0, "near": 0 });
    assert_eq!(columns(&seen, "missing"), missing);
    let parents = columns(&seen, "inherits_from");
    let production = alice.get(&paths::environment(&web, "production")).await.json();
    assert_eq!((&parents["production"], &parents["middle"]), (&Value::Null, &production["id"]));
}

async fn equal_values_are_marked_and_no_value_is_sent(app: App) {
    let (alice, web) = chain(&app).await;
    for (environment, key, value) in [
        ("development", "KEY", "kvc_same"),
        ("staging", "KEY", "kvc_other"),
        ("production", "KEY", "kvc_same"),
        ("staging", "ELSEWHERE", "kvc_same"),
    ] {
        alice.secret(&web, environment, key, value).await;
    }
    hide(&alice, &web, "near", "KEY").await;

    let (plain, equal) =
        (alice.get(&compare(&web, "")).await, alice.get(&compare(&web, "?equal=true")).await);

    for reply in [&plain, &equal] {
        assert!(!reply.is(200).text().contains("kvc_"), "{}", reply.text());
    }
    let (plain, equal) = (plain.json(), equal.json());
    let groups = |comparison: &Value, key: &str| {
        let mut cells = cells(comparison, key);
        for (_, cell) in cells.as_object_mut().unwrap() {
            *cell = cell["group"].clone();
        }
        cells
    };
    let none = json!({
        "development": null, "staging": null, "production": null, "middle": null, "near": null,
    });
    assert_eq!(groups(&plain, "KEY"), none);
    let expected =
        json!({ "development": 1, "staging": 2, "production": 1, "middle": 1, "near": null });
    assert_eq!(groups(&equal, "KEY"), expected);
    assert_eq!(groups(&equal, "ELSEWHERE")["staging"], 1);
}

async fn only_a_comparison_of_values_is_recorded(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.secret(&web, "production", "OTHER", "kvc_other").await;
    let recorded = async || {
        let actions = app.actions(&alice.team).await;
        actions.iter().filter(|action| *action == "secrets.compared").count()
    };

    let held = alice.get(&compare(&web, "")).await.is(200).header("etag").unwrap().to_owned();
    unless(&alice, &compare(&web, ""), &held).await.is(304);
    assert_eq!(recorded().await, 0);
    let path = compare(&web, "?equal=true&environments=staging,production");
    let held = alice.get(&path).await.is(200).header("etag").unwrap().to_owned();
    unless(&alice, &path, &held).await.is(304);

    let entry = app.entry(&alice.team, "secrets.compared").await;
    assert_eq!(entry.project_name.as_deref(), Some("Web"));
    assert_eq!(entry.environment, None);
    assert_eq!(entry.metadata, r#"{"count":2,"environments":["staging","production"]}"#);
}

async fn unless(client: &Client, path: &str, held: &str) -> Reply {
    client.raw(Method::GET, path, &[("if-none-match", held)], "").await
}

async fn the_environments_of_a_comparison_can_be_chosen(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.secret(&web, "development", "OTHER", "kvc_other").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.id();

    let seen = compared(&alice, &web, &format!("?environments=production,{staging},staging")).await;

    assert_eq!(columns(&seen, "missing"), json!({ "staging": 0, "production": 1 }));
    assert_eq!(seen["environments"][0]["name"], "staging");
    assert_eq!(seen["keys"].as_array().unwrap().len(), 1);
    for empty in ["", ",", "staging,", ",staging"] {
        let path = compare(&web, &format!("?environments={empty}"));
        alice.get(&path).await.is(400).names("environments");
    }
    let unknown = alice.get(&compare(&web, "?environments=staging,Staging")).await;
    unknown.is(404).says("environment not found");
    alice.get(&compare(&web, "?equal=1")).await.is(400).names("equal");
}

async fn a_key_that_a_rotation_writes_names_the_rotation(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for environment in ["staging", "production"] {
        alice.secret(&web, environment, "KEY", "kvc_value").await;
    }
    alice.environment(&web, "preview", Some("production")).await;
    let path = compare(&web, "?environments=staging,production,preview");
    let held = alice.get(&path).await.is(200).header("etag").unwrap().to_owned();
    let mut rotation = postgresql("main-db");
    rotation["secret_mapping"] = json!({ "password": "KEY" });
    alice.delete(&paths::secret(&web, "preview", "KEY")).await.is(404);
    alice.post(&paths::rotations(&web, "preview"), &rotation).await.is(201);

    let reply = unless(&alice, &path, &held).await;

    let cells = cells(&reply.is(200).json(), "KEY");
    assert_eq!(cells["production"]["rotation"], Value::Null);
    assert_eq!(cells["preview"]["state"], "inherited");
    assert_eq!(cells["preview"]["rotation"], "main-db");
}

async fn whatever_changes_a_comparison_changes_its_tag(app: App) {
    let (alice, web) = chain(&app).await;
    let bob = app.person("bob").await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    let path = compare(&web, "");
    let mut tags = vec![bob.get(&path).await.is(200).header("etag").unwrap().to_owned()];
    let mut changed = async |what: &str| {
        let reply = unless(&bob, &path, &tags.join(", ")).await;
        let tag = reply.is(200).header("etag").unwrap().to_owned();
        assert!(!tags.contains(&tag), "{what}");
        unless(&bob, &path, &tag).await.is(304);
        tags.push(tag);
    };

    alice.secret(&web, "production", "KEY", "kvc_1").await;
    changed("a secret of the root").await;
    let key = paths::secret(&web, "production", "KEY");
    alice.put(&key, &json!({ "description": "New" })).await.is(200);
    changed("a description").await;
    alice.secret(&web, "near", "KEY", "kvc_1").await;
    changed("an override").await;
    alice.environment(&web, "other", None).await;
    changed("a new environment").await;
    alice.patch(&paths::environment(&web, "other"), &json!({ "name": "last" })).await.is(200);
    changed("a name").await;
    let parent = json!({ "inherits_from": "near" });
    alice.patch(&paths::environment(&web, "last"), &parent).await.is(200);
    changed("a parent").await;
    let of_last = paths::permission(&web, "last", &bob.id);
    alice.put(&of_last, &json!({ "role": "none" })).await.is(200);
    changed("an environment without access").await;
    let parent = json!({ "inherits_from": "production" });
    alice.patch(&paths::environment(&web, "last"), &parent).await.is(200);
    changed("the parent of an environment without access").await;
    for role in ["read", "none"] {
        let path = paths::permission(&web, "production", &bob.id);
        alice.put(&path, &json!({ "role": role })).await.is(200);
        changed(role).await;
    }
    alice.delete(&paths::environment(&web, "last")).await.is(204);
    changed("a deleted environment").await;
    assert_ne!(tags.last(), alice.get(&path).await.header("etag").map(str::to_owned).as_ref());
    let equal = bob.get(&compare(&web, "?equal=true")).await;
    assert_ne!(tags.last(), equal.header("etag").map(str::to_owned).as_ref());
}

#[tokio::test]
async fn a_comparison_is_compressed_for_clients_that_accept_it() {
    let app = App::start(Kind::Memory).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = compare(&web, "");
    let zip = async || alice.raw(Method::GET, &path, &[("accept-encoding", "gzip")], "").await;
    assert_eq!(zip().await.header("content-encoding"), None, "a short response stays as it is");
    for number in 0..20 {
        alice.secret(&web, "production", &format!("KEY_{number}"), "kvc_value").await;
    }

    let plain = alice.get(&path).await;
    let small = zip().await;

    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(small.is(200).header("content-encoding"), Some("gzip"));
    for reply in [&plain, &small] {
        assert_eq!(reply.header("vary"), Some("accept-encoding"));
    }
    assert!(small.body.starts_with(&[0x1f, 0x8b]) && small.body.len() * 2 < plain.body.len());
    // The ETag of the compressed response is weak. A client may send either ETag.
    let tag = small.header("etag").unwrap();
    assert_eq!(tag, format!("W/{}", plain.header("etag").unwrap()));
    unless(&alice, &path, tag).await.is(304);
}

on_every_store![
    a_comparison_has_a_cell_for_each_key_and_environment,
    a_cell_has_its_origin_in_the_chain,
    equal_values_are_marked_and_no_value_is_sent,
    only_a_comparison_of_values_is_recorded,
    the_environments_of_a_comparison_can_be_chosen,
    a_key_that_a_rotation_writes_names_the_rotation,
    whatever_changes_a_comparison_changes_its_tag,
];
