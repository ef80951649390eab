//! Tests of audit entries for changes: one entry for each change, written in the same transaction,
//! and no entry for a failed change.

use secrets_tests::{App, Build, Failing, Kind, Outage, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

/// Returns the parts of the audit entry with this action that contain no IDs: the type and the name
/// of the affected object, and the details of the action.
async fn content(app: &App, team: &str, action: &str) -> (String, Option<String>, Value) {
    let entry = app.entry(team, action).await;
    (
        entry.resource_type.into_owned(),
        entry.resource_name,
        serde_json::from_str(&entry.metadata).unwrap(),
    )
}

fn resource_entry(kind: &str, name: &str, details: Value) -> (String, Option<String>, Value) {
    (kind.to_owned(), Some(name.to_owned()), details)
}

async fn changes_of_projects_are_recorded(app: App) {
    let alice = app.person("alice").await;

    let web = alice.project("Web").await;
    alice.patch(&web, &json!({ "name": "Shop" })).await.is(200);
    alice.delete(&web).await.is(204);

    let team = &alice.team;
    assert_eq!(
        content(&app, team, "project.created").await,
        resource_entry("project", "Web", json!({}))
    );
    assert_eq!(
        content(&app, team, "project.updated").await,
        resource_entry("project", "Shop", json!({}))
    );
    assert_eq!(
        content(&app, team, "project.deleted").await,
        resource_entry("project", "Shop", json!({}))
    );
}

async fn changes_of_environments_are_recorded_with_their_parents(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    alice.environment(&web, "preview", Some("staging")).await;
    alice.delete(&paths::environment(&web, "preview")).await.is(204);

    let parent = json!({ "inherits_from": "staging" });
    let (created, deleted) = ("environment.created", "environment.deleted");
    assert_eq!(
        content(&app, &alice.team, created).await,
        resource_entry("environment", "preview", parent)
    );
    assert_eq!(
        content(&app, &alice.team, deleted).await,
        resource_entry("environment", "preview", json!({}))
    );
    let entry = app.entry(&alice.team, created).await;
    assert_eq!(entry.environment_name.as_deref(), Some("preview"));
}

async fn changes_of_secrets_are_recorded_with_their_versions(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "KEY");

    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    alice.put(&path, &json!({ "value": "kvc_two" })).await.is(200);
    alice.put(&path, &json!({ "hidden": true })).await.is(200);
    alice.delete(&path).await.is(204);

    let entry = |version: u32| resource_entry("secret", "KEY", json!({ "version": version }));
    for (action, version) in
        [("secret.created", 1), ("secret.updated", 2), ("secret.hidden", 3), ("secret.deleted", 3)]
    {
        assert_eq!(content(&app, &alice.team, action).await, entry(version), "{action}");
    }
}

async fn a_secret_created_hidden_is_recorded_as_hidden(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let hide = json!({ "key": "KEY", "hidden": true });
    alice.post(&paths::secrets(&web, "staging"), &hide).await.is(201);

    let entry = resource_entry("secret", "KEY", json!({ "version": 1 }));
    assert_eq!(content(&app, &alice.team, "secret.hidden").await, entry);
}

async fn an_import_is_one_entry_with_its_counts(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "A", "kvc_a").await;

    let secrets = json!([{ "key": "A", "value": "kvc_a" }, { "key": "B", "value": "kvc_b" }]);
    alice
        .post(&paths::secret(&web, "staging", "bulk"), &json!({ "secrets": secrets }))
        .await
        .is(200);

    let (_, _, details) = content(&app, &alice.team, "secrets.imported").await;
    assert_eq!(details, json!({ "created": 1, "updated": 0, "skipped": 1 }));
}

async fn changes_of_tokens_and_teams_are_recorded(app: App) {
    let alice = app.person("alice").await;

    let body = json!({ "name": "deploy", "all_projects": true });
    let token = alice.post("/api/v1/tokens", &body).await.is(201).json();
    alice.delete(&format!("/api/v1/tokens/{}", token["id"].as_str().unwrap())).await.is(204);
    let ops = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).json();

    let deploy = resource_entry("service_token", "deploy", json!({}));
    assert_eq!(content(&app, &alice.team, "token.created").await, deploy);
    assert_eq!(content(&app, &alice.team, "token.deleted").await, deploy);
    let team = ops["id"].as_str().unwrap();
    assert_eq!(content(&app, team, "team.created").await, resource_entry("team", "Ops", json!({})));
}

/// Checks that a change leaves no audit entry if it fails for a reason other than a missing
/// permission. Changes without permission are recorded as denied (see `limits/refusals.rs`).
async fn a_change_that_fails_is_not_recorded(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    alice.project("Two").await;
    alice.project("Three").await;
    let before = app.actions(&alice.team).await;

    let (secrets, key) = (paths::secrets(&web, "staging"), paths::secret(&web, "staging", "KEY"));
    alice.post(&secrets, &json!({ "key": "1", "value": "kvc_x" })).await.is(400);
    alice.post(&secrets, &json!({ "key": "KEY", "value": "kvc_x" })).await.is(409);
    alice.put(&key, &json!({ "value": "kvc_x", "expected_version": 7 })).await.is(409);
    alice.delete(&paths::secret(&web, "staging", "NONE")).await.is(404);
    alice.delete(&paths::environment(&web, "staging")).await.is(400);
    alice.post("/api/v1/projects", &json!({ "name": "Four" })).await.is(429);

    assert_eq!(app.actions(&alice.team).await, before);
}

async fn a_change_that_cannot_be_recorded_does_not_happen(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let outage = Outage::of(&app.store);
    let server = app.over(outage.clone()).await;
    let (there, jwt) = (paths::secrets(&web, "staging"), app.jwt("alice"));

    outage.begin(Failing::Writes);
    let body = json!({ "key": "KEY", "value": "kvc_value" });
    let reply = server.bearer(&jwt).post(&there, &body).await;

    reply.is(503).code("unavailable");
    alice.get(&paths::secret(&web, "staging", "KEY")).await.is(404);
}

in_memory_and_on_postgres![
    changes_of_projects_are_recorded,
    changes_of_environments_are_recorded_with_their_parents,
    changes_of_secrets_are_recorded_with_their_versions,
    a_secret_created_hidden_is_recorded_as_hidden,
    an_import_is_one_entry_with_its_counts,
    changes_of_tokens_and_teams_are_recorded,
    a_change_that_cannot_be_recorded_does_not_happen;
    a_change_that_fails_is_not_recorded,
];
