//! Tests of listing service tokens.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, in_memory_and_on_postgres};
use serde_json::json;

use super::TOKENS;

async fn the_list_shows_all_but_the_token_itself_oldest_first(app: App) {
    let alice = app.person("alice").await;
    let create = |name: &str| json!({ "name": name, "all_projects": true });
    let mut first = alice.post(TOKENS, &create("first")).await.is(201).json();
    app.wait(TimeDelta::seconds(1));
    let mut second = alice.post(TOKENS, &create("second")).await.is(201).json();

    let list = alice.get(TOKENS).await.is(200).json();

    for token in [&mut first, &mut second] {
        token.as_object_mut().unwrap().remove("token").unwrap();
    }
    assert_eq!(list, json!({ "tokens": [first, second] }));
}

async fn the_list_may_be_of_one_team(app: App) {
    let alice = app.person("alice").await;
    let ops =
        alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).json()["id"].clone();
    alice.post(TOKENS, &json!({ "name": "mine", "all_projects": true })).await.is(201);
    let body = json!({ "name": "ours", "team_id": ops, "all_projects": true });
    alice.post(TOKENS, &body).await.is(201);

    let all = alice.get(TOKENS).await.is(200).json();
    let ours =
        alice.get(&format!("{TOKENS}?team_id={}", ops.as_str().unwrap())).await.is(200).json();

    assert_eq!(all["tokens"].as_array().unwrap().len(), 2);
    assert_eq!(ours["tokens"].as_array().unwrap().len(), 1);
    assert_eq!(ours["tokens"][0]["name"], "ours");
}

async fn the_list_has_the_tokens_of_teams_that_the_caller_manages(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let admin = app.person("ada").await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    app.join(&alice.team, &admin.id, Role::Admin).await;
    alice.post(TOKENS, &json!({ "name": "hers", "all_projects": true })).await.is(201);

    let members = bob.get(TOKENS).await.is(200).json();
    let admins = admin.get(TOKENS).await.is(200).json();

    assert_eq!(members, json!({ "tokens": [] }));
    assert_eq!(admins["tokens"][0]["name"], "hers");
}

async fn the_tokens_of_a_team_are_for_its_owners_and_admins(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let non_member = app.person("eve").await;
    app.join(&alice.team, &bob.id, Role::Member).await;
    let path = format!("{TOKENS}?team_id={}", alice.team);
    let unknown_team = format!("{TOKENS}?team_id=0190f1f3-7b1c-7000-8000-000000000000");

    bob.get(&path).await.is(403).says("only an owner or admin of the team may do this");
    non_member.get(&path).await.is(403).says("you are not a member of this team");
    non_member.get(&unknown_team).await.is(403).says("you are not a member of this team");
}

async fn a_team_that_is_no_uuid_is_400(app: App) {
    let alice = app.person("alice").await;

    alice.get(&format!("{TOKENS}?team_id=ops")).await.is(400).says("team_id must be a UUID");
    alice
        .get(&format!("{TOKENS}?team_id={0}&team_id={0}", alice.team))
        .await
        .is(400)
        .names("team_id");
}

async fn a_token_that_has_ended_is_listed_so(app: App) {
    let alice = app.person("alice").await;
    let body =
        json!({ "name": "test", "all_projects": true, "expires_at": "2026-11-21T12:00:20Z" });
    alice.post(TOKENS, &body).await.is(201);

    app.wait(TimeDelta::seconds(9));
    let before = alice.get(TOKENS).await.is(200).json();
    app.wait(TimeDelta::seconds(1));
    let after = alice.get(TOKENS).await.is(200).json();

    assert_eq!(
        (&before["tokens"][0]["status"], &after["tokens"][0]["status"]),
        (&json!("active"), &json!("expired"))
    );
}

in_memory_and_on_postgres![
    the_list_shows_all_but_the_token_itself_oldest_first,
    the_list_may_be_of_one_team,
    the_list_has_the_tokens_of_teams_that_the_caller_manages,
    the_tokens_of_a_team_are_for_its_owners_and_admins,
    a_team_that_is_no_uuid_is_400,
    a_token_that_has_ended_is_listed_so,
];
