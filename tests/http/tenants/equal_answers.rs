//! Tests that responses do not reveal whether another team has an object: the response is the same
//! as for an unknown object.

use secrets_tests::{App, Client, Reply, connection, paths, postgresql};
use serde_json::{Value, json};

use super::{HERS, Twins};

/// UUID that belongs to no object.
const UNKNOWN_ID: &str = "0191d0a0-0000-7000-8000-000000000000";

async fn a_foreign_name_in_a_body_or_query_is_answered_like_an_unknown_one(app: App) {
    let twins = Twins::build(&app).await;
    let (ann, bea) = (&twins.ann, &twins.bea);
    let environment = bea.environment("development");
    let environments = paths::environments(&ann.project);
    let tokens = "/api/v1/tokens";
    let inheriting = |parent: &str| json!({ "name": "mine", "inherits_from": parent });
    let project = |team: &str| json!({ "name": "mine", "team_id": team });
    let token = |team: &str, project: &str, environment: &str| {
        json!({
            "name": "mine",
            "team_id": team,
            "project_ids": [project],
            "environments": [environment],
        })
    };
    let (team, mine) = (ann.person.team.as_str(), ann.project_id.as_str());
    let theirs = bea.person.team.as_str();

    let pairs = [
        ("/api/v1/projects", project(theirs), project(UNKNOWN_ID), 403),
        (tokens, token(theirs, mine, "staging"), token(UNKNOWN_ID, mine, "staging"), 403),
        (tokens, token(team, &bea.project_id, "staging"), token(team, UNKNOWN_ID, "staging"), 400),
        (tokens, token(team, &bea.slug, "staging"), token(team, "no-such", "staging"), 400),
        (tokens, token(team, mine, environment), token(team, mine, UNKNOWN_ID), 400),
        (tokens, token(team, mine, HERS.1), token(team, mine, "no-such"), 400),
        (&environments, inheriting(environment), inheriting(UNKNOWN_ID), 400),
        (&environments, inheriting(HERS.1), inheriting("no-such"), 400),
    ];

    for (path, foreign, unknown, status) in pairs {
        let foreign = ann.person.post(path, &foreign).await;
        let unknown = ann.person.post(path, &unknown).await;
        assert_same(path, &foreign, &unknown, status);
    }
    let foreign = ann.person.get(&format!("{tokens}?team_id={theirs}")).await;
    let unknown = ann.person.get(&format!("{tokens}?team_id={UNKNOWN_ID}")).await;
    assert_same(tokens, &foreign, &unknown, 403);
}

async fn a_foreign_environment_in_the_callers_project_is_answered_like_an_unknown_one(app: App) {
    let twins = Twins::build(&app).await;
    let (ann, bea) = (&twins.ann, &twins.bea);
    let hers = [(bea.environment("development"), UNKNOWN_ID), (HERS.1, "no-such")];

    for (foreign, unknown) in hers {
        for (method, suffix, body) in below_an_environment() {
            let path = |name| format!("{}{suffix}", paths::environment(&ann.project, name));
            for client in [&*ann.person, &ann.machine] {
                let foreign = send(client, method, &path(foreign), &body).await;
                let unknown = send(client, method, &path(unknown), &body).await;
                // Some endpoints are for users only.
                let status = if foreign.status == 403 { 403 } else { 404 };
                assert_same(suffix, &foreign, &unknown, status);
            }
        }
        let path = |name| paths::eso_secret(&ann.project, name, "SHARED");
        let foreign = ann.machine.get(&path(foreign)).await;
        let unknown = ann.machine.get(&path(unknown)).await;
        assert_same("ESO", &foreign, &unknown, 404);
    }
}

async fn answers_reveal_nothing_in_a_foreign_project(app: App) {
    let twins = Twins::build(&app).await;
    let (ann, bea) = (&twins.ann, &twins.bea);
    let real = (bea.environment("development"), HERS.0);
    let others = [("no-such", HERS.0), (UNKNOWN_ID, "NO_SUCH"), ("development", "NO_SUCH")];

    for (environment, key) in others {
        for client in [&*ann.person, &ann.machine] {
            let of =
                |(environment, key): (&str, &str)| paths::secret(&bea.project, environment, key);
            for method in ["GET", "PUT", "DELETE"] {
                let body = json!({ "value": "kvc_a_mine" });
                let real = send(client, method, &of(real), &body).await;
                let other = send(client, method, &of((environment, key)), &body).await;
                assert_same(method, &real, &other, 403);
            }
        }
        let of = |(environment, key)| paths::eso_secret(&bea.project_id, environment, key);
        let real = ann.machine.get(&of(real)).await;
        let other = ann.machine.get(&of((environment, key))).await;
        assert_same("ESO", &real, &other, 403);
    }
}

async fn a_foreign_project_that_was_deleted_is_answered_like_an_unknown_one(app: App) {
    let twins = Twins::build(&app).await;
    let (ann, bea) = (&twins.ann, &twins.bea);
    bea.person.delete(&bea.project).await.is(204);

    for foreign in [&bea.project_id, &bea.slug] {
        for suffix in ["", "/environments", "/environments/development/secrets/SHARED"] {
            let path = |project: &str| format!("/api/v1/projects/{project}{suffix}");
            for client in [&*ann.person, &ann.machine] {
                let foreign = client.get(&path(foreign)).await;
                let unknown = client.get(&path(UNKNOWN_ID)).await;
                assert_same(suffix, &foreign, &unknown, 404);
            }
        }
    }
}

secrets_tests::on_every_store!(
    a_foreign_name_in_a_body_or_query_is_answered_like_an_unknown_one,
    a_foreign_environment_in_the_callers_project_is_answered_like_an_unknown_one,
    answers_reveal_nothing_in_a_foreign_project,
    a_foreign_project_that_was_deleted_is_answered_like_an_unknown_one,
);

/// Returns requests for an environment and its contents: for each, the method, the path relative to
/// the environment, and the body.
fn below_an_environment() -> Vec<(&'static str, &'static str, Value)> {
    let secret = json!({ "key": "MINE", "value": "kvc_a_mine" });
    vec![
        ("GET", "", json!({})),
        ("DELETE", "", json!({})),
        ("GET", "/secrets", json!({})),
        ("POST", "/secrets", secret.clone()),
        ("GET", "/secrets/export", json!({})),
        ("POST", "/secrets/bulk", json!({ "secrets": [secret] })),
        ("GET", "/secrets/SHARED", json!({})),
        ("PUT", "/secrets/SHARED", json!({ "value": "kvc_a_mine" })),
        ("DELETE", "/secrets/SHARED", json!({})),
        ("GET", "/rotations", json!({})),
        ("POST", "/rotations", postgresql("mine")),
        ("POST", "/rotations/test", connection()),
        ("GET", "/rotations/shared-db", json!({})),
        ("PUT", "/rotations/shared-db", json!({ "status": "paused" })),
        ("POST", "/rotations/shared-db/rotate", json!({})),
        ("POST", "/rotations/shared-db/test", json!({})),
        ("GET", "/rotations/shared-db/history", json!({})),
        ("DELETE", "/rotations/shared-db", json!({})),
    ]
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Reply {
    client.json(method.parse().unwrap(), path, body).await
}

/// Asserts that the reply for an object of the other team and the reply for an unknown object have
/// this status and the same body.
#[track_caller]
fn assert_same(what: &str, foreign: &Reply, unknown: &Reply, status: u16) {
    assert_eq!(foreign.status, status, "{what}: {}", foreign.text());
    assert_eq!(unknown.status, status, "{what}: {}", unknown.text());
    assert_eq!(foreign.text(), unknown.text(), "{what}");
}
