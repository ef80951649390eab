//! Tests of credentials in requests: the accepted forms, and the reasons for which the server
//! refuses a credential.

use chrono::{Duration, TimeDelta};
use hyper::Method;
use secrets_core::jwt::{DEV_AUDIENCE, DEV_ISSUER, DevKey};
use secrets_core::model::Clock as _;
use secrets_tests::{App, Reply, in_memory, on_every_store, paths};
use serde_json::{Value, json};

const ME: &str = "/api/v1/users/me";

/// Asserts that a reply refuses the credential of the request as invalid.
fn refuses(reply: &Reply) {
    let body = json!({ "error": "invalid credential", "code": "unauthorized" });
    assert_eq!(reply.is(401).json(), body);
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
}

/// Asserts that a reply refuses the credential of the request as expired.
fn has_expired(reply: &Reply) {
    let body = json!({ "error": "the credential has expired", "code": "token_expired" });
    assert_eq!(reply.is(401).json(), body);
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
}

/// Returns the claims of an identity token with one claim changed, or without this claim if the
/// value is null.
fn claims(app: &App, claim: &str, value: &Value) -> Value {
    let now = app.clock.now().timestamp();
    let mut claims = json!({
        "iss": DEV_ISSUER, "aud": DEV_AUDIENCE, "sub": "alice@example.com",
        "email": "alice@example.com", "iat": now, "nbf": now, "exp": now + 600,
    });
    claims[claim] = value.clone();
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

async fn authorize(app: &App, header: &str) -> Reply {
    app.anonymous().raw(Method::GET, ME, &[("authorization", header)], "").await
}

async fn a_missing_credential_is_401(app: App) {
    let reply = app.anonymous().get(ME).await;

    let error = "missing credential: send `Authorization: Bearer …`";
    assert_eq!(reply.is(401).json(), json!({ "error": error, "code": "unauthorized" }));
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
}

async fn another_scheme_than_bearer_is_401(app: App) {
    app.person("alice").await;
    let jwt = app.jwt("alice");
    let headers = [
        jwt.clone(),
        format!("Basic {jwt}"),
        format!("Token {jwt}"),
        format!("Bearer:{jwt}"),
        format!("Bearer\t{jwt}"),
        format!("Bearer {jwt}, Bearer {jwt}"),
        "Bearer".to_owned(),
        "Bearer  ".to_owned(),
    ];

    for header in headers {
        refuses(&authorize(&app, &header).await);
    }
}

async fn the_scheme_is_written_in_any_case(app: App) {
    app.person("alice").await;
    let jwt = app.jwt("alice");

    for scheme in ["Bearer", "bearer", "BEARER"] {
        authorize(&app, &format!("{scheme} {jwt}")).await.is(200);
        authorize(&app, &format!("{scheme}   {jwt}")).await.is(200);
    }
}

async fn two_credentials_are_none(app: App) {
    app.person("alice").await;
    let header = format!("Bearer {}", app.jwt("alice"));
    let twice = [("authorization", header.as_str()), ("authorization", header.as_str())];

    let reply = app.anonymous().raw(Method::GET, ME, &twice, "").await;

    let error = "send one Authorization header";
    assert_eq!(reply.is(401).json(), json!({ "error": error, "code": "unauthorized" }));
}

async fn a_credential_is_taken_from_the_header_only(app: App) {
    app.person("alice").await;
    let jwt = app.jwt("alice");
    let elsewhere = [
        ("cookie", format!("access_token={jwt}")),
        ("x-api-key", jwt.clone()),
        ("token", jwt.clone()),
    ];
    let elsewhere = elsewhere.each_ref().map(|(name, value)| (*name, value.as_str()));

    app.anonymous().get(&format!("{ME}?access_token={jwt}")).await.is(401);
    app.anonymous().raw(Method::GET, ME, &elsewhere, "").await.is(401);
}

async fn a_token_of_the_identity_provider_is_a_credential(app: App) {
    let alice = app.person("alice").await;

    let reply = app.bearer(&app.jwt("alice")).get(ME).await;

    assert_eq!(reply.is(200).json()["id"], alice.id);
}

async fn a_jwt_is_refused_once_it_has_ended_with_a_minute_of_leeway(app: App) {
    app.person("alice").await;
    let jwt = app.forged(&claims(&app, "iat", &Value::Null));

    app.wait(TimeDelta::seconds(600 + 59));
    app.bearer(&jwt).get(ME).await.is(200);
    app.wait(TimeDelta::seconds(1));

    has_expired(&app.bearer(&jwt).get(ME).await);
}

async fn only_a_jwt_that_was_valid_has_expired(app: App) {
    app.person("alice").await;
    let ended = json!(app.clock.now().timestamp() - 3600);
    let of_another = |claim: &str, value: Value| {
        let mut claims = claims(&app, "exp", &ended);
        claims[claim] = value;
        app.forged(&claims)
    };
    let other_key = DevKey::generate().unwrap();

    refuses(&app.bearer(&of_another("aud", json!("other"))).get(ME).await);
    refuses(&app.bearer(&of_another("iss", json!("https://evil.example"))).get(ME).await);
    let jwt = other_key.sign("alice@example.com", app.clock.now() - TimeDelta::days(2)).unwrap();
    refuses(&app.bearer(&jwt).get(ME).await);
    has_expired(&app.bearer(&of_another("sub", json!("nobody"))).get(ME).await);
}

async fn a_jwt_is_refused_before_it_begins_with_a_minute_of_leeway(app: App) {
    app.person("alice").await;
    let now = app.clock.now().timestamp();

    app.bearer(&app.forged(&claims(&app, "nbf", &json!(now + 60)))).get(ME).await.is(200);

    refuses(&app.bearer(&app.forged(&claims(&app, "nbf", &json!(now + 61)))).get(ME).await);
}

async fn a_jwt_for_another_audience_is_401(app: App) {
    app.person("alice").await;
    let several = claims(&app, "aud", &json!(["other", DEV_AUDIENCE]));

    app.bearer(&app.forged(&several)).get(ME).await.is(200);

    for audience in [json!("other"), json!(["other"]), json!([]), json!("Secrets"), Value::Null] {
        let jwt = app.forged(&claims(&app, "aud", &audience));
        refuses(&app.bearer(&jwt).get(ME).await);
    }
}

async fn a_jwt_of_another_issuer_is_401(app: App) {
    app.person("alice").await;

    for issuer in [json!("https://evil.example"), json!(format!("{DEV_ISSUER}/")), Value::Null] {
        let jwt = app.forged(&claims(&app, "iss", &issuer));
        refuses(&app.bearer(&jwt).get(ME).await);
    }
}

async fn a_jwt_without_subject_or_expiry_is_401(app: App) {
    app.person("alice").await;

    for claim in ["sub", "exp"] {
        let jwt = app.forged(&claims(&app, claim, &Value::Null));
        refuses(&app.bearer(&jwt).get(ME).await);
    }
}

async fn a_jwt_signed_with_another_key_is_401(app: App) {
    app.person("alice").await;
    let other_key = DevKey::generate().unwrap();

    let jwt = other_key.sign("alice@example.com", app.clock.now()).unwrap();

    refuses(&app.bearer(&jwt).get(ME).await);
}

async fn a_jwt_whose_parts_do_not_belong_together_is_401(app: App) {
    app.person("alice").await;
    let (alice, bob) = (app.jwt("alice"), app.jwt("bob"));
    let [header, _, signature] = parts(&alice);
    let [_, other_claims, _] = parts(&bob);
    let [_, own_claims, _] = parts(&alice);
    // {"alg":"none","typ":"JWT"}
    let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0";

    let forged = [
        format!("{header}.{other_claims}.{signature}"),
        format!("{header}.{own_claims}."),
        format!("{header}.{own_claims}"),
        format!("{unsigned}.{own_claims}."),
        format!("{unsigned}.{own_claims}.{signature}"),
        format!("{alice}.{signature}"),
        format!("{alice}="),
        "eyJhbGciOiJFZERTQSJ9.e30.".to_owned(),
        "..".to_owned(),
        "nonsense".to_owned(),
    ];

    for jwt in forged {
        refuses(&app.bearer(&jwt).get(ME).await);
    }
}

fn parts(jwt: &str) -> [&str; 3] {
    let parts: Vec<_> = jwt.split('.').collect();
    parts.try_into().unwrap()
}

async fn a_credential_that_is_too_long_or_not_text_is_refused(app: App) {
    let long = "x".repeat(12_000);
    let bytes: &[u8] =
        b"GET /api/v1/users/me HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer \xff\xfe\r\n\r\n";

    refuses(&app.bearer(&long).get(ME).await);
    refuses(&app.wire(&[bytes]).await);
}

async fn a_service_token_is_a_credential(app: App) {
    let alice = app.person("alice").await;
    let token = alice.token(&json!({ "all_projects": true })).await;

    let reply = app.bearer(&token).get(ME).await;

    assert_eq!(reply.is(200).json()["auth_type"], "service_token");
}

async fn an_unknown_service_token_is_401(app: App) {
    let alice = app.person("alice").await;
    let token = alice.token(&json!({ "all_projects": true })).await;
    let last = if token.ends_with('0') { '1' } else { '0' };

    let wrong = [
        format!("{}{last}", &token[..52]),
        format!("{token}0"),
        token[..12].to_owned(),
        token.replace("env_", "ENV_"),
        token.replace("env_", ""),
        token.to_lowercase(),
        "env_".to_owned(),
        "env_0Eoh211G4c8wtVWM00my5rsNSFlKgaWqQ4mb8gdEqno2VMQpv".to_owned(),
        "env_' OR '1'='1".to_owned(),
    ];

    for token in wrong {
        refuses(&app.bearer(&token).get(ME).await);
    }
}

async fn a_service_token_ends_at_its_expiry_time(app: App) {
    let alice = app.person("alice").await;
    let token = alice.token(&json!({ "all_projects": true, "expires_in_days": 1 })).await;

    app.wait(Duration::days(1) - TimeDelta::seconds(1));
    app.bearer(&token).get(ME).await.is(200);
    app.wait(TimeDelta::seconds(1));

    has_expired(&app.bearer(&token).get(ME).await);
}

async fn a_deleted_service_token_is_401_at_once(app: App) {
    let alice = app.person("alice").await;
    let token = alice.token(&json!({ "all_projects": true })).await;
    let id = app.bearer(&token).get(ME).await.is(200).json()["id"].clone();

    alice.delete(&format!("/api/v1/tokens/{}", id.as_str().unwrap())).await.is(204);

    refuses(&app.bearer(&token).get(ME).await);
}

async fn users_me_is_404_before_the_first_sign_in(app: App) {
    let reply = app.bearer(&app.jwt("alice")).get(ME).await;

    let error = "no account yet: call POST /api/v1/auth/sync once to sign in";
    assert_eq!(reply.is(404).json(), json!({ "error": error, "code": "not_found" }));
}

async fn other_requests_are_401_before_the_first_sign_in(app: App) {
    let alice = app.bearer(&app.jwt("alice"));
    let error = "no account yet: call POST /api/v1/auth/sync once to sign in";

    for path in ["/api/v1/teams", "/api/v1/projects", "/api/v1/projects/none", "/api/v1/tokens"] {
        let reply = alice.get(path).await;

        assert_eq!(reply.is(401).json(), json!({ "error": error, "code": "unauthorized" }));
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
}

async fn a_credential_without_the_permission_is_403(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;
    let reader = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    let write = json!({ "key": "KEY", "value": "kvc_value" });
    let reply = reader.post(&paths::secrets(&project, "staging"), &write).await;

    let body = json!({ "error": "this token may not write", "code": "forbidden" });
    assert_eq!(reply.is(403).json(), body);
}

async fn the_credential_is_judged_before_the_body(app: App) {
    let alice = app.person("alice").await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    app.anonymous().raw(Method::POST, "/api/v1/projects", &[], "{").await.is(401);
    token.raw(Method::POST, "/api/v1/projects", &[], "{").await.is(403);
    alice.raw(Method::POST, "/api/v1/projects", &[], "{").await.is(400);
}

async fn a_malformed_body_is_reported_before_an_unknown_object_of_the_path(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let project = alice.project("Web").await;
    let reader = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    let [unknown, foreign, forbidden] = [
        alice.post(&paths::secrets("/api/v1/projects/none", "staging"), &json!({})).await,
        bob.post(&paths::secrets(&project, "staging"), &json!({})).await,
        reader.post(&paths::secrets(&project, "staging"), &json!({})).await,
    ];

    for reply in [unknown, foreign, forbidden] {
        reply.is(400).code("invalid_request").names("key");
    }
}

async fn levels_are_decided_from_the_outside_in(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let scope = json!({ "project_ids": [paths::last(&web)], "environments": ["staging"], "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&scope).await);

    alice
        .get(&paths::secret("/api/v1/projects/none", "none", "NONE"))
        .await
        .is(404)
        .says("project not found");
    bob.get(&paths::secret(&web, "none", "NONE")).await.is(403);
    alice.get(&paths::secret(&web, "none", "NONE")).await.is(404).says("environment not found");
    writer
        .get(&paths::secret(&web, "production", "NONE"))
        .await
        .is(403)
        .says("outside of this token's scope");
    writer
        .get(&paths::secret(&web, "staging", "NONE"))
        .await
        .is(403)
        .says("this token may not read");
    alice.get(&paths::secret(&web, "staging", "NONE")).await.is(404).says("secret not found");
}

in_memory![
    a_missing_credential_is_401,
    another_scheme_than_bearer_is_401,
    the_scheme_is_written_in_any_case,
    two_credentials_are_none,
    a_credential_is_taken_from_the_header_only,
    a_jwt_is_refused_once_it_has_ended_with_a_minute_of_leeway,
    only_a_jwt_that_was_valid_has_expired,
    a_jwt_is_refused_before_it_begins_with_a_minute_of_leeway,
    a_jwt_for_another_audience_is_401,
    a_jwt_of_another_issuer_is_401,
    a_jwt_without_subject_or_expiry_is_401,
    a_jwt_signed_with_another_key_is_401,
    a_jwt_whose_parts_do_not_belong_together_is_401,
    a_credential_that_is_too_long_or_not_text_is_refused,
    the_credential_is_judged_before_the_body,
    a_malformed_body_is_reported_before_an_unknown_object_of_the_path,
];

// Service tokens and users are found in the store.
on_every_store![
    a_token_of_the_identity_provider_is_a_credential,
    a_service_token_is_a_credential,
    an_unknown_service_token_is_401,
    a_service_token_ends_at_its_expiry_time,
    a_deleted_service_token_is_401_at_once,
    users_me_is_404_before_the_first_sign_in,
    other_requests_are_401_before_the_first_sign_in,
    a_credential_without_the_permission_is_403,
    levels_are_decided_from_the_outside_in,
];
