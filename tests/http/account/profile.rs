//! Tests of reading and changing the profile of the caller's own account.

use chrono::TimeDelta;
use secrets_core::jwt::{DEV_AUDIENCE, DEV_ISSUER};
use secrets_core::model::{Clock as _, Role};
use secrets_tests::{App, STARTED, in_memory_and_on_postgres};
use serde_json::json;

use super::ACCOUNT;

async fn an_account_shows_the_person_and_their_teams(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&bob.team, &alice.id, Role::Admin).await;

    let account = alice.get(ACCOUNT).await.is(200).json();

    let me = alice.get("/api/v1/users/me").await.is(200).json();
    assert_eq!((&account["user"], &account["created_at"]), (&me, &json!(STARTED)));
    let mut teams = account["teams"].as_array().unwrap().clone();
    teams.sort_by_key(|team| team["name"].to_string());
    assert_eq!(
        teams,
        [
            json!({
                "id": alice.team, "name": "alice's Team", "role": "owner", "is_personal": true,
            }),
            json!({ "id": bob.team, "name": "bob's Team", "role": "admin", "is_personal": true }),
        ]
    );
}

async fn a_person_chooses_their_name(app: App) {
    let alice = app.person("alice").await;
    app.wait(TimeDelta::seconds(5));

    let account = alice.patch(ACCOUNT, &json!({ "name": " Älice " })).await.is(200).json();

    assert_eq!(account["user"]["name"], "Älice");
    assert_eq!(account["user"]["updated_at"], "2026-11-21T12:00:15Z");
    assert_eq!(alice.get(ACCOUNT).await.json(), account);
    let team = alice.get(&format!("/api/v1/teams/{}", alice.team)).await.json();
    assert_eq!(team["members"][0]["name"], "Älice");
}

async fn a_chosen_name_outlives_the_next_sign_in(app: App) {
    let mut claims = json!({ "iss": DEV_ISSUER, "aud": DEV_AUDIENCE, "sub": "1" });
    claims["exp"] = json!(app.clock.now().timestamp() + 600);
    claims["email"] = json!("alice@example.com");
    claims["name"] = json!("Alice of the Provider");
    let alice = app.bearer(&app.forged(&claims));
    let sync = "/api/v1/auth/sync";
    assert_eq!(alice.post(sync, &json!({})).await.json()["name"], "Alice of the Provider");

    alice.patch(ACCOUNT, &json!({ "name": "Al" })).await.is(200);

    assert_eq!(alice.post(sync, &json!({})).await.is(200).json()["name"], "Al");
}

async fn a_name_has_1_to_100_characters(app: App) {
    let alice = app.person("alice").await;

    for name in [json!(""), json!("   "), json!("x".repeat(101)), json!("a\nb"), json!(7)] {
        alice.patch(ACCOUNT, &json!({ "name": name })).await.is(400).names("name");
    }
    alice.patch(ACCOUNT, &json!({})).await.is(400).names("body");
    alice.patch(ACCOUNT, &json!({ "name": null })).await.is(400).names("body");
    assert_eq!(alice.get(ACCOUNT).await.json()["user"]["name"], "alice");
}

in_memory_and_on_postgres![
    an_account_shows_the_person_and_their_teams,
    a_person_chooses_their_name,
    a_chosen_name_outlives_the_next_sign_in,
    a_name_has_1_to_100_characters,
];
