//! Tests of the endpoint `POST /api/v1/tokens/{id}/rotate`.

use chrono::TimeDelta;
use secrets_tests::{App, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

use super::{Owned, TOKENS};

async fn a_rotated_token_keeps_all_but_its_text(app: App) {
    let owned = Owned::of(&app, &json!({ "permissions": ["read", "write"] })).await;
    let mut before = owned.listed().await;
    app.wait(TimeDelta::hours(1));

    let mut rotated = owned.rotate(&json!({})).await;

    let text = rotated["token"].as_str().unwrap().to_owned();
    assert!(text.starts_with(rotated["token_prefix"].as_str().unwrap()));
    assert_ne!(text, owned.text);
    assert_eq!(rotated["rotated_at"], "2026-11-21T13:00:10Z");
    for changed in ["token", "token_prefix", "rotated_at", "updated_at"] {
        rotated.as_object_mut().unwrap().remove(changed);
        before.as_object_mut().unwrap().remove(changed);
    }
    assert_eq!(rotated, before);
    app.bearer(&text).get(&owned.key).await.is(200);
}

async fn without_grace_the_old_text_is_invalid_at_once(app: App) {
    for body in
        [json!({}), json!({ "grace_period_seconds": 0 }), json!({ "grace_period_seconds": null })]
    {
        let owned = Owned::of(&app, &json!({})).await;
        owned.read_with(&app, &owned.text).await.is(200);

        let new = owned.rotated(&body).await;

        owned.read_with(&app, &owned.text).await.is(401).says("invalid credential");
        owned.read_with(&app, &new).await.is(200);
    }
}

async fn a_body_is_not_needed(app: App) {
    let owned = Owned::of(&app, &json!({})).await;

    let path = format!("{TOKENS}/{}/rotate", owned.id);
    let reply = owned.person.raw(http::Method::POST, &path, &[], "").await;

    let new = reply.is(200).json()["token"].as_str().unwrap().to_owned();
    owned.read_with(&app, &owned.text).await.is(401);
    owned.read_with(&app, &new).await.is(200);
}

async fn within_its_grace_the_old_text_is_accepted_too(app: App) {
    let owned = Owned::of(&app, &json!({})).await;

    let new = owned.rotated(&json!({ "grace_period_seconds": 600 })).await;

    for text in [&owned.text, &new] {
        owned.read_with(&app, text).await.is(200);
        let restarted = app.restarted().await;
        restarted.bearer(text).get(&owned.key).await.is(200);
    }
    app.wait(TimeDelta::seconds(599));
    owned.read_with(&app, &owned.text).await.is(200);
    app.wait(TimeDelta::seconds(1));
    owned.read_with(&app, &owned.text).await.is(401);
    owned.read_with(&app, &new).await.is(200);
    let restarted = app.restarted().await;
    restarted.bearer(&owned.text).get(&owned.key).await.is(401);
}

async fn a_second_rotation_ends_the_oldest_text(app: App) {
    let owned = Owned::of(&app, &json!({})).await;
    let grace = json!({ "grace_period_seconds": 604_800 });

    let second = owned.rotated(&grace).await;
    let third = owned.rotated(&grace).await;

    owned.read_with(&app, &owned.text).await.is(401);
    owned.read_with(&app, &second).await.is(200);
    owned.read_with(&app, &third).await.is(200);
    let fourth = owned.rotated(&json!({})).await;
    for ended in [&second, &third] {
        owned.read_with(&app, ended).await.is(401);
    }
    owned.read_with(&app, &fourth).await.is(200);
}

async fn a_deleted_token_has_no_grace(app: App) {
    let owned = Owned::of(&app, &json!({})).await;
    let new = owned.rotated(&json!({ "grace_period_seconds": 600 })).await;

    owned.person.delete(&format!("{TOKENS}/{}", owned.id)).await.is(204);

    for text in [&owned.text, &new] {
        owned.read_with(&app, text).await.is(401);
    }
    owned.person.post(&format!("{TOKENS}/{}/rotate", owned.id), &json!({})).await.is(404);
}

async fn a_grace_is_at_most_a_week(app: App) {
    let owned = Owned::of(&app, &json!({})).await;
    let path = format!("{TOKENS}/{}/rotate", owned.id);

    for grace in [json!(-1), json!(604_801), json!("600"), json!(1.5), json!(i64::MAX)] {
        let body = json!({ "grace_period_seconds": grace });
        owned.person.post(&path, &body).await.is(400).names("grace_period_seconds");
    }
    owned.person.post(&path, &json!({ "grace": 1 })).await.is(400);
    owned.read_with(&app, &owned.text).await.is(200);
}

async fn an_expired_token_is_not_rotated(app: App) {
    let owned = Owned::of(&app, &json!({ "expires_in_days": 1 })).await;
    app.wait(TimeDelta::days(1));
    assert_eq!(owned.listed().await["status"], "expired");

    let path = format!("{TOKENS}/{}/rotate", owned.id);
    let alice = app.person("alice").await;
    alice.post(&path, &json!({})).await.is(400).says("this token has expired: create another");
}

async fn a_rotation_is_in_the_log_without_the_text(app: App) {
    let owned = Owned::of(&app, &json!({})).await;

    let new = owned.rotated(&json!({ "grace_period_seconds": 60 })).await;

    let entry = app.entry(&owned.person.team, "token.rotated").await;
    assert_eq!(entry.resource_id.map(|id| id.to_string()).as_ref(), Some(&owned.id));
    let metadata: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(metadata, json!({ "grace_period_seconds": 60 }));
    assert!(!format!("{entry:?}").contains(&new));
}

async fn a_write_only_token_stays_one(app: App) {
    let owned = Owned::of(&app, &json!({ "permissions": ["write"] })).await;

    let new = app.bearer(&owned.rotated(&json!({})).await);

    new.get(&owned.key).await.is(403);
    new.put(&paths::secret(&owned.project, "staging", "KEY"), &json!({ "value": "kvc_two" }))
        .await
        .is(200);
}

in_memory_and_on_postgres![
    a_rotated_token_keeps_all_but_its_text,
    without_grace_the_old_text_is_invalid_at_once,
    a_body_is_not_needed,
    within_its_grace_the_old_text_is_accepted_too,
    a_second_rotation_ends_the_oldest_text,
    a_deleted_token_has_no_grace,
    a_grace_is_at_most_a_week,
    an_expired_token_is_not_rotated,
    a_rotation_is_in_the_log_without_the_text,
    a_write_only_token_stays_one,
];
