//! Tests of the version history of a secret.

use hyper::Method;
use secrets_core::engine::Options;
use secrets_core::model::{MemberAccess, Role};
use secrets_tests::{App, Build, Kind, Person, on_every_store, paths};
use serde_json::{Value, json};

async fn of_one(person: &Person, project: &str, values: &[&str]) -> String {
    let path = paths::secret(project, "staging", "KEY");
    person.secret(project, "staging", "KEY", values[0]).await;
    for value in &values[1..] {
        person.put(&path, &json!({ "value": value })).await.is(200);
    }
    path
}

fn history_of(path: &str) -> String {
    format!("{path}/history")
}

async fn numbers(person: &Person, path: &str) -> Vec<u64> {
    let history = person.get(path).await.is(200).json();
    let entries = history["history"].as_array().unwrap().clone();
    entries.iter().map(|entry| entry["version"].as_u64().unwrap()).collect()
}

async fn a_history_lists_previous_versions_newest_first(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one"]).await;
    app.wait(chrono::TimeDelta::seconds(5));
    alice.put(&path, &json!({ "hidden": true })).await.is(200);
    app.wait(chrono::TimeDelta::seconds(5));
    let secret = alice.put(&path, &json!({ "value": "kvc_three" })).await.is(200).json();

    let mut reply = alice.get(&history_of(&path)).await.is(200).json();

    let mut ids: Vec<Value> = Vec::new();
    for entry in reply["history"].as_array_mut().unwrap() {
        ids.push(entry.as_object_mut().unwrap().remove("id").unwrap());
    }
    let id = &secret["secret"]["id"];
    let entry = |version: u32, change: &str, changed: &str| {
        json!({
            "secret_id": id, "key": "KEY", "version": version, "change_type": change,
            "changed_by": alice.id, "changed_at": changed,
        })
    };
    let (first, second) = ("2026-11-21T12:00:10Z", "2026-11-21T12:00:15Z");
    let mut oldest = entry(1, "created", first);
    oldest["value"] = json!("kvc_one");
    assert_eq!(reply, json!({ "history": [entry(2, "hidden", second), oldest] }));
    assert_ne!(ids[0], ids[1]);
    let again = alice.get(&history_of(&path)).await.json();
    assert_eq!([&again["history"][0]["id"], &again["history"][1]["id"]], [&ids[0], &ids[1]]);
}

async fn a_secret_that_never_changed_has_an_empty_history(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one"]).await;

    let reply = alice.get(&history_of(&path)).await;

    assert_eq!(reply.is(200).json(), json!({ "history": [] }));
}

async fn a_key_that_is_only_inherited_or_not_there_has_no_history(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    of_one(&alice, &web, &["kvc_one", "kvc_two"]).await;
    alice.environment(&web, "preview", Some("staging")).await;

    for key in ["KEY", "NONE", "1", "%2541"] {
        let path = history_of(&paths::secret(&web, "preview", key));
        alice.get(&path).await.is(404).says("secret not found");
    }
}

async fn a_history_comes_in_pages(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_1", "kvc_2", "kvc_3", "kvc_4", "kvc_5"]).await;
    let history = history_of(&path);

    assert_eq!(numbers(&alice, &history).await, [4, 3, 2, 1]);
    assert_eq!(numbers(&alice, &format!("{history}?limit=2")).await, [4, 3]);
    assert_eq!(numbers(&alice, &format!("{history}?limit=2&before=3")).await, [2, 1]);
    assert_eq!(numbers(&alice, &format!("{history}?before=1")).await, Vec::<u64>::new());
    for query in ["limit=0", "limit=101", "limit=x", "limit=-1", "before=x", "values=yes"] {
        let field = query.split('=').next().unwrap();
        alice.get(&format!("{history}?{query}")).await.is(400).names(field);
    }
}

async fn a_history_has_values_for_writers_or_on_request(kind: Kind) {
    let options = Options { member_access: MemberAccess::Read, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    let history = history_of(&of_one(&alice, &web, &["kvc_one", "kvc_two"]).await);
    let value = async |person: &Person, query: &str| {
        let reply = person.get(&format!("{history}{query}")).await.is(200).json();
        reply["history"][0].get("value").cloned()
    };

    assert_eq!(value(&alice, "").await, Some(json!("kvc_one")));
    assert_eq!(value(&alice, "?values=false").await, None);
    assert_eq!(value(&bob, "").await, None);
    assert_eq!(value(&bob, "?values=true").await, Some(json!("kvc_one")));
    let role = paths::permission(&web, "staging", &bob.id);
    alice.put(&role, &json!({ "role": "write" })).await.is(200);
    assert_eq!(value(&bob, "").await, Some(json!("kvc_one")));
}

async fn a_history_with_values_is_recorded_as_a_read_and_one_without_is_not(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let history = history_of(&of_one(&alice, &web, &["kvc_1", "kvc_2", "kvc_3"]).await);
    let reads = async || {
        let actions = app.actions(&alice.team).await;
        actions.iter().filter(|action| *action == "secret.read").count()
    };

    alice.get(&format!("{history}?values=false")).await.is(200);
    let without = reads().await;
    alice.get(&history).await.is(200);

    assert_eq!((without, reads().await), (0, 1));
    let entry = app.entry(&alice.team, "secret.read").await;
    assert_eq!(entry.resource_name.as_deref(), Some("KEY"));
    assert_eq!(entry.metadata, r#"{"versions":[2,1]}"#);
}

async fn a_rollback_is_a_new_version_of_an_old_content(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one", "kvc_two"]).await;
    alice.put(&path, &json!({ "description": "Kept" })).await.is(200);

    let rolled = alice.post(&format!("{path}/rollback"), &json!({ "version": 1 })).await;

    let rolled = rolled.is(200).json();
    assert_eq!(rolled["secret"]["version"], 3);
    assert_eq!(rolled["secret"].get("value"), None);
    let now = alice.get(&path).await.is(200).json();
    assert_eq!(now["secret"]["value"], "kvc_one");
    assert_eq!(now["secret"]["description"], "Kept");
    assert_eq!(numbers(&alice, &history_of(&path)).await, [2, 1]);
    let entry = app.entry(&alice.team, "secret.rolled_back").await;
    assert_eq!(entry.metadata, r#"{"from_version":1,"version":3}"#);
    alice.put(&path, &json!({ "value": "kvc_four" })).await.is(200);
    let history = alice.get(&history_of(&path)).await.json();
    assert_eq!(history["history"][0]["change_type"], "rolled_back");
}

async fn a_hidden_version_rolls_back_to_hidden(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one"]).await;
    alice.put(&path, &json!({ "hidden": true })).await.is(200);
    alice.put(&path, &json!({ "value": "kvc_three" })).await.is(200);

    let rolled = alice.post(&format!("{path}/rollback"), &json!({ "version": 2 })).await;

    assert_eq!(rolled.is(200).json()["secret"]["hidden"], true);
    alice.get(&path).await.is(404);
    app.entry(&alice.team, "secret.rolled_back").await;
    let back = alice.post(&format!("{path}/rollback"), &json!({ "version": 1 })).await;
    assert_eq!(back.is(200).json()["secret"].get("hidden"), None);
    assert_eq!(alice.get(&path).await.is(200).json()["secret"]["value"], "kvc_one");
}

async fn a_version_that_was_never_replaced_is_404(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one", "kvc_two"]).await;

    for version in [0_u32, 2, 3, u32::MAX] {
        let body = json!({ "version": version });
        let reply = alice.post(&format!("{path}/rollback"), &body).await;
        reply.is(404).says("version not found");
    }

    assert_eq!(alice.get(&path).await.json()["secret"]["version"], 2);
    alice.environment(&web, "preview", Some("staging")).await;
    let inherited = format!("{}/rollback", paths::secret(&web, "preview", "KEY"));
    alice.post(&inherited, &json!({ "version": 1 })).await.is(404).says("secret not found");
}

async fn a_rollback_requires_a_version(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = format!("{}/rollback", of_one(&alice, &web, &["kvc_one", "kvc_two"]).await);

    for body in [json!({}), json!({ "version": null }), json!({ "version": "1" })] {
        alice.post(&path, &body).await.is(400).names("version");
    }
}

async fn the_history_of_a_deleted_key_does_not_come_back(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one", "kvc_two"]).await;
    alice.delete(&path).await.is(204);

    alice.get(&history_of(&path)).await.is(404);

    alice.secret(&web, "staging", "KEY", "kvc_new").await;
    assert_eq!(alice.get(&history_of(&path)).await.json(), json!({ "history": [] }));
    alice.post(&format!("{path}/rollback"), &json!({ "version": 1 })).await.is(404);
}

async fn another_teams_history_is_not_shown_and_not_rolled_back(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (web, shop) = (alice.project("Web").await, bob.project("Shop").await);
    let path = of_one(&alice, &web, &["kvc_one", "kvc_two"]).await;
    of_one(&bob, &shop, &["kvc_bob", "kvc_bob_two"]).await;

    for query in ["", "?values=true", "?values=false"] {
        bob.get(&format!("{}{query}", history_of(&path))).await.is(403);
    }
    bob.post(&format!("{path}/rollback"), &json!({ "version": 1 })).await.is(403);

    assert_eq!(alice.get(&path).await.json()["secret"]["value"], "kvc_two");
    let own = bob.get(&history_of(&paths::secret(&shop, "staging", "KEY"))).await;
    assert_eq!(own.json()["history"][0]["value"], "kvc_bob");
}

async fn a_token_that_may_only_write_rolls_back_and_reads_no_history(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one", "kvc_two"]).await;
    let scope = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&scope).await);

    writer.get(&history_of(&path)).await.is(403);
    let rolled = writer.post(&format!("{path}/rollback"), &json!({ "version": 1 })).await;

    assert!(!rolled.is(200).text().contains("kvc_"));
}

async fn a_rollback_and_a_deletion_may_expect_a_version(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one", "kvc_two"]).await;
    let rollback = format!("{path}/rollback");
    let stale = [("if-match", "\"1\""), ("content-type", "application/json")];
    let fresh = [("if-match", "\"2\""), ("content-type", "application/json")];

    let body = json!({ "version": 1, "expected_version": 1 });
    alice.post(&rollback, &body).await.is(409).code("version_conflict");
    let body = r#"{"version":1}"#;
    alice.raw(Method::POST, &rollback, &stale, body).await.is(409).code("version_conflict");
    let both = r#"{"version":1,"expected_version":1}"#;
    alice.raw(Method::POST, &rollback, &fresh, both).await.is(400).names("expected_version");
    alice.delete(&format!("{path}?expected_version=1")).await.is(409).code("version_conflict");
    alice.raw(Method::DELETE, &path, &stale[..1], "").await.is(409).code("version_conflict");
    alice.delete(&format!("{path}?expected_version=x")).await.is(400).names("expected_version");

    assert_eq!(alice.get(&path).await.json()["secret"]["version"], 2);
    alice.raw(Method::POST, &rollback, &fresh, body).await.is(200);
    alice.raw(Method::DELETE, &path, &[("if-match", "\"3\"")], "").await.is(204);
}

async fn an_update_may_expect_a_version_by_header(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = of_one(&alice, &web, &["kvc_one"]).await;
    let put = async |tag: &str, body: Value| {
        let headers = [("if-match", tag), ("content-type", "application/json")];
        alice.raw(Method::PUT, &path, &headers, body.to_string()).await
    };
    let change = json!({ "value": "kvc_two" });

    put("\"2\"", change.clone()).await.is(409).code("version_conflict");
    for malformed in ["1", "W/\"1\"", "\"one\"", "\"1\", \"2\"", "\"\""] {
        put(malformed, change.clone()).await.is(400).names("If-Match");
    }
    let both = json!({ "value": "kvc_two", "expected_version": 2 });
    put("\"1\"", both).await.is(400).names("expected_version");
    assert_eq!(alice.get(&path).await.json()["secret"]["version"], 1);
    put("\"1\"", json!({ "value": "kvc_two", "expected_version": 1 })).await.is(200);
    put("*", change.clone()).await.is(200);
    assert_eq!(alice.get(&path).await.json()["secret"]["version"], 3);
}

on_every_store![
    a_history_lists_previous_versions_newest_first,
    a_secret_that_never_changed_has_an_empty_history,
    a_key_that_is_only_inherited_or_not_there_has_no_history,
    a_history_comes_in_pages,
    a_history_with_values_is_recorded_as_a_read_and_one_without_is_not,
    a_rollback_is_a_new_version_of_an_old_content,
    a_hidden_version_rolls_back_to_hidden,
    a_version_that_was_never_replaced_is_404,
    a_rollback_requires_a_version,
    the_history_of_a_deleted_key_does_not_come_back,
    another_teams_history_is_not_shown_and_not_rolled_back,
    a_token_that_may_only_write_rolls_back_and_reads_no_history,
    a_rollback_and_a_deletion_may_expect_a_version,
    an_update_may_expect_a_version_by_header;
    a_history_has_values_for_writers_or_on_request,
];
