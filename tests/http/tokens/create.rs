//! Tests of creating service tokens.

use secrets_core::model::Role;
use secrets_tests::{App, STARTED, in_memory_and_on_postgres, paths};
use serde_json::json;

use super::TOKENS;

async fn a_created_token_is_answered_with_its_text(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();

    let body = json!({
        "name": "deploy",
        "team_id": alice.team,
        "project_ids": ["web"],
        "environments": ["staging"],
        "permissions": ["read", "write"],
        "expires_in_days": 30,
    });
    let token = alice.post(TOKENS, &body).await.is(201).json();

    assert_eq!(
        token,
        json!({
            "id": token["id"],
            "name": "deploy",
            "team_id": alice.team,
            "all_projects": false,
            "project_ids": [paths::last(&web)],
            "all_environments": false,
            "environment_ids": [staging["id"]],
            "permissions": ["read", "write"],
            "scopes": ["read", "write"],
            "token_prefix": token["token"].as_str().unwrap()[..12],
            "ip_allowlist": [],
            "created_by": alice.id,
            "created_at": STARTED,
            "updated_at": STARTED,
            "expires_at": "2026-12-21T12:00:10Z",
            "outlives_session": false,
            "status": "active",
            "token": token["token"],
        })
    );
}

async fn a_token_is_env_and_49_letters_and_digits(app: App) {
    let alice = app.person("alice").await;

    let first = alice.token(&json!({ "all_projects": true })).await;
    let second = alice.token(&json!({ "all_projects": true })).await;

    let digits = first.strip_prefix("env_").unwrap();
    assert!(digits.len() == 49 && digits.chars().all(|c| c.is_ascii_alphanumeric()), "{first}");
    assert_ne!(first, second);
}

async fn a_token_can_read_by_default(app: App) {
    let alice = app.person("alice").await;
    let cases = [
        (json!({}), json!(["read"])),
        (json!({ "permissions": null }), json!(["read"])),
        (json!({ "permissions": ["write"] }), json!(["write"])),
        (json!({ "permissions": ["write", "read", "read"] }), json!(["read", "write"])),
        (json!({ "permissions": ["secrets:read", "secrets:write"] }), json!(["read", "write"])),
        (json!({ "scopes": ["write"] }), json!(["write"])),
    ];

    for (said, may) in cases {
        let mut body = json!({ "name": "test", "all_projects": true });
        body.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        let token = alice.post(TOKENS, &body).await.is(201).json();

        assert_eq!((&token["permissions"], &token["scopes"]), (&may, &may));
    }
}

async fn permissions_are_read_and_write(app: App) {
    let alice = app.person("alice").await;
    let cases = [
        (json!(["read", "admin"]), "permissions[1] must be read or write"),
        (json!(["READ"]), "permissions[0] must be read or write"),
        (json!([""]), "permissions[0] must be read or write"),
        (json!([7]), "permissions[0] must be a string"),
        (json!("read"), "permissions must be a list"),
    ];

    for (permissions, error) in cases {
        let body = json!({ "name": "test", "all_projects": true, "permissions": permissions });
        alice.post(TOKENS, &body).await.is(400).code("invalid_request").says(error);
    }
    let none = json!({ "name": "test", "all_projects": true, "permissions": [] });
    alice.post(TOKENS, &none).await.is(400).says("permissions must hold read, write or both");
    let twice = json!({ "name": "test", "all_projects": true, "permissions": ["read"], "scopes": ["write"] });
    alice.post(TOKENS, &twice).await.is(400).names("scopes");
}

async fn a_token_has_a_name_of_1_to_100_characters(app: App) {
    let alice = app.person("alice").await;
    let longer = "n".repeat(101);

    for name in [json!(null), json!(""), json!("a\nb"), json!(longer), json!(7)] {
        let body = json!({ "name": name, "all_projects": true });
        alice.post(TOKENS, &body).await.is(400).names("name");
    }
    alice.post(TOKENS, &json!({ "all_projects": true })).await.is(400).says("name is required");
}

async fn an_expiry_is_1_to_3650_days_from_now(app: App) {
    let alice = app.person("alice").await;
    let expiring = |days| json!({ "name": "test", "all_projects": true, "expires_in_days": days });

    let day = alice.post(TOKENS, &expiring(json!(1))).await.is(201).json();
    let years = alice.post(TOKENS, &expiring(json!(3650))).await.is(201).json();

    assert_eq!(day["expires_at"], "2026-11-22T12:00:10Z");
    assert_eq!(years["expires_at"], "2036-11-18T12:00:10Z");
    for days in [
        json!(0),
        json!(-1),
        json!(3651),
        json!(1.5),
        json!("30"),
        json!(9_223_372_036_854_775_807_i64),
    ] {
        alice.post(TOKENS, &expiring(days)).await.is(400).names("expires_in_days");
    }
}

async fn an_expiry_may_be_a_future_time(app: App) {
    let alice = app.person("alice").await;
    let expiring = |at| json!({ "name": "test", "all_projects": true, "expires_at": at });

    let token = alice.post(TOKENS, &expiring("2026-12-24T19:00:00+01:00")).await.is(201).json();

    assert_eq!(token["expires_at"], "2026-12-24T18:00:00Z");
    for at in
        [STARTED, "2026-11-21T12:00:09Z", "2037-01-01T00:00:00Z", "2026-12-24", "tomorrow", ""]
    {
        alice.post(TOKENS, &expiring(at)).await.is(400).names("expires_at");
    }
    let both = json!({ "name": "test", "all_projects": true, "expires_at": "2026-12-24T00:00:00Z", "expires_in_days": 1 });
    alice.post(TOKENS, &both).await.is(400).names("expires_at");
}

async fn a_token_without_an_expiry_does_not_end(app: App) {
    let alice = app.person("alice").await;

    let body = json!({ "name": "test", "all_projects": true, "expires_at": null, "expires_in_days": null });
    let token = alice.post(TOKENS, &body).await.is(201).json();

    assert!(token.get("expires_at").is_none());
}

/// Checks that unknown fields are refused. Otherwise, a misspelled restriction of the token would
/// be ignored.
async fn a_field_that_is_not_known_is_400(app: App) {
    let alice = app.person("alice").await;

    for field in ["allowed_ips", "kvc_field", "environment_ids", "expires"] {
        let mut body = json!({ "name": "test", "all_projects": true });
        body[field] = json!(["10.0.0.0/8"]);
        let reply = alice.post(TOKENS, &body).await;

        reply.is(400).code("invalid_request");
        assert!(!reply.text().contains("kvc_") && !reply.text().contains("10.0.0.0"));
    }
    let tokens = alice.get(TOKENS).await.is(200).json();
    assert_eq!(tokens, json!({ "tokens": [] }));
}

async fn a_token_without_a_team_belongs_to_the_callers_team(app: App) {
    let alice = app.person("alice").await;
    alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201);

    let body = json!({ "name": "test", "all_projects": true });
    let token = alice.post(TOKENS, &body).await.is(201).json();

    assert_eq!(token["team_id"], alice.team);
}

async fn only_owners_and_admins_create_tokens(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (admin, non_member) = (app.person("ada").await, app.person("eve").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    app.join(&alice.team, &admin.id, Role::Admin).await;
    let body = json!({ "name": "test", "team_id": alice.team, "all_projects": true });
    let unknown_team = json!({ "name": "test", "team_id": "0190f1f3-7b1c-7000-8000-000000000000", "all_projects": true });

    admin.post(TOKENS, &body).await.is(201);

    bob.post(TOKENS, &body).await.is(403).says("only an owner or admin of the team may do this");
    non_member.post(TOKENS, &body).await.is(403).says("you are not a member of this team");
    non_member.post(TOKENS, &unknown_team).await.is(403).says("you are not a member of this team");
}

async fn a_service_token_makes_no_tokens(app: App) {
    let alice = app.person("alice").await;
    let scope = json!({ "all_projects": true, "permissions": ["read", "write"] });
    let token = app.bearer(&alice.token(&scope).await);

    let reply = token.post(TOKENS, &json!({ "name": "test", "all_projects": true })).await;

    let error = "a service token may not do this";
    assert_eq!(reply.is(403).json(), json!({ "error": error, "code": "forbidden" }));
}

in_memory_and_on_postgres![
    a_created_token_is_answered_with_its_text,
    a_token_is_env_and_49_letters_and_digits,
    a_token_can_read_by_default,
    permissions_are_read_and_write,
    a_token_has_a_name_of_1_to_100_characters,
    an_expiry_is_1_to_3650_days_from_now,
    an_expiry_may_be_a_future_time,
    a_token_without_an_expiry_does_not_end,
    a_field_that_is_not_known_is_400,
    a_token_without_a_team_belongs_to_the_callers_team,
    only_owners_and_admins_create_tokens,
    a_service_token_makes_no_tokens,
];
