//! Tests of the endpoints for the usage and the billing of a team.

use chrono::TimeDelta;
use secrets_core::engine::Options;
use secrets_core::model::{Plan, Plans, Quota, Role, ids};
use secrets_tests::{App, Build, Kind, Person, on_every_store, paths};
use serde_json::{Value, json};

/// Error message for users who are not operators, and for operators whose credential does not prove
/// their address.
const OPERATORS_ONLY: &str = "only the operator of this service may do this, with a token of the \
                              identity provider: if you are the operator, sign in again";

fn usage(person: &Person) -> String {
    format!("/api/v1/teams/{}/usage", person.team)
}

fn billing(person: &Person) -> String {
    format!("/api/v1/teams/{}/billing", person.team)
}

/// Starts a server on which the user `ops@example.com` is an operator of the service.
async fn operated(kind: Kind) -> App {
    let options = Options { operators: vec!["ops@example.com".to_owned()], ..Options::default() };
    Build::on(kind).options(options).start().await
}

async fn a_member_reads_the_usage_of_the_team(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let (web, api) = (alice.project("Web").await, alice.project("Api").await);
    alice.environment(&web, "preview", None).await;
    for (project, key) in [(&web, "ONE"), (&web, "TWO"), (&api, "ONE")] {
        alice.secret(project, "staging", key, "kvc_used").await;
    }
    alice.token(&json!({ "all_projects": true })).await;

    let mut response = bob.get(&usage(&alice)).await.is(200).json();

    let stored = response["usage"]["stored_bytes"].take();
    let bytes = response["usage"]["bytes"].take();
    assert_eq!(stored, json!({ "used": bytes["total"], "limit": 256 << 20 }));
    assert_eq!(bytes["limit"], 16 << 20);
    let [used, total] = ["used", "total"].map(|field| bytes[field].as_u64().unwrap());
    assert!(0 < used && used < total && total < 1_000, "{bytes}");
    assert_eq!(
        response,
        json!({
            "team_id": alice.team,
            "plan": "free",
            "period_start": "2026-11-01T00:00:00Z",
            "period_end": "2026-12-01T00:00:00Z",
            "usage": {
                "members": { "used": 2, "limit": 5 },
                "projects": { "used": 2, "limit": 3 },
                "environments": { "used": 4, "total": 7, "limit": 5 },
                "secrets": { "used": 2, "total": 3, "limit": 250 },
                "bytes": null,
                "stored_bytes": null,
                "service_tokens": { "used": 1, "limit": 5 },
                "rotations": { "used": 0, "limit": null },
                "api_requests": { "limit": null },
            },
        })
    );
}

async fn an_unlimited_resource_has_no_limit(app: App) {
    let alice = app.person("alice").await;

    let response = alice.get(&usage(&alice)).await.is(200).json();

    assert_eq!(response["plan"], "unlimited");
    assert_eq!(response["usage"]["projects"], json!({ "used": 0, "limit": null }));
    assert_eq!(response["usage"]["members"], json!({ "used": 1, "limit": null }));
}

async fn owners_and_admins_read_the_billing_of_the_team(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;

    let response = alice.get(&billing(&alice)).await.is(200).json();

    let limits = json!({
        "members": 5, "projects": 3, "environments": 5, "secrets": 250, "bytes": 16 << 20,
        "stored_bytes": 256 << 20, "service_tokens": 5, "rotations": null,
    });
    assert_eq!(
        response,
        json!({
            "team_id": alice.team,
            "plan": "free",
            "status": "none",
            "provider": "none",
            "seats": 2,
            "cancel_at_period_end": false,
            "limits": limits,
            "invoices": [],
        })
    );
    bob.get(&billing(&alice)).await.is(403).code("forbidden");
}

async fn an_operator_puts_any_team_on_another_plan(kind: Kind) {
    let app = operated(kind).await;
    let (alice, ops) = (app.person("alice").await, app.person("ops").await);

    let response = ops.put(&billing(&alice), &json!({ "plan": "free" })).await.is(200).json();

    assert_eq!([&response["plan"], &response["team_id"]], ["free", alice.team.as_str()]);
    assert_eq!(alice.get(&billing(&alice)).await.is(200).json(), response);
    let entry = app.entry(&alice.team, "team.updated").await;
    let detail: Value = serde_json::from_str(&entry.metadata).unwrap();
    assert_eq!(detail, json!({ "plan": "free", "plan_before": "unlimited" }));
    // An operator has no access to the data of a team.
    ops.get(&usage(&alice)).await.is(403);
}

async fn only_an_operator_changes_a_plan(kind: Kind) {
    let app = operated(kind).await;
    let alice = app.person("alice").await;
    let claims = json!({
        "iss": secrets_core::jwt::DEV_ISSUER,
        "aud": secrets_core::jwt::DEV_AUDIENCE,
        "sub": "somebody-else",
        "email": "ops@example.com",
        "email_verified": false,
        "exp": 1_900_000_000,
    });
    let pretender = app.bearer(&app.forged(&claims));
    pretender.post("/api/v1/auth/sync", &json!({})).await.is(200);
    let free = json!({ "plan": "enterprise" });

    alice.put(&billing(&alice), &free).await.is(403).says(OPERATORS_ONLY);
    pretender.put(&billing(&alice), &free).await.is(403).says(OPERATORS_ONLY);
    assert_eq!(alice.get(&billing(&alice)).await.json()["plan"], "unlimited");
}

async fn an_operator_is_known_by_the_address_of_the_credential(kind: Kind) {
    let app = operated(kind).await;
    let alice = app.person("alice").await;
    app.person("ops").await;
    // The token belongs to the same account, but contains a different e-mail address.
    let claims = json!({
        "iss": secrets_core::jwt::DEV_ISSUER,
        "aud": secrets_core::jwt::DEV_AUDIENCE,
        "sub": "ops@example.com",
        "email": "former-ops@example.com",
        "email_verified": true,
        "exp": 1_900_000_000,
    });
    let former = app.bearer(&app.forged(&claims));

    let refused = former.put(&billing(&alice), &json!({ "plan": "free" })).await;

    refused.is(403).says(OPERATORS_ONLY);
}

async fn an_operator_without_an_email_claim_is_known_only_soon_after_a_sign_in(kind: Kind) {
    let app = operated(kind).await;
    let alice = app.person("alice").await;
    app.person("ops").await;
    let claims = json!({
        "iss": secrets_core::jwt::DEV_ISSUER,
        "aud": secrets_core::jwt::DEV_AUDIENCE,
        "sub": "ops@example.com",
        "exp": 1_900_000_000,
    });
    let ops = app.bearer(&app.forged(&claims));
    let free = json!({ "plan": "free" });

    app.wait(TimeDelta::minutes(15));
    ops.put(&billing(&alice), &free).await.is(200);
    app.wait(TimeDelta::seconds(1));
    let refused = ops.put(&billing(&alice), &json!({ "plan": "team" })).await;
    refused.is(403).says(OPERATORS_ONLY);
    assert_eq!(alice.get(&billing(&alice)).await.json()["plan"], "free");

    app.person("ops").await;
    ops.put(&billing(&alice), &json!({ "plan": "team" })).await.is(200);
}

async fn a_plan_is_one_of_this_service(kind: Kind) {
    let app = operated(kind).await;
    let (alice, ops) = (app.person("alice").await, app.person("ops").await);

    for plan in [json!("gold"), json!(""), json!("Free"), json!(7), Value::Null] {
        ops.put(&billing(&alice), &json!({ "plan": plan })).await.is(400).names("plan");
    }
    let unknown = "/api/v1/teams/0191d0a0-0000-7000-8000-000000000000/billing";
    for path in [unknown, "/api/v1/teams/acme/billing"] {
        ops.put(path, &json!({ "plan": "free" })).await.is(404).says("team not found");
    }
}

async fn resources_over_the_limits_of_a_smaller_plan_stay(kind: Kind) {
    let app = operated(kind).await;
    let (alice, ops) = (app.person("alice").await, app.person("ops").await);
    let mut projects = Vec::new();
    for name in ["One", "Two", "Three", "Four"] {
        projects.push(alice.project(name).await);
    }
    ops.put(&billing(&alice), &json!({ "plan": "free" })).await.is(200);

    for project in &projects {
        alice.secret(project, "staging", "KEY", "kvc_kept").await;
        alice.get(&paths::secret(project, "staging", "KEY")).await.is(200);
    }
    let more = json!({ "name": "Five" });
    let refused = alice.post("/api/v1/projects", &more).await.is(429).json();
    assert_eq!([&refused["limit"], &refused["current"]], [3, 4]);
    ops.put(&billing(&alice), &json!({ "plan": "team" })).await.is(200);
    alice.post("/api/v1/projects", &more).await.is(201);
}

async fn changes_that_add_nothing_are_allowed_beyond_a_limit(kind: Kind) {
    let small = Plan::new("small".parse().unwrap(), [(Quota::Secrets, 1)]).unwrap();
    let operators = vec!["ops@example.com".to_owned()];
    let options = Options { plans: Plans::with([small]), operators, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let (alice, ops) = (app.person("alice").await, app.person("ops").await);
    let web = alice.project("Web").await;
    for key in ["ONE", "TWO", "THREE"] {
        alice.secret(&web, "staging", key, "kvc_one").await;
    }
    ops.put(&billing(&alice), &json!({ "plan": "small" })).await.is(200);
    let import = async |key| {
        let body = json!({ "overwrite": true, "secrets": [{ "key": key, "value": "kvc_two" }] });
        alice.post(&paths::secret(&web, "staging", "bulk"), &body).await
    };
    let changes = async |change: Value| {
        let change = json!({ "changes": [change] });
        alice.post(&format!("{web}/changes"), &change).await
    };

    assert_eq!(import("ONE").await.is(200).json()["updated"], 1);
    import("FOUR").await.is(429).code("plan_limit_exceeded");
    let delete = json!({ "environment": "staging", "key": "TWO", "action": "delete" });
    changes(delete).await.is(200);
    let set = json!({ "environment": "staging", "key": "FOUR", "action": "set", "value": "kvc_x" });
    changes(set).await.is(429);
}

async fn a_duplicate_is_reported_before_a_limit(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for name in ["Two", "Three"] {
        alice.project(name).await;
    }
    for name in ["four", "five"] {
        alice.environment(&web, name, None).await;
    }
    let environments = format!("{web}/environments");

    let project = json!({ "name": "Web", "slug": "web" });
    alice.post("/api/v1/projects", &project).await.is(400).code("already_exists");
    alice.post("/api/v1/projects", &json!({ "name": "Four" })).await.is(429);
    alice.post(&environments, &json!({ "name": "Four" })).await.is(400).code("already_exists");
    alice.post(&environments, &json!({ "name": "six" })).await.is(429);
    assert_eq!(alice.get("/api/v1/projects").await.json()["projects"].as_array().unwrap().len(), 3);
}

async fn the_limits_of_a_custom_plan_apply(kind: Kind) {
    let small = Plan::new("small".parse().unwrap(), [(Quota::Projects, 1)]).unwrap();
    let plans = Plans::with([small]).by_default("small").unwrap();
    let app = Build::on(kind).options(Options { plans, ..Options::default() }).start().await;
    let alice = app.person("alice").await;
    alice.project("One").await;

    let refused = alice.post("/api/v1/projects", &json!({ "name": "Two" })).await;

    let response = refused.is(429).code("plan_limit_exceeded").json();
    assert_eq!([&response["plan"], &response["resource"]], ["small", "projects"]);
    assert_eq!(alice.get(&usage(&alice)).await.json()["usage"]["secrets"]["limit"], Value::Null);
}

async fn a_team_with_a_removed_plan_has_the_default_plan(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;
    let team = ids::parse(&alice.team).unwrap().into();
    let mut tx = app.store.begin().await.unwrap();
    tx.set_plan(team, &"no-longer-there".parse().unwrap(), team_time(&app)).await.unwrap();
    tx.commit().await.unwrap();

    for name in ["One", "Two", "Three"] {
        alice.project(name).await;
    }

    let refused = alice.post("/api/v1/projects", &json!({ "name": "Four" })).await;
    assert_eq!(refused.is(429).json()["plan"], "free");
    assert_eq!(alice.get(&usage(&alice)).await.is(200).json()["plan"], "free");
}

fn team_time(app: &App) -> secrets_core::model::Time {
    secrets_core::model::Clock::now(app.clock.as_ref())
}

on_every_store![
    an_unlimited_resource_has_no_limit;
    a_member_reads_the_usage_of_the_team,
    owners_and_admins_read_the_billing_of_the_team,
    an_operator_puts_any_team_on_another_plan,
    an_operator_is_known_by_the_address_of_the_credential,
    an_operator_without_an_email_claim_is_known_only_soon_after_a_sign_in,
    only_an_operator_changes_a_plan,
    a_plan_is_one_of_this_service,
    resources_over_the_limits_of_a_smaller_plan_stay,
    changes_that_add_nothing_are_allowed_beyond_a_limit,
    a_duplicate_is_reported_before_a_limit,
    the_limits_of_a_custom_plan_apply,
    a_team_with_a_removed_plan_has_the_default_plan,
];
