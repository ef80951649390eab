//! Tests of listing and reading projects.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

use super::PROJECTS;

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

async fn the_list_has_the_projects_of_the_callers_teams_oldest_first(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    bob.project("First").await;
    app.wait(TimeDelta::seconds(1));
    let created = alice.post(PROJECTS, &json!({ "name": "Second" })).await.is(201).json();
    app.wait(TimeDelta::seconds(1));
    bob.project("Third").await;

    let (all, own) =
        (bob.get(PROJECTS).await.is(200).json(), alice.get(PROJECTS).await.is(200).json());

    assert_eq!(names(&all["projects"]), ["First", "Second", "Third"]);
    assert_eq!(own, json!({ "projects": [created] }));
}

async fn a_token_lists_the_projects_of_its_scope(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.project("Shop").await;
    let token = app.bearer(&alice.token(&json!({ "project_ids": [paths::last(&web)] })).await);

    let list = token.get(PROJECTS).await.is(200).json();

    assert_eq!(names(&list["projects"]), ["Web"]);
}

async fn a_project_is_read_with_its_environments(app: App) {
    let alice = app.person("alice").await;
    let created = alice.post(PROJECTS, &json!({ "name": "Web" })).await.is(201).json();
    let path = format!("{PROJECTS}/{}", created["id"].as_str().unwrap());
    let environments = alice.get(&paths::environments(&path)).await.is(200).json();

    let project = alice.get(&path).await.is(200).json();

    let mut expected = created;
    expected["environments"] = environments["environments"].clone();
    assert_eq!(names(&expected["environments"]), ["development", "staging", "production"]);
    assert_eq!(project, expected);
}

async fn a_project_is_named_by_its_id_or_its_slug(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let by_id = alice.get(&web).await.is(200).json();
    let by_slug = alice.get(&format!("{PROJECTS}/web")).await.is(200).json();
    let by_capitals =
        alice.get(&web.replace(paths::last(&web), &paths::last(&web).to_uppercase())).await;

    assert_eq!(by_id, by_slug);
    assert_eq!(by_id, by_capitals.is(200).json());
}

async fn an_unknown_project_is_404(app: App) {
    let alice = app.person("alice").await;
    alice.project("Web").await;
    let body = json!({ "error": "project not found", "code": "not_found" });

    for name in ["none", "Web", "WEB", "we%62-", "0190f1f3-7b1c-7000-8000-000000000000"] {
        assert_eq!(alice.get(&format!("{PROJECTS}/{name}")).await.is(404).json(), body, "{name}");
    }
}

async fn another_teams_project_is_403(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let body = json!({ "error": "you are not a member of this team", "code": "forbidden" });

    for path in [web.as_str(), "/api/v1/projects/web"] {
        assert_eq!(bob.get(path).await.is(403).json(), body);
    }
}

async fn a_token_sees_only_the_environments_of_its_scope(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let shop = alice.project("Shop").await;
    let scope = json!({ "project_ids": [paths::last(&web)], "environments": ["staging"] });
    let token = app.bearer(&alice.token(&scope).await);

    let project = token.get(&web).await.is(200).json();

    assert_eq!(names(&project["environments"]), ["staging"]);
    let error = "outside of this token's scope";
    assert_eq!(
        token.get(&shop).await.is(403).json(),
        json!({ "error": error, "code": "forbidden" })
    );
}

in_memory_and_on_postgres![
    the_list_has_the_projects_of_the_callers_teams_oldest_first,
    a_token_lists_the_projects_of_its_scope,
    a_project_is_read_with_its_environments,
    a_project_is_named_by_its_id_or_its_slug,
    an_unknown_project_is_404,
    another_teams_project_is_403,
    a_token_sees_only_the_environments_of_its_scope,
];
