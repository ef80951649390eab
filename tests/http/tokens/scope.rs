//! Tests of the scopes of service tokens (the projects and environments that a token may access).

use secrets_tests::{App, Client, in_memory_and_on_postgres, paths};
use serde_json::json;

use super::TOKENS;

async fn projects_are_given_by_id_or_slug_and_kept_by_id(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    let (web, shop) = (paths::last(&web), paths::last(&shop));

    let body = json!({ "name": "test", "project_ids": ["web", shop, web] });
    let token = alice.post(TOKENS, &body).await.is(201).json();

    let mut ids = [web, shop];
    ids.sort_unstable();
    assert_eq!(token["project_ids"], json!(ids));
}

async fn a_project_that_is_not_the_teams_is_400_and_named_with_its_place(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    alice.project("Web").await;
    bob.project("Shop").await;
    let gone = alice.project("Gone").await;
    alice.delete(&gone).await.is(204);

    for project in ["shop", "none", "gone", "0190f1f3-7b1c-7000-8000-000000000000"] {
        let body = json!({ "name": "test", "project_ids": ["web", project] });
        let reply = alice.post(TOKENS, &body).await;

        reply.is(400).says("project_ids[1] must be a project of the token's team");
    }
}

async fn a_token_whose_environments_were_deleted_is_not_shown_as_unlimited(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "trial", None).await;
    let limited = json!({ "project_ids": ["web"], "environments": ["trial"] });
    let limited = app.bearer(&alice.token(&limited).await);
    let unlimited = app.bearer(&alice.token(&json!({ "project_ids": ["web"] })).await);

    alice.delete(&paths::environment(&web, "trial")).await.is(204);

    let shown = async |token: &Client| {
        let me = token.get("/api/v1/users/me").await.is(200).json();
        me.get("environment_ids").cloned()
    };
    assert_eq!(shown(&limited).await, Some(json!([])));
    assert_eq!(shown(&unlimited).await, None);
}

async fn a_token_names_its_projects_or_reaches_all(app: App) {
    let alice = app.person("alice").await;
    alice.project("Web").await;
    let cases = [
        (json!({}), "project_ids"),
        (json!({ "project_ids": null, "all_projects": null }), "project_ids"),
        (json!({ "project_ids": [] }), "project_ids"),
        (json!({ "project_ids": [], "all_projects": false }), "project_ids"),
        (json!({ "project_ids": ["web"], "all_projects": true }), "project_ids"),
        (json!({ "all_projects": true, "environments": ["staging"] }), "environments"),
        (json!({ "project_ids": ["web"], "environments": [] }), "environments"),
        (json!({ "project_ids": "web" }), "project_ids"),
        (json!({ "all_projects": "yes" }), "all_projects"),
    ];

    for (scope, field) in cases {
        let mut body = json!({ "name": "test" });
        body.as_object_mut().unwrap().extend(scope.as_object().unwrap().clone());
        alice.post(TOKENS, &body).await.is(400).names(field);
    }
}

/// Checks the responses to writes with a token without read access: they do not contain the
/// description of the secret, and do not say who created it.
async fn a_token_that_may_only_write_gets_no_descriptions(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let secret = json!({ "key": "KEY", "value": "kvc_old", "description": "kvc_of alice" });
    alice.post(&paths::secrets(&web, "staging"), &secret).await.is(201);
    let scope = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&scope).await);
    let key = paths::secret(&web, "staging", "KEY");

    let replaced = writer.put(&key, &json!({ "value": "kvc_new" })).await;
    let rolled_back = writer.post(&format!("{key}/rollback"), &json!({ "version": 1 })).await;

    for (reply, version) in [(replaced, 2), (rolled_back, 3)] {
        let response = reply.is(200).json();
        let secret = response.get("secret").unwrap_or(&response);
        assert_eq!(secret["version"], version);
        assert!(secret.get("description").is_none() && secret.get("created_by").is_none());
        assert!(!reply.text().contains("kvc_"));
    }
    let seen = alice.get(&key).await.is(200).json();
    assert_eq!(seen["secret"]["description"], "kvc_of alice");
}

async fn a_scope_names_a_hundred_at_most(app: App) {
    let alice = app.person("alice").await;
    alice.project("Web").await;
    let many = vec!["web"; 101];

    for (field, scope) in [
        ("project_ids", json!({ "name": "test", "project_ids": many })),
        ("environments", json!({ "name": "test", "project_ids": ["web"], "environments": many })),
    ] {
        alice.post(TOKENS, &scope).await.is(400).names(field);
    }
}

async fn all_projects_includes_later_projects(app: App) {
    let alice = app.person("alice").await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    alice.project("Web").await;

    token.get(&paths::eso_secrets("web", "staging")).await.is(200);
}

async fn all_projects_is_limited_to_the_team(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    bob.project("Shop").await;

    token.get(&paths::eso_secrets("shop", "staging")).await.is(403);
    assert_eq!(token.get("/api/v1/projects").await.is(200).json(), json!({ "projects": [] }));
}

async fn all_environments_includes_later_environments(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let token = app.bearer(&alice.token(&json!({ "project_ids": ["web"] })).await);

    alice.environment(&web, "preview", None).await;

    token.get(&paths::eso_secrets("web", "preview")).await.is(200);
}

async fn an_environment_name_means_that_of_each_project(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    alice.environment(&web, "preview", None).await;

    let scope = json!({ "project_ids": ["web", "shop"], "environments": ["staging", "preview"] });
    let token = app.bearer(&alice.token(&scope).await);

    token.get(&paths::secrets(&web, "staging")).await.is(200);
    token.get(&paths::secrets(&shop, "staging")).await.is(200);
    token.get(&paths::secrets(&web, "preview")).await.is(200);
    token.get(&paths::secrets(&shop, "production")).await.is(403);
}

async fn an_environment_that_no_project_has_is_400_and_named_with_its_place(app: App) {
    let alice = app.person("alice").await;
    alice.project("Web").await;
    let shop = alice.project("Shop").await;
    let foreign = alice.environment(&shop, "preview", None).await;

    for environment in ["preview", &foreign, "Staging", ""] {
        let body = json!({ "name": "test", "project_ids": ["web"], "environments": ["staging", environment] });
        let reply = alice.post(TOKENS, &body).await;

        reply.is(400).says("environments[1] must be an environment of one of the projects");
    }
}

/// Checks that environment names in a scope are resolved when the token is created: a later
/// environment with the same name does not belong to the scope.
async fn a_later_environment_of_the_same_name_is_not_in_scope(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    alice.environment(&web, "preview", None).await;
    let scope = json!({ "project_ids": ["web", "shop"], "environments": ["preview"] });
    let token = app.bearer(&alice.token(&scope).await);

    alice.environment(&shop, "preview", None).await;

    token.get(&paths::secrets(&web, "preview")).await.is(200);
    token.get(&paths::secrets(&shop, "preview")).await.is(403);
}

async fn a_token_has_only_its_permissions(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let both = json!({ "all_projects": true, "permissions": ["read", "write"] });
    let token = app.bearer(&alice.token(&both).await);
    let path = paths::secret(&web, "staging", "KEY");

    token.get(&path).await.is(200);
    token.put(&path, &json!({ "value": "kvc_two" })).await.is(200);
    token.delete(&path).await.is(204);
    token
        .post(&paths::secrets(&web, "staging"), &json!({ "key": "NEW", "value": "kvc_new" }))
        .await
        .is(201);
    token.get(&paths::secret(&web, "staging", "export")).await.is(200);
}

in_memory_and_on_postgres![
    a_token_that_may_only_write_gets_no_descriptions,
    projects_are_given_by_id_or_slug_and_kept_by_id,
    a_project_that_is_not_the_teams_is_400_and_named_with_its_place,
    a_token_whose_environments_were_deleted_is_not_shown_as_unlimited,
    a_token_names_its_projects_or_reaches_all,
    a_scope_names_a_hundred_at_most,
    all_projects_includes_later_projects,
    all_projects_is_limited_to_the_team,
    all_environments_includes_later_environments,
    an_environment_name_means_that_of_each_project,
    an_environment_that_no_project_has_is_400_and_named_with_its_place,
    a_later_environment_of_the_same_name_is_not_in_scope,
    a_token_has_only_its_permissions,
];
