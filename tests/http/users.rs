//! Tests of `/api/v1/auth/sync` and `/api/v1/users/me`: signing in, and reading the caller's own
//! profile.

use chrono::TimeDelta;
use hyper::Method;
use secrets_core::jwt::{DEV_AUDIENCE, DEV_ISSUER};
use secrets_core::model::{Clock as _, Origin};
use secrets_core::registry;
use secrets_tests::{App, Client, STARTED, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

use crate::device_login;

const SYNC: &str = "/api/v1/auth/sync";
const ME: &str = "/api/v1/users/me";

/// Creates a client whose identity token has this subject and the claims in `profile`.
fn client_with(app: &App, subject: &str, profile: &Value) -> Client {
    let mut claims = json!({ "iss": DEV_ISSUER, "aud": DEV_AUDIENCE, "sub": subject });
    claims["exp"] = json!(app.clock.now().timestamp() + 600);
    claims.as_object_mut().unwrap().extend(profile.as_object().unwrap().clone());
    app.bearer(&app.forged(&claims))
}

async fn sync(client: &Client) -> Value {
    client.post(SYNC, &json!({})).await.is(200).json()
}

async fn the_first_sync_creates_the_user_and_a_personal_team(app: App) {
    let alice = app.bearer(&app.jwt("alice"));

    let user = sync(&alice).await;

    let (id, team) = (&user["id"], &user["teams"][0]["team_id"]);
    assert_eq!(
        user,
        json!({
            "id": id,
            "email": "alice@example.com",
            "name": "alice",
            "external_id": "alice@example.com",
            "auth_type": "user",
            "created_at": STARTED,
            "updated_at": STARTED,
            "last_login_at": STARTED,
            "teams": [{
                "team_id": team,
                "user_id": id,
                "role": "owner",
                "created_at": STARTED,
                "team": {
                    "id": team, "name": "alice's Team", "slug": "alice-s-team",
                    "created_at": STARTED,
                },
            }],
        })
    );
    let teams = alice.get("/api/v1/teams").await.is(200).json();
    assert_eq!(
        (teams["teams"][0]["id"].clone(), teams["teams"][0]["is_personal"].clone()),
        (team.clone(), json!(true))
    );
}

async fn a_further_sync_refreshes_the_user_and_makes_no_team(app: App) {
    let first =
        sync(&client_with(&app, "1", &json!({ "email": "al@example.com", "name": "Al" }))).await;
    app.wait(TimeDelta::seconds(30));

    let now = json!({ "email": "alice@example.com", "name": "Alice Liddell" });
    let second = sync(&client_with(&app, "1", &now)).await;

    let mut expected = first.clone();
    expected["email"] = json!("alice@example.com");
    expected["name"] = json!("Alice Liddell");
    expected["updated_at"] = json!("2026-11-21T12:00:40Z");
    expected["last_login_at"] = json!("2026-11-21T12:00:40Z");
    assert_eq!(second, expected);
}

async fn a_sync_without_changes_is_recorded_as_a_sign_in(app: App) {
    let alice = app.bearer(&app.jwt("alice"));
    sync(&alice).await;
    app.wait(TimeDelta::seconds(30));

    let user = sync(&alice).await;

    assert_eq!(user["updated_at"], STARTED);
    assert_eq!(user["last_login_at"], "2026-11-21T12:00:40Z");
}

async fn a_sync_needs_no_body(app: App) {
    let alice = app.bearer(&app.jwt("alice"));
    let json = [("content-type", "application/json")];

    for body in ["", "{}", "null", "nonsense"] {
        alice.raw(Method::POST, SYNC, &json, body).await.is(200);
    }

    alice.raw(Method::POST, SYNC, &[], "").await.is(200);
}

async fn claims_of_the_provider_are_stored(app: App) {
    let profile = json!({
        "email": "Alice@Example.COM",
        "email_verified": true,
        "name": "Alice Liddell",
        "given_name": "Alice",
        "family_name": "Liddell",
        "picture": "https://example.com/alice.png",
    });

    let user = sync(&client_with(&app, "auth0|1", &profile)).await;

    assert_eq!(user["email"], "alice@example.com");
    assert_eq!(user["name"], "Alice Liddell");
    assert_eq!((&user["first_name"], &user["last_name"]), (&json!("Alice"), &json!("Liddell")));
    assert_eq!(user["avatar_url"], "https://example.com/alice.png");
    assert_eq!(user["external_id"], "auth0|1");
    assert_eq!(user["teams"][0]["team"]["name"], "Alice Liddell's Team");
    assert_eq!(user["teams"][0]["team"]["slug"], "alice-liddell-s-team");
}

async fn missing_claims_keep_their_values(app: App) {
    let profile = json!({ "email": "alice@example.com", "name": "Alice", "given_name": "Alice" });
    let first = sync(&client_with(&app, "1", &profile)).await;

    let second = sync(&client_with(&app, "1", &json!({}))).await;

    assert_eq!(second, first);
}

async fn a_first_sync_without_an_address_is_401_and_names_the_claim(app: App) {
    let reply = client_with(&app, "1", &json!({ "name": "Alice" })).post(SYNC, &json!({})).await;

    let error = "the token has no `email` claim and the identity provider returns none";
    assert_eq!(reply.is(401).json(), json!({ "error": error, "code": "unauthorized" }));
}

async fn a_claim_that_is_no_address_is_401(app: App) {
    let long = format!("{}@example.com", "x".repeat(250));
    let addresses =
        ["alice", "@example.com", "alice@", "a b@example.com", "a@b@example.com", &long];

    for address in addresses {
        let reply =
            client_with(&app, "1", &json!({ "email": address })).post(SYNC, &json!({})).await;

        let error = "the token's `email` claim is not an e-mail address";
        assert_eq!(reply.is(401).json(), json!({ "error": error, "code": "unauthorized" }));
    }
}

async fn a_person_is_their_issuers_subject_and_not_their_address(app: App) {
    let profile = json!({ "email": "alice@example.com" });
    let first = sync(&client_with(&app, "1", &profile)).await;

    let renamed = sync(&client_with(&app, "1", &json!({ "email": "liddell@example.com" }))).await;
    let namesake = sync(&client_with(&app, "2", &profile)).await;

    assert_eq!(renamed["id"], first["id"]);
    assert_ne!(namesake["id"], first["id"]);
    assert_ne!(namesake["teams"][0]["team_id"], first["teams"][0]["team_id"]);
}

async fn personal_teams_of_namesakes_differ_in_their_slugs(app: App) {
    let profile = json!({ "email": "alice@example.com" });
    sync(&client_with(&app, "1", &profile)).await;

    let namesake = sync(&client_with(&app, "2", &profile)).await;

    let slug = namesake["teams"][0]["team"]["slug"].as_str().unwrap();
    let suffix = slug.strip_prefix("alice-s-team-").unwrap();
    assert!(suffix.len() == 4 && suffix.chars().all(|c| c.is_ascii_lowercase()), "{slug}");
}

async fn a_name_is_stored_without_invisible_characters(app: App) {
    let profile = json!({ "email": "alice@example.com", "name": " Al\u{202e}ice\u{200b} " });

    let user = sync(&client_with(&app, "1", &profile)).await;

    assert_eq!(user["name"], "Alice");
}

async fn a_service_token_cannot_sync(app: App) {
    let alice = app.person("alice").await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    let reply = token.post(SYNC, &json!({})).await;

    let error = "a service token may not do this";
    assert_eq!(reply.is(403).json(), json!({ "error": error, "code": "forbidden" }));
}

async fn a_sync_with_a_session_is_not_a_sign_in(app: App) {
    let alice = app.person("alice").await;
    let (session, _) = device_login::session(&app, &alice).await;
    let before = alice.get(ME).await.is(200).json();
    app.wait(TimeDelta::minutes(30));

    let synced = sync(&session).await;

    assert_eq!(synced, before);
    assert_eq!(synced["last_login_at"], STARTED);
    assert_eq!(alice.get(ME).await.is(200).json(), before);
    let actions = app.actions(&alice.team).await;
    assert!(!actions.iter().any(|action| action == "user.synced"), "{actions:?}");
}

/// Checks that a sync with a session does not undo the change of the address by a sign-in that
/// happened after the session was authenticated.
async fn a_sync_with_a_session_writes_no_earlier_address(app: App) {
    let alice = client_with(&app, "1", &json!({ "email": "alice@example.com" }));
    sync(&alice).await;
    let (_, granted) = device_login::session(&app, &alice).await;
    let token = granted["access_token"].as_str().unwrap();
    let earlier = app.service.authenticate(token, Origin::default()).await.unwrap();
    let renamed = sync(&client_with(&app, "1", &json!({ "email": "al@example.com" }))).await;

    let synced = registry::call(&app.service, &earlier, "user.sync", json!({})).await.unwrap();

    assert_eq!(synced, renamed);
    assert_eq!(alice.get(ME).await.is(200).json()["email"], "al@example.com");
}

async fn users_me_is_the_user(app: App) {
    let alice = app.bearer(&app.jwt("alice"));
    let synced = sync(&alice).await;
    app.wait(TimeDelta::seconds(1));
    alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201);

    let me = alice.get(ME).await.is(200).json();

    assert_eq!(me["id"], synced["id"]);
    assert_eq!(me["teams"][0], synced["teams"][0]);
    assert_eq!(me["teams"][1]["team"]["name"], "Ops");
    assert_eq!(me["teams"][1]["role"], "owner");
}

async fn users_me_describes_a_service_token(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();
    let scope = json!({
        "project_ids": [paths::last(&web)],
        "environments": ["staging"],
        "permissions": ["read", "write"],
        "expires_in_days": 1,
    });
    let token = app.bearer(&alice.token(&scope).await);

    let me = token.get(ME).await.is(200).json();

    assert_eq!(
        me,
        json!({
            "id": me["id"],
            "auth_type": "service_token",
            "name": "test",
            "team_id": alice.team,
            "project_ids": [paths::last(&web)],
            "environment_ids": [staging["id"]],
            "scopes": ["read", "write"],
            "permissions": ["read", "write"],
            "expires_at": "2026-11-22T12:00:10Z",
            "created_at": STARTED,
        })
    );
}

in_memory_and_on_postgres![
    the_first_sync_creates_the_user_and_a_personal_team,
    a_further_sync_refreshes_the_user_and_makes_no_team,
    a_sync_without_changes_is_recorded_as_a_sign_in,
    a_sync_needs_no_body,
    claims_of_the_provider_are_stored,
    missing_claims_keep_their_values,
    a_first_sync_without_an_address_is_401_and_names_the_claim,
    a_claim_that_is_no_address_is_401,
    a_person_is_their_issuers_subject_and_not_their_address,
    personal_teams_of_namesakes_differ_in_their_slugs,
    a_name_is_stored_without_invisible_characters,
    a_service_token_cannot_sync,
    a_sync_with_a_session_is_not_a_sign_in,
    a_sync_with_a_session_writes_no_earlier_address,
    users_me_is_the_user,
    users_me_describes_a_service_token,
];
