//! Tests of plan limits with concurrent requests: a limit is never exceeded, and it can be used up
//! completely.

use secrets_core::engine::Options;
use secrets_core::model::{Plan, Plans, Quota, TeamId, ids};
use secrets_core::store::Reads;
use secrets_tests::{App, Build, Kind, Person, Reply, paths};
use serde_json::{Value, json};

use super::{CROWD, Crowd, count, outcome};

/// Maximum total size of a team's secrets in the plan `small`, in bytes.
const STORED_BYTES: u64 = 8_192;

async fn a_team_never_has_more_projects_than_its_plan_allows(kind: Kind) {
    let (app, person) = free(kind).await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;
    let team = person.team.clone();

    let replies = crowd
        .race(|number, client| {
            let body = json!({ "name": format!("Project {number}"), "team_id": team });
            async move { client.post("/api/v1/projects", &body).await }
        })
        .await;

    outcome(&replies, (201, 3), (429, 61));
    limits(&replies, "projects", 3);
    let count = reads(&app).await.count_projects(team_id(&person)).await.unwrap();
    assert_eq!(count, 3);
}

async fn a_project_never_has_more_environments_than_its_plan_allows(kind: Kind) {
    let (app, person) = free(kind).await;
    let project = person.project("web").await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let path = paths::environments(&project);
            let body = json!({ "name": format!("env-{number}") });
            async move { client.post(&path, &body).await }
        })
        .await;

    outcome(&replies, (201, 2), (429, 62));
    limits(&replies, "environments", 5);
    let listed = person.get(&paths::environments(&project)).await.json();
    assert_eq!(listed["environments"].as_array().unwrap().len(), 5);
}

async fn an_environment_never_has_more_secrets_than_its_plan_allows(kind: Kind) {
    let (app, person) = free(kind).await;
    let project = person.project("web").await;
    fill(&person, &project, 218).await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let path = paths::secrets(&project, "development");
            let body = json!({ "key": format!("RACE_{number}"), "value": "kvc_race" });
            async move { client.post(&path, &body).await }
        })
        .await;

    outcome(&replies, (201, 32), (429, 32));
    limits(&replies, "secrets", 250);
    assert_eq!(secrets(&app, &project).await, 250);
}

async fn an_import_fits_into_the_plan_or_imports_nothing(kind: Kind) {
    let (app, person) = free(kind).await;
    let project = person.project("web").await;
    fill(&person, &project, 218).await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let path = format!("{}/bulk", paths::secrets(&project, "development"));
            let body = import(&format!("RACE_{number}"), 10);
            async move { client.post(&path, &body).await }
        })
        .await;

    outcome(&replies, (200, 3), (429, 61));
    assert_eq!(secrets(&app, &project).await, 248);
}

async fn a_team_never_has_more_tokens_than_its_plan_allows(kind: Kind) {
    let (app, person) = free(kind).await;
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;
    let team = person.team.clone();

    let replies = crowd
        .race(|number, client| {
            let name = format!("token {number}");
            let body = json!({ "name": name, "team_id": team, "all_projects": true });
            async move { client.post("/api/v1/tokens", &body).await }
        })
        .await;

    outcome(&replies, (201, 5), (429, 59));
    limits(&replies, "service_tokens", 5);
    let count = reads(&app).await.count_tokens(team_id(&person)).await.unwrap();
    assert_eq!(count, 5);
}

async fn the_secrets_of_a_team_are_never_larger_than_its_plan_allows(kind: Kind) {
    fill_up(kind, |project, environment, secret| (paths::secrets(project, environment), secret))
        .await;
}

async fn change_sets_never_make_the_secrets_of_a_team_larger_than_its_plan_allows(kind: Kind) {
    fill_up(kind, |project, environment, mut change| {
        change["environment"] = environment.into();
        change["action"] = "set".into();
        (format!("{project}/changes"), json!({ "changes": [change] }))
    })
    .await;
}

secrets_tests::on_every_store!(;
    a_team_never_has_more_projects_than_its_plan_allows,
    a_project_never_has_more_environments_than_its_plan_allows,
    an_environment_never_has_more_secrets_than_its_plan_allows,
    an_import_fits_into_the_plan_or_imports_nothing,
    a_team_never_has_more_tokens_than_its_plan_allows,
    the_secrets_of_a_team_are_never_larger_than_its_plan_allows,
    change_sets_never_make_the_secrets_of_a_team_larger_than_its_plan_allows,
);

/// Creates secrets in eight environments at the same time, more than the plan of the team allows,
/// and asserts that the plan is used up and not exceeded. `request` returns the URL path and the
/// body of the request that creates a secret, for the path of the project, the name of the
/// environment, and the key and value of the secret.
async fn fill_up(kind: Kind, request: impl Fn(&str, &str, Value) -> (String, Value)) {
    let plan = Plan::new("small".parse().unwrap(), [(Quota::StoredBytes, STORED_BYTES)]).unwrap();
    let plans = Plans::with([plan]).by_default("small").unwrap();
    let app = Build::on(kind).options(Options { plans, ..Options::default() }).start().await;
    let person = app.person("ann").await;
    let project = person.project("web").await;
    for number in 0..8 {
        person.environment(&project, &format!("env-{number}"), None).await;
    }
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let environment = format!("env-{}", number % 8);
            let value = "kvc_race".repeat(60);
            let secret = json!({ "key": format!("RACE_{number}"), "value": value });
            let (path, body) = request(&project, &environment, secret);
            async move { client.post(&path, &body).await }
        })
        .await;

    let created = count(&replies, 200) + count(&replies, 201);
    let used = reads(&app).await.stored_bytes(team_id(&person)).await.unwrap();
    // All secrets have the same size.
    let size = used / created as u64;
    assert!(used <= STORED_BYTES && used + size > STORED_BYTES, "{created} secrets, {used} bytes");
    assert_eq!(created + count(&replies, 429), CROWD);
    for refused in replies.iter().filter(|reply| reply.status == 429) {
        assert_eq!(refused.code("plan_limit_exceeded").json()["resource"], "stored_bytes");
    }
}

/// Starts a server whose new teams have the smallest plan (`free`), and signs in a user.
async fn free(kind: Kind) -> (App, Person) {
    let app = Build::on(kind).plan("free").start().await;
    let person = app.person("ann").await;
    (app, person)
}

async fn reads(app: &App) -> Box<dyn Reads> {
    app.store.read().await.unwrap()
}

fn team_id(person: &Person) -> TeamId {
    ids::parse(&person.team).unwrap().into()
}

/// Asserts that each reply with status 429 is the error of a plan limit that is used up, with this
/// resource and limit.
fn limits(replies: &[Reply], resource: &str, limit: u64) {
    for reply in replies.iter().filter(|reply| reply.status == 429) {
        let json = reply.code("plan_limit_exceeded").json();
        assert_eq!(json["resource"], resource);
        assert_eq!([&json["limit"], &json["current"]], [limit, limit]);
    }
}

/// Returns a request body that imports this number of secrets, whose keys begin with this prefix.
fn import(prefix: &str, number: usize) -> Value {
    let secret = |index| json!({ "key": format!("{prefix}_{index}"), "value": "kvc_race" });
    json!({ "secrets": (0..number).map(secret).collect::<Vec<_>>() })
}

/// Imports this number of secrets into the environment `development`.
async fn fill(person: &Person, project: &str, number: usize) {
    let path = format!("{}/bulk", paths::secrets(project, "development"));
    for start in (0..number).step_by(100) {
        let body = import(&format!("FILL_{start}"), (number - start).min(100));
        person.post(&path, &body).await.is(200);
    }
}

/// Returns the number of secrets in the environment `development`, counted in the store.
async fn secrets(app: &App, project: &str) -> u64 {
    let environment = app.resolve_environment(project, "development").await.chain[0].environment.id;
    reads(app).await.count_secrets(environment).await.unwrap()
}
