//! Tests of plan limits: a request that exceeds one gets the status 429 with a `LimitError`, and
//! writes no record.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, Build, Kind, Person, Reply, canary, on_every_store, paths};
use serde_json::{Value, json};

/// Starts a server whose teams are on the free plan (3 projects, 5 environments in each project,
/// 250 secrets in each environment, 5 service tokens), and signs in a user.
async fn free(kind: Kind) -> (App, Person) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;
    (app, alice)
}

/// Asserts that a reply is the error of an exceeded plan limit. Unlike the error of a rate limit,
/// it has no `Retry-After` header, because waiting does not help.
fn exceeds(reply: &Reply, resource: &str, limit: u64, current: u64) {
    assert_eq!(
        reply.is(429).json(),
        json!({
            "error": format!("Plan limit exceeded: {resource} ({current} of {limit})"),
            "code": "plan_limit_exceeded",
            "resource": resource,
            "plan": "free",
            "limit": limit,
            "current": current,
        })
    );
    assert_eq!(reply.header("retry-after"), None);
}

/// Returns a request body that imports `count` secrets, with the keys `K{first}`, `K{first + 1}`
/// and so on.
fn numbered(first: usize, count: usize) -> Value {
    let secret = |number| json!({ "key": format!("K{number}"), "value": canary("plan") });
    json!({ "secrets": (first..first + count).map(secret).collect::<Vec<_>>() })
}

/// Creates a project whose staging environment has 249 secrets.
async fn almost_full(person: &Person) -> String {
    let web = person.project("Web").await;
    let bulk = paths::secret(&web, "staging", "bulk");
    for (first, count) in [(0, 100), (100, 100), (200, 49)] {
        person.post(&bulk, &numbered(first, count)).await.is(200);
    }
    web
}

async fn keys(person: &Person, project: &str) -> usize {
    let list = person.get(&paths::secrets(project, "staging")).await.is(200).json();
    list["secrets"].as_array().unwrap().len()
}

async fn a_project_too_many_is_429(kind: Kind) {
    let (_app, alice) = free(kind).await;
    for name in ["One", "Two", "Three"] {
        alice.project(name).await;
    }

    let reply = alice.post("/api/v1/projects", &json!({ "name": "Four" })).await;

    exceeds(&reply, "projects", 3, 3);
    let list = alice.get("/api/v1/projects").await.is(200).json();
    assert_eq!(list["projects"].as_array().unwrap().len(), 3);
}

async fn a_deleted_project_makes_room(kind: Kind) {
    let (_app, alice) = free(kind).await;
    alice.project("One").await;
    alice.project("Two").await;
    let three = alice.project("Three").await;

    alice.delete(&three).await.is(204);

    alice.project("Four").await;
    exceeds(&alice.post("/api/v1/projects", &json!({ "name": "Five" })).await, "projects", 3, 3);
}

async fn teams_are_counted_apart(kind: Kind) {
    let (app, alice) = free(kind).await;
    let bob = app.person("bob").await;
    for name in ["One", "Two", "Three"] {
        alice.project(name).await;
    }

    bob.project("Four").await;
    let ops = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).json();

    let body = json!({ "name": "Five", "team_id": ops["id"] });
    alice.post("/api/v1/projects", &body).await.is(201);
}

async fn an_environment_too_many_is_429(kind: Kind) {
    let (_app, alice) = free(kind).await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    alice.environment(&web, "four", None).await;
    alice.environment(&web, "five", None).await;

    let reply = alice.post(&paths::environments(&web), &json!({ "name": "six" })).await;

    exceeds(&reply, "environments", 5, 5);
    alice.get(&paths::environment(&web, "six")).await.is(404);
    alice.environment(&shop, "six", None).await;
}

async fn a_secret_too_many_is_429(kind: Kind) {
    let (_app, alice) = free(kind).await;
    let web = almost_full(&alice).await;
    alice.secret(&web, "staging", "LAST", "kvc_last").await;

    let body = json!({ "key": "MORE", "value": "kvc_more" });
    let reply = alice.post(&paths::secrets(&web, "staging"), &body).await;

    exceeds(&reply, "secrets", 250, 250);
    alice.get(&paths::secret(&web, "staging", "MORE")).await.is(404);
    alice.secret(&web, "production", "MORE", "kvc_more").await;
    alice
        .put(&paths::secret(&web, "staging", "LAST"), &json!({ "value": "kvc_two" }))
        .await
        .is(200);
}

async fn hidden_secrets_are_counted(kind: Kind) {
    let (_app, alice) = free(kind).await;
    let web = almost_full(&alice).await;
    let hide = |key: &str| json!({ "key": key, "hidden": true });

    alice.post(&paths::secrets(&web, "staging"), &hide("HIDDEN")).await.is(201);

    exceeds(
        &alice.post(&paths::secrets(&web, "staging"), &hide("MORE")).await,
        "secrets",
        250,
        250,
    );
}

async fn an_import_counts_new_secrets_and_is_429_as_a_whole(kind: Kind) {
    let (_app, alice) = free(kind).await;
    let web = almost_full(&alice).await;
    let bulk = paths::secret(&web, "staging", "bulk");

    // K200 to K248 exist; two further secrets do not exist.
    let reply = alice.post(&bulk, &numbered(200, 51)).await;

    exceeds(&reply, "secrets", 250, 249);
    assert_eq!(keys(&alice, &web).await, 249);
    let fits = alice.post(&bulk, &numbered(200, 50)).await;
    assert_eq!(fits.is(200).json(), json!({ "created": 1, "updated": 0, "skipped": 49 }));
}

async fn inherited_secrets_are_not_counted(kind: Kind) {
    let (_app, alice) = free(kind).await;
    let web = almost_full(&alice).await;
    alice.secret(&web, "staging", "LAST", "kvc_last").await;
    alice.environment(&web, "child", Some("staging")).await;

    alice.secret(&web, "child", "MORE", "kvc_more").await;
}

async fn a_service_token_too_many_is_429(kind: Kind) {
    let (_app, alice) = free(kind).await;
    for _ in 0..5 {
        alice.token(&json!({ "all_projects": true })).await;
    }

    let reply = alice.post("/api/v1/tokens", &json!({ "name": "six", "all_projects": true })).await;

    exceeds(&reply, "service_tokens", 5, 5);
    let list = alice.get("/api/v1/tokens").await.is(200).json();
    assert_eq!(list["tokens"].as_array().unwrap().len(), 5);
}

async fn a_member_too_many_is_429_and_invitations_count(kind: Kind) {
    let (app, alice) = free(kind).await;
    let bob = app.person("bob").await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    let members = format!("/api/v1/teams/{}/members", alice.team);
    let invite = |name: &str| {
        let body = json!({ "email": format!("{name}@example.com") });
        let (alice, members) = (&alice, &members);
        async move { alice.post(members, &body).await }
    };
    let third = invite("c").await.is(201).id();
    for name in ["d", "e"] {
        invite(name).await.is(201);
    }

    exceeds(&invite("f").await, "members", 5, 5);
    invite("e").await.is(400).code("already_exists");
    alice.delete(&format!("/api/v1/teams/{}/invitations/{third}", alice.team)).await.is(204);
    invite("f").await.is(201);
    exceeds(&invite("g").await, "members", 5, 5);
    app.wait(TimeDelta::days(7));

    let later = app.bearer(&app.jwt("alice"));
    for name in ["g", "h", "i"] {
        later.post(&members, &json!({ "email": format!("{name}@example.com") })).await.is(201);
    }
}

async fn plan_limits_are_reported_after_rules_and_before_conflicts(kind: Kind) {
    let (_app, alice) = free(kind).await;
    let web = almost_full(&alice).await;
    alice.environment(&web, "four", None).await;
    alice.environment(&web, "five", None).await;
    alice.secret(&web, "staging", "LAST", "kvc_last").await;

    let rule = json!({ "name": "six", "inherits_from": "none" });
    alice.post(&paths::environments(&web), &rule).await.is(400).names("inherits_from");
    let conflict = json!({ "key": "LAST", "value": "kvc_again" });
    let reply = alice.post(&paths::secrets(&web, "staging"), &conflict).await;

    exceeds(&reply, "secrets", 250, 250);
}

async fn the_unlimited_plan_counts_nothing(app: App) {
    let alice = app.person("alice").await;

    for number in 0..5 {
        alice.project(&format!("P{number}")).await;
    }

    let web = alice.project("Web").await;
    for number in 0..7 {
        alice.environment(&web, &format!("e{number}"), None).await;
    }
}

on_every_store![
    the_unlimited_plan_counts_nothing;
    a_project_too_many_is_429,
    a_deleted_project_makes_room,
    teams_are_counted_apart,
    an_environment_too_many_is_429,
    a_secret_too_many_is_429,
    hidden_secrets_are_counted,
    an_import_counts_new_secrets_and_is_429_as_a_whole,
    inherited_secrets_are_not_counted,
    a_service_token_too_many_is_429,
    a_member_too_many_is_429_and_invitations_count,
    plan_limits_are_reported_after_rules_and_before_conflicts,
];
