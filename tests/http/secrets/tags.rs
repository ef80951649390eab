//! Tests of the headers `ETag` and `If-None-Match`, with which a client checks that a stored
//! response is still up to date.

use hyper::Method;
use secrets_core::store::Store;
use secrets_tests::{App, Client, Failing, Outage, Reply, on_every_store, on_sql_stores, paths};
use serde_json::json;
use std::sync::Arc;

/// Returns the paths of the three endpoints that read the secrets of an environment and whose
/// responses have an ETag.
fn readings(project: &str, environment: &str) -> [String; 3] {
    [
        paths::secrets(project, environment),
        paths::secret(project, environment, "export"),
        paths::secret(project, environment, "export?format=json"),
    ]
}

async fn unless(client: &Client, path: &str, held: &str) -> Reply {
    client.raw(Method::GET, path, &[("if-none-match", held)], "").await
}

fn tag(reply: &Reply) -> String {
    reply.is(200).header("etag").unwrap().to_owned()
}

async fn an_answer_that_the_client_has_is_not_sent_again(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    for path in readings(&web, "staging") {
        let held = tag(&alice.get(&path).await);
        for condition in [held.clone(), format!("W/{held}"), format!("\"x\", {held}"), "*".into()] {
            let reply = unless(&alice, &path, &condition).await;
            assert_eq!((reply.is(304).text().as_str(), reply.header("etag")), ("", Some(&*held)));
            assert_eq!(reply.header("cache-control"), Some("no-store"));
            assert!(reply.header("x-request-id").is_some());
        }
    }
}

async fn an_answer_is_304_only_on_request(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    for path in readings(&web, "staging") {
        let first = alice.get(&path).await;
        for condition in ["\"\"", "\"AAAAAAAAAAAAAAAAAAAAAA\"", "", "garbage", "W/"] {
            let reply = unless(&alice, &path, condition).await;
            assert_eq!(reply.is(200).body, first.body, "{condition}");
        }
        assert_eq!(alice.get(&path).await.is(200).body, first.body);
    }
}

async fn each_reading_has_a_tag_of_its_own(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let mut tags = Vec::new();
    for environment in ["staging", "production"] {
        for path in readings(&web, environment) {
            tags.push(tag(&alice.get(&path).await));
        }
    }
    for query in ["format=yaml", "format=k8s", "format=k8s&name=mine"] {
        let path = paths::secret(&web, "staging", &format!("export?{query}"));
        tags.push(tag(&alice.get(&path).await));
    }

    let mut distinct = tags.clone();
    distinct.sort();
    distinct.dedup();

    assert_eq!(distinct.len(), tags.len());
    let opaque = |tag: &String| tag.len() == 24 && !tag.contains("KEY");
    assert!(tags.iter().all(opaque), "{tags:?}");
}

async fn whatever_changes_an_answer_changes_its_tag(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "root", None).await;
    alice.environment(&web, "grandparent", Some("root")).await;
    alice.environment(&web, "parent", Some("grandparent")).await;
    alice.environment(&web, "preview", Some("parent")).await;
    let path = paths::secret(&web, "preview", "export");
    let own = paths::secret(&web, "preview", "KEY");
    let body = json!({ "key": "KEY", "value": "kvc_1" });
    let mut tags = vec![tag(&alice.get(&path).await)];
    let mut changed = async |what: &str| {
        let reply = unless(&alice, &path, &tags.join(", ")).await;
        assert!(!tags.contains(&tag(&reply)), "{what}");
        tags.push(tag(&reply));
    };

    alice.post(&paths::secrets(&web, "root"), &body).await.is(201);
    changed("a secret of the root").await;
    alice.post(&paths::secrets(&web, "grandparent"), &body).await.is(201);
    changed("a secret of the grandparent").await;
    alice.post(&paths::secrets(&web, "parent"), &body).await.is(201);
    changed("a secret of the parent").await;
    alice.post(&paths::secrets(&web, "preview"), &body).await.is(201);
    changed("an override").await;
    alice.put(&own, &json!({ "value": "kvc_2" })).await.is(200);
    changed("a value").await;
    alice.put(&own, &json!({ "description": "Two" })).await.is(200);
    changed("a description").await;
    alice.put(&own, &json!({ "hidden": true })).await.is(200);
    changed("hiding").await;
    alice.post(&format!("{own}/rollback"), &json!({ "version": 1 })).await.is(200);
    changed("a rollback").await;
    let import = json!({ "secrets": [{ "key": "B", "value": "kvc_b" }] });
    alice.post(&paths::secret(&web, "preview", "bulk"), &import).await.is(200);
    changed("an import").await;
    alice.delete(&own).await.is(204);
    changed("a deletion").await;
    let of_parent = paths::secret(&web, "parent", "KEY");
    alice.put(&of_parent, &json!({ "value": "kvc_3" })).await.is(200);
    changed("a value of the parent").await;
    let parent = paths::environment(&web, "parent");
    alice.patch(&parent, &json!({ "name": "base" })).await.is(200);
    changed("the parent's name").await;
    let other = json!({ "inherits_from": "staging" });
    alice.patch(&paths::environment(&web, "preview"), &other).await.is(200);
    changed("another parent").await;
}

async fn changes_of_other_environments_change_no_tag(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "child", Some("staging")).await;
    let path = paths::secret(&web, "staging", "export");
    let before = tag(&alice.get(&path).await);

    alice.secret(&web, "child", "KEY", "kvc_child").await;
    alice.secret(&web, "production", "KEY", "kvc_other").await;

    unless(&alice, &path, &before).await.is(304);
}

async fn a_recreated_environment_has_another_tag(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;
    let path = paths::secrets(&web, "preview");
    let before = tag(&alice.get(&path).await);
    alice.delete(&paths::environment(&web, "preview")).await.is(204);
    alice.environment(&web, "preview", None).await;

    assert_ne!(tag(&unless(&alice, &path, &before).await), before);
}

async fn a_tag_is_the_same_on_every_node(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secrets(&web, "staging");
    let held = tag(&alice.get(&path).await);
    let other = app.restarted().await;

    unless(&other.bearer(&other.jwt("alice")), &path, &held).await.is(304);
}

async fn a_caller_without_access_is_refused_before_any_tag(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let writer = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&writer).await);

    for path in readings(&web, "staging") {
        unless(&bob, &path, "*").await.is(403);
        unless(&writer, &path, "*").await.is(403);
        unless(&app.anonymous(), &path, "*").await.is(401);
    }
    unless(&alice, &paths::secrets(&web, "nowhere"), "*").await.is(404);
}

async fn a_304_is_not_recorded_as_a_read(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let exports = async || {
        let actions = app.actions(&alice.team).await;
        actions.iter().filter(|action| *action == "secrets.exported").count()
    };
    let path = paths::secret(&web, "staging", "export");
    let held = tag(&alice.get(&path).await);

    unless(&alice, &path, &held).await.is(304);
    let after_304 = exports().await;
    unless(&alice, &path, "\"x\"").await.is(200);

    assert_eq!((after_304, exports().await), (1, 2));
}

async fn a_304_needs_no_audit_log(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "export");
    let held = tag(&alice.get(&path).await);
    let outage = Outage::of(&app.store);
    let store: Arc<dyn Store> = outage.clone();
    let second = app.over(store).await;
    let alice = second.bearer(&second.jwt("alice"));
    outage.begin(Failing::Writes);

    unless(&alice, &path, &held).await.is(304);
    unless(&alice, &path, "\"x\"").await.is(503);
}

async fn an_operator_reads_all_secrets_with_a_tag(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_1").await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let path = paths::eso_secrets(&web, "staging");
    let held = tag(&token.get(&path).await);

    unless(&token, &path, &held).await.is(304);
    let key = paths::secret(&web, "staging", "KEY");
    alice.put(&key, &json!({ "value": "kvc_2" })).await.is(200);

    let reply = unless(&token, &path, &held).await;
    assert_eq!(reply.is(200).json(), json!({ "secrets": { "KEY": "kvc_2" } }));
    assert_eq!(
        app.actions(&alice.team).await.iter().filter(|a| *a == "eso.secrets_read").count(),
        2
    );
}

/// Checks that restoring a backup does not repeat ETags: a write after it gets a different ETag
/// from that of the write that was lost.
async fn a_write_that_is_made_again_has_another_tag(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_first").await;
    let back = "UPDATE environments SET revision = 7";
    let write = async |value: &str| {
        app.sql(back).await;
        let key = paths::secret(&web, "staging", "KEY");
        alice.put(&key, &json!({ "value": value })).await.is(200);
    };

    write("kvc_lost").await;
    let mut held = Vec::new();
    for path in readings(&web, "staging") {
        held.push((tag(&alice.get(&path).await), path));
    }
    write("kvc_again").await;

    for (lost, path) in held {
        unless(&alice, &path, &lost).await.is(200);
    }
}

on_every_store![
    an_answer_that_the_client_has_is_not_sent_again,
    an_answer_is_304_only_on_request,
    each_reading_has_a_tag_of_its_own,
    whatever_changes_an_answer_changes_its_tag,
    changes_of_other_environments_change_no_tag,
    a_recreated_environment_has_another_tag,
    a_tag_is_the_same_on_every_node,
    a_caller_without_access_is_refused_before_any_tag,
    a_304_is_not_recorded_as_a_read,
    a_304_needs_no_audit_log,
    an_operator_reads_all_secrets_with_a_tag,
];

mod restored {
    use super::*;

    on_sql_stores!(a_write_that_is_made_again_has_another_tag);
}
