//! Tests of the last-used time that the service stores for a service token.

use chrono::TimeDelta;
use secrets_core::model::ids;
use secrets_core::tokens;
use secrets_tests::{App, Build, Kind, on_every_store};
use serde_json::{Value, json};

use super::Owned;

/// Starts a server without background workers: it stores the last-used times of tokens only when
/// the test calls `tokens::write_uses`.
async fn quiet(kind: Kind) -> App {
    Build::on(kind).without_workers().start().await
}

async fn a_use_is_shown_once_it_is_written(kind: Kind) {
    let app = quiet(kind).await;
    let owned = Owned::of(&app, &json!({})).await;
    assert_eq!(owned.listed().await["last_used_at"], Value::Null);
    owned.read_with(&app, &owned.text).await.is(200);

    tokens::write_uses(app.service.engine()).await.unwrap();

    let listed = owned.listed().await;
    assert_eq!(listed["last_used_at"], secrets_tests::STARTED);
    assert_eq!(listed["last_used_ip"], "127.0.0.1");
    let restarted = app.restarted().await;
    let alice = restarted.person("alice").await;
    let listed = alice.get(super::TOKENS).await.is(200).json();
    assert_eq!(listed["tokens"][0]["last_used_at"], secrets_tests::STARTED);
}

async fn a_use_is_written_once_a_minute(kind: Kind) {
    let app = quiet(kind).await;
    let owned = Owned::of(&app, &json!({})).await;
    let mut written = Vec::new();

    for _ in 0..4 {
        owned.read_with(&app, &owned.text).await.is(200);
        tokens::write_uses(app.service.engine()).await.unwrap();
        written.push(owned.listed().await["last_used_at"].as_str().unwrap().to_owned());
        app.wait(TimeDelta::seconds(20));
    }

    let expected = [secrets_tests::STARTED; 3].into_iter().chain(["2026-11-21T12:01:10Z"]);
    assert_eq!(written, expected.collect::<Vec<_>>());
}

async fn of_many_uses_the_last_is_written(kind: Kind) {
    let app = quiet(kind).await;
    let owned = Owned::of(&app, &json!({})).await;
    for _ in 0..10 {
        owned.read_with(&app, &owned.text).await.is(200);
        app.wait(TimeDelta::seconds(1));
    }

    tokens::write_uses(app.service.engine()).await.unwrap();

    assert_eq!(owned.listed().await["last_used_at"], "2026-11-21T12:00:19Z");
}

async fn a_use_of_a_token_that_is_gone_is_dropped(kind: Kind) {
    let app = quiet(kind).await;
    let owned = Owned::of(&app, &json!({})).await;
    owned.read_with(&app, &owned.text).await.is(200);
    owned.person.delete(&format!("{}/{}", super::TOKENS, owned.id)).await.is(204);

    tokens::write_uses(app.service.engine()).await.unwrap();
}

async fn a_stopping_server_writes_uses_first(mut app: App) {
    let owned = Owned::of(&app, &json!({})).await;
    owned.read_with(&app, &owned.text).await.is(200);
    let id = ids::parse(&owned.id).unwrap().into();
    drop(owned);

    app.stop().await;

    let token = app.store.read().await.unwrap().token(id).await.unwrap().unwrap();
    assert!(token.last_use.is_some());
}

on_every_store![
    a_stopping_server_writes_uses_first;
    a_use_is_shown_once_it_is_written,
    a_use_is_written_once_a_minute,
    of_many_uses_the_last_is_written,
    a_use_of_a_token_that_is_gone_is_dropped,
];
