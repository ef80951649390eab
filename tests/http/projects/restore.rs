//! Tests of restoring deleted projects.

use secrets_core::projects;
use std::collections::BTreeSet;

use chrono::TimeDelta;
use hyper::Method;
use secrets_core::model::Role;
use secrets_core::runtime::Supervisor;
use secrets_http::routes;
use secrets_tests::{
    App, Build, Client, Kind, Person, Reply, on_every_store, on_sql_stores, paths,
};
use serde_json::{Value, json};

use super::PROJECTS;

const UNKNOWN_ID: &str = "0191d0a0-0000-7000-8000-000000000000";

fn restore(project: &str) -> String {
    format!("{project}/restore")
}

/// Returns everything that the API shows about a project: the bodies of several responses.
async fn seen(person: &Person, project: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    for path in [
        project.to_owned(),
        paths::environments(project),
        paths::secrets(project, "preview"),
        paths::secret(project, "preview", "export"),
        paths::secret(project, "staging", "KEY"),
        paths::secret(project, "staging", "KEY/history?values=true"),
    ] {
        seen.push(person.get(&path).await.is(200).json());
    }
    seen
}

/// Creates a project with objects that the API can show, such as secrets with previous versions and
/// a hidden secret.
async fn full(person: &Person) -> String {
    let project = person.project("Walked").await;
    person.environment(&project, "preview", Some("staging")).await;
    person.secret(&project, "staging", "KEY", "kvc_walk_one").await;
    let key = paths::secret(&project, "staging", "KEY");
    let change = json!({ "value": "kvc_walk_two", "description": "kvc_walk described" });
    person.put(&key, &change).await.is(200);
    let hidden = json!({ "key": "HIDDEN", "hidden": true });
    person.post(&paths::secrets(&project, "preview"), &hidden).await.is(201);
    project
}

async fn a_restored_project_is_unchanged(app: App) {
    let alice = app.person("alice").await;
    let web = full(&alice).await;
    let before = seen(&alice, &web).await;
    alice.delete(&web).await.is(204);
    app.wait(TimeDelta::days(29));
    let alice = app.person("alice").await;

    let restored = alice.post(&restore(&web), &json!({})).await.is(200).json();

    let mut after = seen(&alice, &web).await;
    assert_eq!(restored["updated_at"], "2026-12-20T12:00:10Z");
    after[0]["updated_at"] = before[0]["updated_at"].clone();
    assert_eq!(after, before);
    alice.get("/api/v1/projects/walked").await.is(200);
    assert_eq!(alice.get(PROJECTS).await.json()["projects"].as_array().unwrap().len(), 1);
    let entry = app.entry(&alice.team, "project.restored").await;
    assert_eq!(entry.project_name.as_deref(), Some("Walked"));
    alice.secret(&web, "preview", "NEW", "kvc_new").await;
}

async fn a_token_that_named_the_project_does_not_reach_it_again(app: App) {
    let alice = app.person("alice").await;
    let web = full(&alice).await;
    let named = json!({ "project_ids": [paths::last(&web)] });
    let one = json!({ "project_ids": [paths::last(&web)], "environments": ["staging"] });
    let [named, one] =
        [app.bearer(&alice.token(&named).await), app.bearer(&alice.token(&one).await)];
    let all = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let path = paths::eso_secret(&web, "staging", "KEY");
    for token in [&named, &one, &all] {
        token.get(&path).await.is(200);
    }
    alice.delete(&web).await.is(204);
    all.get(&path).await.is(404);

    alice.post(&restore(&web), &json!({})).await.is(200);

    named.get(&path).await.is(403);
    one.get(&path).await.is(403);
    all.get(&path).await.is(200);
}

async fn a_deleted_project_is_restored_once_by_its_id(app: App) {
    let alice = app.person("alice").await;
    let web = full(&alice).await;
    alice.post(&restore(&web), &json!({})).await.is(404).says("project not found");
    alice.delete(&web).await.is(204);

    for unknown in ["walked", "nothing", UNKNOWN_ID] {
        alice.post(&restore(&format!("{PROJECTS}/{unknown}")), &json!({})).await.is(404);
    }
    alice.post(&restore(&web), &json!({})).await.is(200);
    alice.post(&restore(&web), &json!({})).await.is(404);

    alice.delete(&web).await.is(204);
    alice.post(&restore(&web), &json!({})).await.is(200);
}

async fn only_owners_and_admins_of_the_team_restore(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (carol, dora) = (app.person("carol").await, app.person("dora").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    app.join(&alice.team, &dora.id, Role::Admin).await;
    let web = full(&alice).await;
    alice.delete(&web).await.is(204);
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    bob.post(&restore(&web), &json!({})).await.is(403);
    carol.post(&restore(&web), &json!({})).await.is(403);
    token.post(&restore(&web), &json!({})).await.is(403);
    app.anonymous().post(&restore(&web), &json!({})).await.is(401);

    alice.get(&web).await.is(404);
    dora.post(&restore(&web), &json!({})).await.is(200);
}

async fn after_thirty_days_it_is_too_late(app: App) {
    let alice = app.person("alice").await;
    let web = full(&alice).await;
    alice.delete(&web).await.is(204);

    app.wait(TimeDelta::days(30));

    let alice = app.person("alice").await;
    alice.post(&restore(&web), &json!({})).await.is(404).says("project not found");
}

async fn a_plan_must_have_room(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;
    let web = full(&alice).await;
    alice.delete(&web).await.is(204);
    let mut others = Vec::new();
    for name in ["one", "two", "three"] {
        others.push(alice.project(name).await);
    }

    alice.post(&restore(&web), &json!({})).await.is(429).code("plan_limit_exceeded");
    alice.get(&web).await.is(404);

    alice.delete(&others[0]).await.is(204);
    alice.post(&restore(&web), &json!({})).await.is(200);
}

async fn a_project_that_cannot_be_purged_is_reported_and_holds_up_no_other(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let (broken, other) = (alice.project("Broken").await, alice.project("Other").await);
    alice.environment(&broken, "kept", None).await;
    let (create, drop) = match kind {
        Kind::Postgres => (
            "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'kept'; END $$;
             CREATE TRIGGER kept BEFORE DELETE ON environments FOR EACH ROW
             WHEN (OLD.name = 'kept') EXECUTE FUNCTION keep()",
            "DROP TRIGGER kept ON environments",
        ),
        _ => (
            "CREATE TRIGGER kept BEFORE DELETE ON environments WHEN OLD.name = 'kept'
             BEGIN SELECT RAISE(ABORT, 'kept'); END",
            "DROP TRIGGER kept",
        ),
    };
    app.sql(create).await;
    for project in [&broken, &other] {
        alice.delete(project).await.is(204);
    }
    app.wait(TimeDelta::days(31));

    assert_eq!(projects::purge(app.service.engine()).await.unwrap(), 1);

    let item = ("project purge".to_owned(), paths::last(&broken).to_owned(), 1);
    assert_eq!(app.failing().await, [item]);
    app.sql(drop).await;
    assert_eq!(projects::purge(app.service.engine()).await.unwrap(), 1);
    assert_eq!(app.failing().await, []);
}

async fn a_purge_leaves_nothing_but_the_slug(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let (web, kept) = (full(&alice).await, alice.project("Kept").await);
    alice.secret(&kept, "staging", "KEY", "kvc_kept").await;
    let record = app.record(&web, "staging", "KEY").await;
    let project = secrets_core::model::ids::parse(paths::last(&web)).unwrap().into();
    alice.delete(&web).await.is(204);

    // One hour later than the last moment at which the project could be restored.
    app.wait(TimeDelta::days(30) + TimeDelta::minutes(59));
    assert_eq!(projects::purge(app.service.engine()).await.unwrap(), 0);
    app.wait(TimeDelta::minutes(2));
    assert_eq!(projects::purge(app.service.engine()).await.unwrap(), 1);
    assert_eq!(projects::purge(app.service.engine()).await.unwrap(), 0);

    let mut reads = app.store.read().await.unwrap();
    assert_eq!(reads.secret_versions(record.id, u32::MAX, 100).await.unwrap(), []);
    assert_eq!(reads.secrets(record.environment, &[record.key]).await.unwrap(), []);
    assert_eq!(reads.project_key(project, 1).await.unwrap(), None);
    let alice = app.person("alice").await;
    let again = alice.post(PROJECTS, &json!({ "name": "W", "slug": "walked" })).await;
    again.is(400).code("already_exists");
    let entry = app.entry(&alice.team, "project.purged").await;
    assert_eq!(
        (entry.actor_type.as_ref(), entry.project_name.as_deref()),
        ("system", Some("walked"))
    );
    let key = alice.get(&paths::secret(&kept, "staging", "KEY")).await.is(200).json();
    assert_eq!(key["secret"]["value"], "kvc_kept");
    alice.post(&restore(&web), &json!({})).await.is(404);
    app.restarted().await.anonymous().get("/health").await.is(200);
}

/// Checks that no endpoint shows a deleted project. The test takes the endpoints from the route
/// table, so that it includes new ones.
async fn no_endpoint_shows_a_deleted_project(app: App) {
    let alice = app.person("alice").await;
    let web = full(&alice).await;
    let names = Names::of(&alice, &web).await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let seen_before = walk(&app, &alice, &token, &names).await;
    assert!(seen_before.contains("/api/v1/projects"), "{seen_before:?}");
    assert!(seen_before.len() > 8, "{seen_before:?}");

    alice.delete(&web).await.is(204);

    let seen_after = walk(&app, &alice, &token, &names).await;
    assert_eq!(seen_after, BTreeSet::new());
    alice.post(&restore(&web), &json!({})).await.is(200);
    assert_eq!(walk(&app, &alice, &token, &names).await, seen_before);
}

/// IDs and names of a project and its objects. They are inserted into request paths, and searched
/// in responses.
struct Names {
    project: [String; 2],
    environments: [String; 2],
    team: String,
    marks: Vec<String>,
}

impl Names {
    async fn of(person: &Person, project: &str) -> Self {
        let shown = person.get(project).await.is(200).json();
        let environments = shown["environments"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let staging = environments.iter().find(|one| one["name"] == "staging").unwrap();
        let mut marks: Vec<_> = environments.iter().map(|one| text(&one["id"])).collect();
        marks.extend([text(&shown["id"]), "walked".into(), "Walked".into(), "kvc_walk".into()]);
        Self {
            project: [text(&shown["id"]), text(&shown["slug"])],
            environments: [text(&staging["id"]), "staging".into()],
            team: person.team.clone(),
            marks,
        }
    }

    /// Returns two paths with queries for a path template: one with the IDs of the project and the
    /// environment, and one with the slug and the name.
    fn paths(&self, template: &str) -> Vec<String> {
        let mut paths = Vec::new();
        for (project, environment) in self.project.iter().zip(&self.environments) {
            let path = template
                .replace("{projectId}", project)
                .replace("{environmentId}", environment)
                .replace("{teamId}", &self.team)
                .replace("{key}", "KEY");
            let path =
                path.split('/').map(|part| if part.starts_with('{') { UNKNOWN_ID } else { part });
            let path: Vec<_> = path.collect();
            let query = format!("project={project}&env={environment}&key=KEY");
            paths.push(format!("{}?{query}", path.join("/")));
        }
        paths
    }

    fn are_in(&self, reply: &Reply) -> bool {
        let text = reply.text();
        self.marks.iter().any(|mark| text.contains(mark))
    }
}

/// Sends a request to each endpoint that reads, except those that may show deleted projects.
/// Returns the path templates whose responses show data of the project. If the project is deleted,
/// also sends writes, and asserts that each request about the project is refused.
async fn walk(app: &App, alice: &Person, token: &Client, names: &Names) -> BTreeSet<&'static str> {
    let api = app.api();
    let table = routes::table(&api, &Supervisor::new(Vec::new()));
    let is_gone = alice.get(&format!("{PROJECTS}/{}", names.project[0])).await.status == 404;
    let mut found = BTreeSet::new();
    for route in &table {
        // The audit log and exports still show the past of a project, and restoring is allowed.
        let tells_the_past = ["/audit", "/data-export", "/restore"];
        if tells_the_past.iter().any(|end| route.template.ends_with(end)) {
            continue;
        }
        let is_read = route.method == Method::GET;
        let is_within = route.template.contains("{projectId}") || route.template.contains("/eso/");
        if !(is_read || is_gone && is_within) {
            continue;
        }
        for path in names.paths(route.template) {
            for client in [&**alice, token] {
                let headers = [("content-type", "application/json")];
                let body = if is_read { "" } else { BODY };
                let reply = if route.template.ends_with("/watch") {
                    client.watch(&path, &[]).await.into_reply().await
                } else {
                    client.raw(route.method.clone(), &path, &headers, body).await
                };
                if names.are_in(&reply) || (is_within && reply.status < 400) {
                    found.insert(route.template);
                }
                if is_gone && is_within {
                    let refused = [400, 403, 404].contains(&reply.status);
                    assert!(refused, "{} {path}: {}", route.method, reply.status);
                }
            }
        }
    }
    found
}

/// Request body for all endpoints that write: it has every field that one of them requires.
const BODY: &str = r#"{"name":"again","key":"NEW","value":"kvc_new","version":1,"role":"read",
    "secrets":[{"key":"NEW","value":"kvc_new"}]}"#;

on_every_store![
    a_restored_project_is_unchanged,
    a_token_that_named_the_project_does_not_reach_it_again,
    a_deleted_project_is_restored_once_by_its_id,
    only_owners_and_admins_of_the_team_restore,
    after_thirty_days_it_is_too_late,
    no_endpoint_shows_a_deleted_project;
    a_plan_must_have_room,
    a_purge_leaves_nothing_but_the_slug,
];

mod broken {
    use super::*;

    on_sql_stores![; a_project_that_cannot_be_purged_is_reported_and_holds_up_no_other];
}
