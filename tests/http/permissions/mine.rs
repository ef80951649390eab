//! Tests of the endpoint `GET /api/v1/projects/{projectId}/my-permissions`.

use secrets_core::engine::Options;
use secrets_core::model::MemberAccess;
use secrets_tests::{App, Build, Kind, STARTED, in_memory_and_on_postgres};
use serde_json::{Value, json};

use super::Team;

fn roles(mine: &Value) -> Vec<(&str, &str)> {
    let text = |value: &'_ Value, key| value[key].as_str().unwrap().to_owned().leak() as &str;
    let all = mine["permissions"].as_array().unwrap();
    all.iter().map(|one| (text(one, "environment_name"), text(one, "role"))).collect()
}

async fn a_caller_reads_their_permission_for_each_environment(app: App) {
    let team = Team::of(&app).await;
    team.grant("production", "none").await;
    let path = format!("{}/my-permissions", team.web);

    let mine = team.bob.get(&path).await.is(200).json();

    assert_eq!(mine["is_team_admin"], false);
    let expected = [("development", "write"), ("staging", "write"), ("production", "none")];
    assert_eq!(roles(&mine), expected);
    let barred = &mine["permissions"][2];
    assert_eq!(
        [&barred["can_read"], &barred["can_write"], &barred["can_admin"]],
        [&json!(false); 3]
    );
    assert_eq!(barred["granted_by"], team.alice.id);
    let free = &mine["permissions"][0];
    assert_eq!([&free["can_read"], &free["can_write"]], [&json!(true); 2]);
    assert_eq!([&free["can_admin"], &free["granted_by"]], [&json!(false), &Value::Null]);
    assert_eq!(
        [&free["user_id"], &free["user_email"]],
        [&json!(team.bob.id), &json!("bob@example.com")]
    );
}

async fn owners_and_admins_may_do_everything(app: App) {
    let team = Team::of(&app).await;

    let mine = team.alice.get(&format!("{}/my-permissions", team.web)).await.is(200).json();

    assert_eq!(mine["is_team_admin"], true);
    let expected = [("development", "admin"), ("staging", "admin"), ("production", "admin")];
    assert_eq!(roles(&mine), expected);
    assert!(mine["permissions"][0]["created_at"].as_str().unwrap() >= STARTED);
}

async fn a_service_token_reads_its_permissions(app: App) {
    let team = Team::of(&app).await;
    let slug = secrets_tests::paths::last(&team.web);
    let everywhere = ["development", "staging", "production"];
    let cases = [
        (json!({ "permissions": ["read"] }), &everywhere[..], (true, false)),
        (json!({ "permissions": ["write"] }), &everywhere[..], (false, true)),
        (json!({ "permissions": ["read", "write"] }), &everywhere[..], (true, true)),
        (json!({ "environments": ["staging"] }), &everywhere[1..2], (true, false)),
    ];

    for (mut body, environments, (read, write)) in cases {
        body["project_ids"] = json!([slug]);
        let token = app.bearer(&team.alice.token(&body).await);
        let mine = token.get(&format!("{}/my-permissions", team.web)).await.is(200).json();

        assert_eq!(mine["is_team_admin"], false);
        let permissions = mine["permissions"].as_array().unwrap();
        for name in environments {
            let of = |one: &&Value| one["environment_name"] == *name;
            let one = permissions.iter().find(of).unwrap();
            let may = [&one["can_read"], &one["can_write"], &one["can_admin"]];
            assert_eq!(may, [&json!(read), &json!(write), &json!(false)], "{body}");
        }
        let may = |one: &&Value| one["can_read"] == true || one["can_write"] == true;
        assert_eq!(permissions.iter().filter(may).count(), environments.len(), "{body}");
    }
}

async fn a_permission_has_the_same_id_in_every_response(app: App) {
    let team = Team::of(&app).await;
    let before = team.mine("staging").await;

    let said = team.grant("staging", "read").await;
    let again = team.grant("staging", "admin").await;

    for other in [&said, &again, &team.mine("staging").await] {
        assert_eq!(other["id"], before["id"]);
    }
    assert_ne!(team.mine("production").await["id"], before["id"]);
}

async fn the_operators_default_applies_without_a_permission(kind: Kind) {
    let options = Options { member_access: MemberAccess::Read, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let team = Team::of(&app).await;
    team.grant("staging", "admin").await;

    assert_eq!(team.mine("production").await["role"], "read");
    assert_eq!(team.mine("staging").await["role"], "admin");
}

in_memory_and_on_postgres![
    a_caller_reads_their_permission_for_each_environment,
    owners_and_admins_may_do_everything,
    a_service_token_reads_its_permissions,
    a_permission_has_the_same_id_in_every_response;
    the_operators_default_applies_without_a_permission,
];
