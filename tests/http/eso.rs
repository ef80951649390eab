//! Tests of `/api/v1/eso/secret` and `/api/v1/eso/secrets`, the endpoints from which the External
//! Secrets Operator for Kubernetes reads secrets.

mod manifests;
mod operator;

use secrets_core::model::{Clock as _, EnvironmentId, ids};
use secrets_core::store::EnvironmentRecord;
use secrets_tests::{App, Client, Person, canary, in_memory_and_on_postgres, paths};
use serde_json::json;

const ONE: &str = "/api/v1/eso/secret";
const ALL: &str = "/api/v1/eso/secrets";

/// Creates a project of the user Alice, in which the environment `child` inherits from
/// `production`, and a service token that can read the whole project.
async fn world(app: &App) -> (Person, String, Client) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "child", Some("production")).await;
    let token = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    (alice, web, token)
}

async fn one_secret_is_its_value(app: App) {
    let (alice, web, token) = world(&app).await;
    alice.secret(&web, "production", "KEY", &canary("eso")).await;

    let reply = token.get(&paths::eso_secret("web", "production", "KEY")).await;

    assert_eq!(reply.is(200).json(), json!({ "value": canary("eso") }));
}

async fn all_secrets_are_values_by_key(app: App) {
    let (alice, web, token) = world(&app).await;
    alice.secret(&web, "production", "B", &canary("b")).await;
    alice.secret(&web, "production", "A", "").await;

    let reply = token.get(&paths::eso_secrets("web", "production")).await;

    assert_eq!(reply.is(200).json(), json!({ "secrets": { "A": "", "B": canary("b") } }));
}

async fn an_environment_without_secrets_is_an_empty_map(app: App) {
    let (_alice, _web, token) = world(&app).await;

    let reply = token.get(&paths::eso_secrets("web", "production")).await;

    assert_eq!(reply.is(200).json(), json!({ "secrets": {} }));
}

async fn project_and_environment_are_given_by_id_or_name(app: App) {
    let (alice, web, token) = world(&app).await;
    let id = alice.get(&paths::environment(&web, "production")).await.is(200).json()["id"].clone();
    alice.secret(&web, "production", "KEY", "kvc_value").await;

    for project in ["web", paths::last(&web)] {
        for environment in ["production", id.as_str().unwrap()] {
            token.get(&paths::eso_secret(project, environment, "KEY")).await.is(200);
            token.get(&paths::eso_secrets(project, environment)).await.is(200);
        }
    }
}

async fn the_query_is_form_encoded(app: App) {
    let (alice, web, token) = world(&app).await;
    alice.secret(&web, "production", "A.B-C", "kvc_value").await;

    let encoded = token.get(&format!("{ONE}?project=%77eb&env=production&key=A%2EB%2dC")).await;
    let space = token.get(&format!("{ONE}?project=web&env=production&key=A.B-C+")).await;

    encoded.is(200);
    space.is(404).says("secret not found");
}

async fn a_secret_that_is_not_in_the_environment_is_looked_for_in_its_ancestors(app: App) {
    let (alice, web, token) = world(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_parent").await;

    let reply = token.get(&paths::eso_secret("web", "child", "KEY")).await;

    assert_eq!(reply.is(200).json(), json!({ "value": "kvc_parent" }));
}

async fn a_child_overrides_its_parent(app: App) {
    let (alice, web, token) = world(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_parent").await;
    alice.secret(&web, "production", "FAR", "kvc_far").await;
    alice.secret(&web, "child", "KEY", "kvc_child").await;

    let one = token.get(&paths::eso_secret("web", "child", "KEY")).await;
    let all = token.get(&paths::eso_secrets("web", "child")).await;

    assert_eq!(one.is(200).json(), json!({ "value": "kvc_child" }));
    let secrets = json!({ "FAR": "kvc_far", "KEY": "kvc_child" });
    assert_eq!(all.is(200).json(), json!({ "secrets": secrets }));
}

async fn a_hidden_secret_is_left_out_and_404(app: App) {
    let (alice, web, token) = world(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_parent").await;
    let hide = json!({ "key": "KEY", "hidden": true });
    alice.post(&paths::secrets(&web, "child"), &hide).await.is(201);

    let one = token.get(&paths::eso_secret("web", "child", "KEY")).await;
    let all = token.get(&paths::eso_secrets("web", "child")).await;

    assert_eq!(one.is(404).json(), json!({ "error": "secret not found", "code": "not_found" }));
    assert_eq!(all.is(200).json(), json!({ "secrets": {} }));
}

async fn a_person_is_403_before_anything_else(app: App) {
    let (alice, web, _token) = world(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    let unsynced = app.bearer(&app.jwt("nobody"));
    let body = json!({ "error": "only a service token may do this", "code": "forbidden" });
    let paths = [
        ONE.to_owned(),
        ALL.to_owned(),
        paths::eso_secret("web", "production", "KEY"),
        paths::eso_secrets("none", "none"),
    ];

    for path in paths {
        assert_eq!(alice.get(&path).await.is(403).json(), body);
        assert_eq!(unsynced.get(&path).await.is(403).json(), body);
    }
}

async fn a_missing_or_invalid_credential_is_401_before_anything_else(app: App) {
    for path in [ONE, ALL] {
        app.anonymous().get(path).await.is(401);
        app.bearer("env_nonsense").get(path).await.is(401);
    }
}

async fn a_missing_parameter_is_400_and_named(app: App) {
    let (_alice, _web, token) = world(&app).await;
    let missing = [
        (format!("{ONE}?env=production&key=KEY"), "project"),
        (format!("{ONE}?project=web&key=KEY"), "env"),
        (format!("{ONE}?project=web&env=production"), "key"),
        (format!("{ONE}?project=web&env=production&key="), "key"),
        (format!("{ALL}?env=production"), "project"),
        (format!("{ALL}?project=web"), "env"),
        (format!("{ALL}?PROJECT=web&env=production"), "project"),
    ];

    for (path, name) in missing {
        let reply = token.get(&path).await;

        let message = "is a required query parameter";
        assert_eq!(
            reply.is(400).json(),
            json!({
                "error": format!("{name} {message}"),
                "code": "invalid_request",
                "details": { "fields": [{ "field": name, "message": message }] },
            })
        );
    }
}

async fn all_missing_parameters_are_named(app: App) {
    let (_alice, _web, token) = world(&app).await;

    let reply = token.get(ONE).await;

    reply.is(400).names("project").names("env").names("key");
}

async fn a_parameter_is_given_once(app: App) {
    let (_alice, _web, token) = world(&app).await;

    let reply = token.get(&format!("{ALL}?project=web&project=shop&env=production")).await;

    reply.is(400).says("project must be given once");
}

async fn unknown_parameters_are_ignored(app: App) {
    let (_alice, _web, token) = world(&app).await;

    token.get(&format!("{ALL}?project=web&env=production&version=7&version=8")).await.is(200);
}

async fn circular_inheritance_is_400(app: App) {
    let (_alice, web, token) = world(&app).await;
    let id = EnvironmentId::draw(app.clock.now());
    let circular = EnvironmentRecord {
        id,
        project: ids::parse(paths::last(&web)).unwrap().into(),
        name: "circular".parse().unwrap(),
        inherits_from: Some(id),
        description: None,
        is_default: false,
        position: 9,
        revision: 0,
        created_by: None,
        created_at: app.clock.now(),
        updated_at: app.clock.now(),
    };
    let mut tx = app.store.begin().await.unwrap();
    tx.insert_environment(&circular).await.unwrap();
    tx.commit().await.unwrap();

    let error = "environments inherit from each other in a circle";
    let body = json!({ "error": error, "code": "circular_inheritance" });
    let replies = [
        token.get(&paths::eso_secret("web", "circular", "KEY")).await,
        token.get(&paths::eso_secrets("web", "circular")).await,
        token.get(&paths::secret(&web, "circular", "KEY")).await,
    ];
    for reply in replies {
        assert_eq!(reply.is(400).json(), body);
    }
}

async fn a_token_without_access_to_the_project_is_403(app: App) {
    let (alice, web, _token) = world(&app).await;
    alice.project("Shop").await;
    let bob = app.person("bob").await;
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    let shop = app.bearer(&alice.token(&json!({ "project_ids": ["shop"] })).await);
    let other_team = app.bearer(&bob.token(&json!({ "all_projects": true })).await);
    let body = json!({ "error": "outside of this token's scope", "code": "forbidden" });

    for token in [shop, other_team] {
        for environment in ["production", "none"] {
            assert_eq!(
                token.get(&paths::eso_secrets("web", environment)).await.is(403).json(),
                body
            );
            assert_eq!(
                token.get(&paths::eso_secret("web", environment, "KEY")).await.is(403).json(),
                body
            );
        }
    }
}

async fn an_environment_outside_of_the_scope_is_403(app: App) {
    let (alice, web, _token) = world(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    let scope = json!({ "project_ids": ["web"], "environments": ["child"] });
    let token = app.bearer(&alice.token(&scope).await);

    token.get(&paths::eso_secret("web", "production", "KEY")).await.is(403);
    token.get(&paths::eso_secrets("web", "production")).await.is(403);

    token.get(&paths::eso_secret("web", "child", "KEY")).await.is(200);
}

async fn an_unknown_project_or_environment_is_404(app: App) {
    let (_alice, _web, token) = world(&app).await;
    let uuid = "0190f1f3-7b1c-7000-8000-000000000000";

    for (project, environment, error) in [
        ("none", "production", "project not found"),
        (uuid, "production", "project not found"),
        ("web", "none", "environment not found"),
        ("web", "Production", "environment not found"),
        ("web", uuid, "environment not found"),
    ] {
        let body = json!({ "error": error, "code": "not_found" });
        let one = token.get(&paths::eso_secret(project, environment, "KEY")).await;
        let all = token.get(&paths::eso_secrets(project, environment)).await;

        assert_eq!((one.is(404).json(), all.is(404).json()), (body.clone(), body));
    }
}

async fn an_unknown_secret_is_404_in_its_ancestors_too(app: App) {
    let (alice, web, token) = world(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_parent").await;
    alice.secret(&web, "staging", "OTHER", "kvc_other").await;
    let body = json!({ "error": "secret not found", "code": "not_found" });

    for key in ["NONE", "key", "OTHER", "1KEY", "K%25EY"] {
        let reply = token.get(&paths::eso_secret("web", "child", key)).await;
        assert_eq!(reply.is(404).json(), body);
    }
}

async fn a_token_that_may_only_write_reads_nothing(app: App) {
    let (alice, web, _token) = world(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    let scope = json!({ "all_projects": true, "permissions": ["write"] });
    let writer = app.bearer(&alice.token(&scope).await);

    writer
        .get(&paths::eso_secret("web", "production", "KEY"))
        .await
        .is(403)
        .says("this token may not read");
    writer
        .get(&paths::eso_secrets("web", "production"))
        .await
        .is(403)
        .says("this token may not read");
}

in_memory_and_on_postgres![
    one_secret_is_its_value,
    all_secrets_are_values_by_key,
    an_environment_without_secrets_is_an_empty_map,
    project_and_environment_are_given_by_id_or_name,
    the_query_is_form_encoded,
    a_secret_that_is_not_in_the_environment_is_looked_for_in_its_ancestors,
    a_child_overrides_its_parent,
    a_hidden_secret_is_left_out_and_404,
    a_person_is_403_before_anything_else,
    a_missing_or_invalid_credential_is_401_before_anything_else,
    a_missing_parameter_is_400_and_named,
    all_missing_parameters_are_named,
    a_parameter_is_given_once,
    unknown_parameters_are_ignored,
    circular_inheritance_is_400,
    a_token_without_access_to_the_project_is_403,
    an_environment_outside_of_the_scope_is_403,
    an_unknown_project_or_environment_is_404,
    an_unknown_secret_is_404_in_its_ancestors_too,
    a_token_that_may_only_write_reads_nothing,
];
