//! Tests of the rate limit of a team, which all its members and service tokens share.

use chrono::TimeDelta;
use secrets_core::model::{Origin, Role};
use secrets_tests::{App, Build, Kind, on_every_store, paths};
use serde_json::json;

/// Starts a server that allows a team five requests per minute.
async fn five_a_minute(kind: Kind) -> App {
    Build::on(kind).rates(1_000, 60).team_rate(5).start().await
}

async fn the_principals_of_a_team_share_its_limit(kind: Kind) {
    let app = five_a_minute(kind).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let (secrets, me) = (paths::secrets(&web, "staging"), "/api/v1/users/me");
    app.wait(TimeDelta::minutes(1));

    for remaining in (0..3).rev() {
        let reply = alice.get(&secrets).await;
        assert_eq!(reply.is(200).number("x-ratelimit-remaining"), remaining + 2);
        assert_eq!(reply.number("x-ratelimit-limit"), 5);
    }
    token.get(&secrets).await.is(200);
    token.get(&secrets).await.is(200);

    let refused = token.get(&secrets).await;
    refused.is(429).code("rate_limited");
    assert_eq!((refused.number("x-ratelimit-limit"), refused.number("retry-after")), (5, 50));
    let write = json!({ "key": "KEY", "value": "kvc_value" });
    alice.post(&secrets, &write).await.is(429);
    assert_eq!(alice.get(me).await.is(200).number("x-ratelimit-limit"), 60);
    app.wait(TimeDelta::minutes(1));
    alice.get(&secrets).await.is(200);
}

async fn teams_of_one_account_share_a_limit_and_those_of_others_do_not(kind: Kind) {
    let app = five_a_minute(kind).await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let team = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).id();
    app.wait(TimeDelta::minutes(1));

    for _ in 0..3 {
        alice.get(&format!("/api/v1/teams/{team}")).await.is(200);
        let own = alice.get(&format!("/api/v1/teams/{}", alice.team)).await;
        assert!([200, 429].contains(&own.status));
    }

    alice.get(&format!("/api/v1/teams/{team}")).await.is(429);
    bob.get(&format!("/api/v1/teams/{}", bob.team)).await.is(200);
}

/// Checks that refused requests of a caller outside of the team do not use up the limit of the
/// team. Otherwise, anyone who knows the name of a project could do so.
async fn a_refused_caller_does_not_use_up_the_limit(kind: Kind) {
    let app = five_a_minute(kind).await;
    let (alice, bob, carol) =
        (app.person("alice").await, app.person("bob").await, app.person("carol").await);
    app.join(&alice.team, &carol.id, Role::Member).await;
    let web = alice.project("Web").await;
    app.wait(TimeDelta::minutes(1));

    for _ in 0..10 {
        bob.get(&paths::secrets(&web, "staging")).await.is(403);
    }

    let reply = carol.get(&paths::secrets(&web, "staging")).await;
    assert_eq!(reply.is(200).number("x-ratelimit-remaining"), 4);
}

async fn a_creator_who_left_does_not_use_up_the_limit_of_the_team(kind: Kind) {
    let app = five_a_minute(kind).await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let team = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).id();
    app.join(&team, &bob.id, Role::Owner).await;
    let (of_team, of_alice) =
        (format!("/api/v1/teams/{team}"), format!("/api/v1/teams/{}", alice.team));
    bob.delete(&format!("{of_team}/members/{}", alice.id)).await.is(204);
    app.wait(TimeDelta::minutes(1));

    for _ in 0..5 {
        alice.get(&of_alice).await.is(200);
    }

    alice.get(&of_alice).await.is(429);
    bob.get(&of_team).await.is(200);
}

/// Checks that the operations of a token are counted against its creator, and against the team after
/// the creator has left it.
async fn a_token_of_a_creator_who_left_is_counted_against_the_team(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Admin).await;
    alice.project("Web").await;
    let body = json!({ "name": "ci", "all_projects": true, "team_id": alice.team });
    let created = bob.post("/api/v1/tokens", &body).await.is(201).json();
    let token = created["token"].as_str().unwrap();
    let account = async || {
        let caller = app.service.authenticate(token, Origin::default()).await.unwrap();
        caller.account().unwrap().uuid().to_string()
    };
    assert_eq!(account().await, bob.id);

    alice.delete(&format!("/api/v1/teams/{}/members/{}", alice.team, bob.id)).await.is(204);
    app.wait(TimeDelta::minutes(1));

    assert_eq!(account().await, alice.team);
}

on_every_store![a_token_of_a_creator_who_left_is_counted_against_the_team;
    the_principals_of_a_team_share_its_limit,
    teams_of_one_account_share_a_limit_and_those_of_others_do_not,
    a_refused_caller_does_not_use_up_the_limit,
    a_creator_who_left_does_not_use_up_the_limit_of_the_team,
];
