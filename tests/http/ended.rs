//! Tests of credentials that are revoked while a change waits for a lock. The test holds the lock
//! in a transaction, revokes the credential in the same transaction, and commits, so that the
//! revocation always comes first.

use std::sync::Arc;

use chrono::TimeDelta;
use secrets_core::engine::{Caller, Who};
use secrets_core::model::{Error, Origin, Result, TokenId};
use secrets_core::registry;
use secrets_core::store::{NewCredential, Tx};
use secrets_tests::{App, Person, on_every_store, paths};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Running change of a secret. It waits for the lock on the environment, which the test holds with
/// the transaction `held`.
struct Waiting {
    app: App,
    person: Person,
    secret: String,
    held: Box<dyn Tx>,
    change: JoinHandle<Result<Value>>,
}

impl Waiting {
    async fn start(app: App, person: Person, caller: Caller) -> Self {
        let project = person.project("Web").await;
        person.secret(&project, "staging", "KEY", "kvc_before").await;
        let resolved = app.resolve_environment(&project, "staging").await;
        let mut held = app.store.begin().await.unwrap();
        held.lock_environment(resolved.chain[0].environment.id).await.unwrap();
        let (service, input) = (
            Arc::clone(&app.service),
            json!({
                "project": paths::last(&project), "environment": "staging", "key": "KEY",
                "value": "kvc_after",
            }),
        );
        let change =
            tokio::spawn(
                async move { registry::call(&service, &caller, "secret.update", input).await },
            );
        let secret = paths::secret(&project, "staging", "KEY");
        Self { app, person, secret, held, change }
    }

    /// Releases the lock, and returns the result of the change. Asserts that the stored value has
    /// changed if and only if the change succeeded.
    async fn release(self) -> Result<Value> {
        let Self { person, secret, held, change, .. } = self;
        held.commit().await.unwrap();
        let changed = change.await.unwrap();
        let stored = person.get(&secret).await.is(200).json()["secret"]["value"].clone();
        let expected = if changed.is_ok() { "kvc_after" } else { "kvc_before" };
        assert_eq!(stored, expected);
        changed
    }
}

/// Creates a service token with these fields, and starts a change of a secret with the token.
async fn by_token(app: App, mut body: Value) -> (Waiting, TokenId) {
    let person = app.person("alice").await;
    body["all_projects"] = json!(true);
    body["permissions"] = json!(["read", "write"]);
    let text = person.token(&body).await;
    by_text(app, person, &text).await
}

async fn by_text(app: App, person: Person, text: &str) -> (Waiting, TokenId) {
    let caller = app.service.authenticate(text, Origin::default()).await.unwrap();
    let Who::Token(token) = &caller.who else { panic!("not a service token") };
    let id = token.id;
    (Waiting::start(app, person, caller).await, id)
}

/// Rotates the token in the transaction that holds the lock. The previous token string stays valid
/// for `grace` seconds.
async fn rotate(waiting: &mut Waiting, token: TokenId, grace: i64) {
    let known = waiting.held.token(token).await.unwrap().unwrap();
    let (mut mac, now) = (known.mac, known.created_at);
    mac.0[0] ^= 1;
    let previous_until = (grace > 0).then(|| now + TimeDelta::seconds(grace));
    let (prefix, outlives_session) = ("env_new".to_owned(), false);
    let rotation = NewCredential { mac, prefix, previous_until, outlives_session, now };
    waiting.held.rotate_token(token, &rotation).await.unwrap();
}

fn is_invalid(result: &Result<Value>) -> bool {
    matches!(result, Err(Error::Unauthenticated(_)))
}

async fn a_token_that_is_rotated_meanwhile_changes_nothing(app: App) {
    let (mut waiting, token) = by_token(app, json!({})).await;

    rotate(&mut waiting, token, 0).await;

    assert!(is_invalid(&waiting.release().await));
}

async fn a_token_that_is_rotated_meanwhile_is_valid_in_its_grace_period(app: App) {
    let (mut waiting, token) = by_token(app, json!({})).await;

    rotate(&mut waiting, token, 60).await;

    waiting.release().await.unwrap();
}

async fn a_grace_period_that_ends_meanwhile_ends_the_old_text(app: App) {
    let person = app.person("alice").await;
    let body = json!({ "all_projects": true, "permissions": ["read", "write"] });
    let text = person.token(&body).await;
    let listed = person.get("/api/v1/tokens").await.is(200).json();
    let id = listed["tokens"][0]["id"].as_str().unwrap().to_owned();
    let grace = json!({ "grace_period_seconds": 60 });
    person.post(&format!("/api/v1/tokens/{id}/rotate"), &grace).await.is(200);
    let (waiting, _) = by_text(app, person, &text).await;

    waiting.app.wait(TimeDelta::seconds(61));

    assert!(is_invalid(&waiting.release().await));
}

async fn a_token_that_is_deleted_meanwhile_changes_nothing(app: App) {
    let (mut waiting, token) = by_token(app, json!({})).await;

    waiting.held.delete_token(token).await.unwrap();

    assert!(waiting.release().await.is_err());
}

async fn a_token_that_expires_meanwhile_changes_nothing(app: App) {
    let (waiting, _) = by_token(app, json!({ "expires_in_days": 1 })).await;

    waiting.app.wait(TimeDelta::days(1));

    // Does not use `release`, because the person's token of the identity provider has expired as
    // well.
    let Waiting { held, change, .. } = waiting;
    held.commit().await.unwrap();
    assert!(matches!(change.await.unwrap(), Err(Error::Expired)));
}

async fn a_session_that_is_revoked_meanwhile_changes_nothing(app: App) {
    let person = app.person("alice").await;
    let (_, granted) = super::device_login::session(&app, &person).await;
    let text = granted["access_token"].as_str().unwrap();
    let caller = app.service.authenticate(text, Origin::default()).await.unwrap();
    let (user, session) = (caller.person().unwrap().id, caller.session().unwrap());
    let mut waiting = Waiting::start(app, person, caller).await;

    waiting.held.delete_session(user, session).await.unwrap();

    assert!(is_invalid(&waiting.release().await));
}

on_every_store![
    a_token_that_is_rotated_meanwhile_changes_nothing,
    a_token_that_is_rotated_meanwhile_is_valid_in_its_grace_period,
    a_grace_period_that_ends_meanwhile_ends_the_old_text,
    a_token_that_is_deleted_meanwhile_changes_nothing,
    a_token_that_expires_meanwhile_changes_nothing,
    a_session_that_is_revoked_meanwhile_changes_nothing,
];
