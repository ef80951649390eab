//! Tests of a sign-in that runs concurrently with a change of the same user's profile: neither
//! overwrites the other. The test holds the lock of the user, so that the order of the two requests
//! is certain.

use std::sync::Arc;

use chrono::TimeDelta;
use secrets_core::jwt::{DEV_AUDIENCE, DEV_ISSUER};
use secrets_core::model::Clock as _;
use secrets_core::store::sql;
use secrets_core::testing::patient;
use secrets_tests::{App, Build, Client, Kind};
use serde_json::json;
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use super::locks::{HOLD_USER, HeldLocks, waiting};

/// Number of rounds with each order of the two requests.
const ROUNDS: usize = 25;

/// Creates an identity token of the user `alice` with this first name.
fn token(app: &App, first_name: &str) -> String {
    let now = app.clock.now();
    app.forged(&json!({
        "iss": DEV_ISSUER,
        "aud": DEV_AUDIENCE,
        "sub": "alice@example.com",
        "email": "alice@example.com",
        "email_verified": true,
        "given_name": first_name,
        "iat": now.timestamp(),
        "exp": (now + TimeDelta::hours(1)).timestamp(),
    }))
}

async fn rename(client: Client, name: String) -> u16 {
    client.patch("/api/v1/account", &json!({ "name": name })).await.status
}

async fn sync(client: Client) -> u16 {
    client.post("/api/v1/auth/sync", &json!({})).await.status
}

async fn a_sign_in_and_a_change_of_the_profile_both_survive(kind: Kind) {
    // Background workers could wait for locks too.
    let first = Build::on(kind).without_workers().start().await;
    let separator = if first.location.contains('?') { '&' } else { '?' };
    let settings = "options=-c%20lock_timeout%3D0%20-c%20statement_timeout%3D0";
    let url = format!("{}{separator}{settings}", first.location);
    let store = Arc::new(sql::postgres::open(&url, patient()).await.unwrap());
    let app = first.without_workers_over(store).await;
    let alice = app.person("alice").await;
    let mut holder = PgConnection::connect(&first.location).await.unwrap();
    let mut observer = PgConnection::connect(&first.location).await.unwrap();

    for round in 0..2 * ROUNDS {
        let (name, first_name) = (format!("Alice {round}"), format!("Claimed {round}"));
        let renaming = rename(Client::clone(&alice), name.clone());
        let signing_in = sync(app.bearer(&token(&app, &first_name)));
        let held = HeldLocks::take(&mut holder, &alice.id, &[HOLD_USER]).await;
        let (one, other) = if round % 2 == 0 {
            let one = tokio::spawn(renaming);
            waiting(&mut observer, 1).await;
            (one, tokio::spawn(signing_in))
        } else {
            let one = tokio::spawn(signing_in);
            waiting(&mut observer, 1).await;
            (one, tokio::spawn(renaming))
        };
        waiting(&mut observer, 2).await;
        held.release().await;

        assert_eq!((one.await.unwrap(), other.await.unwrap()), (200, 200));
        let mut reads = app.store.read().await.unwrap();
        let user = reads.user_by_subject(DEV_ISSUER, "alice@example.com").await.unwrap().unwrap();
        assert_eq!((user.name, user.first_name), (name, Some(first_name)), "round {round}");
    }
}

secrets_tests::on_store!(
    postgres,
    Postgres,
    [],
    [a_sign_in_and_a_change_of_the_profile_both_survive]
);
