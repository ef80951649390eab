//! Tests of the endpoints below `/api/v1/teams`.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, Build, Kind, STARTED, in_memory_and_on_postgres};
use serde_json::{Value, json};

const TEAMS: &str = "/api/v1/teams";

/// Returns the field `name` of each object in a list, in order.
fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

async fn a_created_team_is_answered(app: App) {
    let alice = app.person("alice").await;

    let team = alice.post(TEAMS, &json!({ "name": "Web Ops" })).await.is(201).json();

    assert_eq!(
        team,
        json!({
            "id": team["id"],
            "name": "Web Ops",
            "slug": "web-ops",
            "is_personal": false,
            "plan": "unlimited",
            "created_by": alice.id,
            "created_at": STARTED,
            "updated_at": STARTED,
        })
    );
}

async fn the_creator_of_a_team_is_its_owner(app: App) {
    let alice = app.person("alice").await;
    let team = alice.post(TEAMS, &json!({ "name": "Ops" })).await.is(201).json();

    let seen = alice.get(&format!("{TEAMS}/{}", team["id"].as_str().unwrap())).await.is(200).json();

    let mut expected = team.clone();
    expected["role"] = json!("owner");
    expected["member_count"] = json!(1);
    expected["members"] = json!([{
        "id": alice.id,
        "team_id": team["id"],
        "user_id": alice.id,
        "email": "alice@example.com",
        "name": "alice",
        "role": "owner",
        "status": "active",
        "joined_at": STARTED,
        "created_at": STARTED,
        "updated_at": STARTED,
    }]);
    assert_eq!(seen, expected);
}

async fn a_team_has_a_name_of_1_to_100_characters(app: App) {
    let alice = app.person("alice").await;
    let (longest, longer) = ("é".repeat(100), "é".repeat(101));

    for name in ["x", longest.as_str()] {
        alice.post(TEAMS, &json!({ "name": name })).await.is(201);
    }

    for name in ["", "   ", longer.as_str(), "a\nb", "a\u{7f}b", "a\u{202e}b"] {
        alice.post(TEAMS, &json!({ "name": name })).await.is(400).names("name");
    }
}

async fn a_team_needs_a_name_that_is_text(app: App) {
    let alice = app.person("alice").await;

    for body in [json!({}), json!({ "name": null }), json!({ "name": 7 }), json!({ "name": ["x"] })]
    {
        alice.post(TEAMS, &body).await.is(400).code("invalid_request").names("name");
    }
}

async fn space_around_a_name_is_cut_off(app: App) {
    let alice = app.person("alice").await;

    let team = alice.post(TEAMS, &json!({ "name": "  Ops " })).await.is(201).json();

    assert_eq!(team["name"], "Ops");
}

async fn teams_may_have_the_same_name_and_then_differ_in_their_slugs(app: App) {
    let alice = app.person("alice").await;
    alice.post(TEAMS, &json!({ "name": "Ops" })).await.is(201);

    let second = alice.post(TEAMS, &json!({ "name": "Ops" })).await.is(201).json();

    let suffix = second["slug"].as_str().unwrap().strip_prefix("ops-").unwrap();
    assert!(suffix.len() == 4 && suffix.chars().all(|c| c.is_ascii_lowercase()));
}

async fn a_team_never_has_the_slug_of_a_deleted_team_or_environment(app: App) {
    let alice = app.person("alice").await;
    let reserved = format!("deleted-{}", alice.team.replace('-', ""));

    let team = alice.post(TEAMS, &json!({ "name": reserved })).await.is(201).json();

    let slug = team["slug"].as_str().unwrap();
    assert!(slug.starts_with(&reserved) && slug.len() == reserved.len() + 5, "{slug}");
}

async fn the_list_holds_the_teams_of_the_caller_and_no_others(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.wait(TimeDelta::seconds(1));
    let ops = alice.post(TEAMS, &json!({ "name": "Ops" })).await.is(201).json();
    bob.post(TEAMS, &json!({ "name": "Bob's" })).await.is(201);

    let list = alice.get(TEAMS).await.is(200).json();

    assert_eq!(names(&list["teams"]), ["alice's Team", "Ops"]);
    let one = alice.get(&format!("{TEAMS}/{}", ops["id"].as_str().unwrap())).await.is(200).json();
    assert_eq!(list, json!({ "teams": [list["teams"][0], one] }));
}

async fn every_member_sees_all_members_and_their_own_role(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;

    let team = bob.get(&format!("{TEAMS}/{}", alice.team)).await.is(200).json();

    assert_eq!((&team["role"], &team["member_count"]), (&json!("member"), &json!(2)));
    assert_eq!(names(&team["members"]), ["alice", "bob"]);
    assert_eq!(team["members"][1]["joined_at"], "2026-11-21T12:00:11Z");
}

async fn another_team_is_403(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);

    let reply = bob.get(&format!("{TEAMS}/{}", alice.team)).await;

    let error = "you are not a member of this team";
    assert_eq!(reply.is(403).json(), json!({ "error": error, "code": "forbidden" }));
}

async fn an_unknown_team_is_404(app: App) {
    let alice = app.person("alice").await;

    for id in ["0190f1f3-7b1c-7000-8000-000000000000", "ops", "1"] {
        let reply = alice.get(&format!("{TEAMS}/{id}")).await;

        assert_eq!(reply.is(404).json(), json!({ "error": "team not found", "code": "not_found" }));
    }
}

async fn new_teams_are_on_the_plan_the_operator_chose(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;

    let team = alice.post(TEAMS, &json!({ "name": "Ops" })).await.is(201).json();

    assert_eq!(team["plan"], "free");
    let personal = alice.get(&format!("{TEAMS}/{}", alice.team)).await.is(200).json();
    assert_eq!(personal["plan"], "free");
}

in_memory_and_on_postgres![
    a_created_team_is_answered,
    the_creator_of_a_team_is_its_owner,
    a_team_has_a_name_of_1_to_100_characters,
    a_team_needs_a_name_that_is_text,
    space_around_a_name_is_cut_off,
    teams_may_have_the_same_name_and_then_differ_in_their_slugs,
    a_team_never_has_the_slug_of_a_deleted_team_or_environment,
    the_list_holds_the_teams_of_the_caller_and_no_others,
    every_member_sees_all_members_and_their_own_role,
    another_team_is_403,
    an_unknown_team_is_404;
    new_teams_are_on_the_plan_the_operator_chose,
];
