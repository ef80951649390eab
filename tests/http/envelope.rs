//! `SECRETS_ENVELOPE=both`: responses also have the `data` key, for clients that read it.

use secrets_http::serve::reply::Envelope;
use secrets_tests::{App, Build, Kind, on_every_store, paths};
use serde_json::{Value, json};

/// Asserts that `data` has the same content as the named field.
#[track_caller]
fn is_twice(answer: &Value, name: &str) {
    assert!(!answer[name].is_null(), "{answer}");
    assert_eq!(answer[name], answer["data"]);
}

async fn lists_and_objects_are_under_both_names(kind: Kind) {
    let app = Build::on(kind).envelope(Envelope::Both).start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let secrets = paths::secrets(&web, "production");

    let made = alice.post(&secrets, &json!({ "key": "KEY", "value": "kvc_both" })).await;
    is_twice(&made.is(201).json(), "secret");
    is_twice(&alice.get(&paths::secret(&web, "production", "KEY")).await.is(200).json(), "secret");
    is_twice(&alice.get(&secrets).await.is(200).json(), "secrets");
    is_twice(&alice.get(&format!("{secrets}/export")).await.is(200).json(), "secrets");
    is_twice(&alice.get("/api/v1/teams").await.is(200).json(), "teams");
    is_twice(&alice.get("/api/v1/projects").await.is(200).json(), "projects");
    is_twice(&alice.get(&paths::environments(&web)).await.is(200).json(), "environments");
    is_twice(&alice.get("/api/v1/tokens").await.is(200).json(), "tokens");
}

async fn a_parent_is_under_both_names(kind: Kind) {
    let app = Build::on(kind).envelope(Envelope::Both).start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    alice.environment(&web, "child", Some("production")).await;

    let child = alice.get(&paths::environment(&web, "child")).await.is(200).json();
    assert!(child["inherits_from"].is_string());
    assert_eq!(child["inherits_from"], child["inherits_from_id"]);
    let whole = alice.get(&web).await.is(200).json();
    assert_eq!(whole["environments"][3]["inherits_from_id"], child["inherits_from"]);
}

async fn an_operator_reads_what_it_always_reads(kind: Kind) {
    let app = Build::on(kind).envelope(Envelope::Both).start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "production", "KEY", "kvc_both").await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    let one = token.get(&paths::eso_secret("web", "production", "KEY")).await.is(200).json();
    let all = token.get(&paths::eso_secrets("web", "production")).await.is(200).json();

    assert_eq!(one, json!({ "value": "kvc_both" }));
    assert_eq!(all, json!({ "secrets": { "KEY": "kvc_both" } }));
}

async fn nothing_is_doubled_where_nobody_asked(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "child", Some("production")).await;

    for path in ["/api/v1/teams".to_owned(), paths::environments(&web)] {
        let answer = alice.get(&path).await.is(200).json();
        assert!(answer.get("data").is_none() && !answer.to_string().contains("_from_id"));
    }
}

on_every_store!(
    nothing_is_doubled_where_nobody_asked;
    lists_and_objects_are_under_both_names,
    a_parent_is_under_both_names,
    an_operator_reads_what_it_always_reads,
);
