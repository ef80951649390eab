//! Tests of creating environments.

use secrets_core::engine::Options;
use secrets_core::model::{Clock as _, EnvironmentId, MemberAccess, Role};
use secrets_core::store::EnvironmentRecord;
use secrets_tests::{App, Build, Kind, STARTED, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

async fn a_created_environment_is_answered(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let body = json!({ "name": "preview", "description": "For reviews" });
    let environment = alice.post(&paths::environments(&web), &body).await.is(201).json();

    assert_eq!(
        environment,
        json!({
            "id": environment["id"],
            "project_id": paths::last(&web),
            "name": "preview",
            "description": "For reviews",
            "order": 3,
            "created_at": STARTED,
            "updated_at": STARTED,
        })
    );
}

async fn an_environment_may_inherit_from_another_by_id_or_name(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();

    for (name, parent) in [("one", staging["id"].clone()), ("two", json!("staging"))] {
        let body = json!({ "name": name, "inherits_from": parent });
        let environment = alice.post(&paths::environments(&web), &body).await.is(201).json();

        assert_eq!(environment["inherits_from"], staging["id"]);
        let read = alice.get(&paths::environment(&web, name)).await.is(200).json();
        assert_eq!(read, environment);
    }
}

async fn a_project_has_at_most_500_environments(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let template = app.resolve_environment(&web, "staging").await.chain[0].environment.clone();
    let mut tx = app.store.begin().await.unwrap();
    for number in 3..499 {
        let environment = EnvironmentRecord {
            id: EnvironmentId::draw(app.clock.now()),
            name: format!("e{number}").parse().unwrap(),
            is_default: false,
            position: number,
            ..template.clone()
        };
        tx.insert_environment(&environment).await.unwrap();
    }
    tx.commit().await.unwrap();

    alice.environment(&web, "last", None).await;
    let reply = alice.post(&paths::environments(&web), &json!({ "name": "more" })).await;

    let error = "a project can have at most 500 environments";
    assert_eq!(reply.is(400).json(), json!({ "error": error, "code": "invalid_request" }));
}

async fn a_parent_is_an_environment_of_the_same_project(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    let foreign = alice.get(&paths::environment(&shop, "staging")).await.is(200).json();
    let parents = [
        foreign["id"].clone(),
        json!("none"),
        json!("Staging"),
        json!(""),
        json!("0190f1f3-7b1c-7000-8000-000000000000"),
    ];

    for parent in parents {
        let body = json!({ "name": "preview", "inherits_from": parent });
        let reply = alice.post(&paths::environments(&web), &body).await;

        reply.is(400).code("invalid_request").names("inherits_from");
    }
    alice.get(&paths::environment(&web, "preview")).await.is(404);
}

async fn a_parent_that_is_not_text_is_400_and_null_is_none(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let create = |parent: Value| json!({ "name": "preview", "inherits_from": parent });

    alice.post(&paths::environments(&web), &create(json!(7))).await.is(400).names("inherits_from");
    let reply = alice.post(&paths::environments(&web), &create(json!(null))).await;

    assert!(reply.is(201).json().get("inherits_from").is_none());
}

async fn a_name_is_64_letters_digits_underscores_and_hyphens(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let (longest, longer) = ("e".repeat(64), "e".repeat(65));

    for name in ["e", "0", "qa-1_b", "QA", longest.as_str()] {
        alice.post(&paths::environments(&web), &json!({ "name": name })).await.is(201);
    }

    let uuid = "0190f1f3-7b1c-7000-8000-000000000000";
    for name in ["", " ", "-a", "_a", "a b", "a.b", "a/b", "é", uuid, longer.as_str()] {
        let reply = alice.post(&paths::environments(&web), &json!({ "name": name })).await;
        reply.is(400).names("name");
    }
}

async fn a_name_is_required(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    for body in [json!({}), json!({ "name": null }), json!({ "name": {} })] {
        alice.post(&paths::environments(&web), &body).await.is(400).names("name");
    }
}

async fn a_name_is_unique_in_its_project_ignoring_case(app: App) {
    let alice = app.person("alice").await;
    let (web, shop) = (alice.project("Web").await, alice.project("Shop").await);
    alice.environment(&web, "preview", None).await;
    let message = "is taken already in this project";

    for name in ["preview", "PREVIEW", "Staging"] {
        let reply = alice.post(&paths::environments(&web), &json!({ "name": name })).await;

        assert_eq!(
            reply.is(400).json(),
            json!({
                "error": format!("name {message}"),
                "code": "already_exists",
                "details": { "fields": [{ "field": "name", "message": message }] },
            })
        );
    }
    alice.environment(&shop, "preview", None).await;
}

async fn a_chain_holds_16_environments(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "production", "KEY", "kvc_furthest").await;
    let mut parent = "production".to_owned();

    for name in (2..=16).map(|number| format!("e{number}")) {
        alice.environment(&web, &name, Some(&parent)).await;
        parent = name;
    }
    let body = json!({ "name": "e17", "inherits_from": parent });
    let reply = alice.post(&paths::environments(&web), &body).await;

    let error = "an inheritance chain may hold at most 16 environments";
    assert_eq!(reply.is(400).json(), json!({ "error": error, "code": "invalid_request" }));
    let secret = alice.get(&paths::secret(&web, "e16", "KEY")).await.is(200).json();
    assert_eq!(secret["secret"]["inherited_from"], "production");
}

async fn only_members_create_environments(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let body = json!({ "name": "preview" });

    bob.post(&paths::environments(&web), &body).await.is(403);
    bob.post(&paths::environments("/api/v1/projects/none"), &body).await.is(404);
    app.join(&alice.team, &bob.id, Role::Member).await;

    bob.post(&paths::environments(&web), &body).await.is(201);
}

/// Checks that a caller cannot create an environment that inherits from an environment whose
/// secrets the caller cannot read. Otherwise, the new environment would show these secrets.
async fn a_parent_must_be_one_that_the_caller_may_read(kind: Kind) {
    let options = Options { member_access: MemberAccess::None, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;

    let body = json!({ "name": "mine", "inherits_from": "staging" });
    let reply = bob.post(&paths::environments(&web), &body).await;

    let error = "you have no access to this environment";
    assert_eq!(reply.is(403).json(), json!({ "error": error, "code": "forbidden" }));
    bob.post(&paths::environments(&web), &json!({ "name": "mine" })).await.is(201);
}

in_memory_and_on_postgres![
    a_created_environment_is_answered,
    an_environment_may_inherit_from_another_by_id_or_name,
    a_project_has_at_most_500_environments,
    a_parent_is_an_environment_of_the_same_project,
    a_parent_that_is_not_text_is_400_and_null_is_none,
    a_name_is_64_letters_digits_underscores_and_hyphens,
    a_name_is_required,
    a_name_is_unique_in_its_project_ignoring_case,
    a_chain_holds_16_environments,
    only_members_create_environments;
    a_parent_must_be_one_that_the_caller_may_read,
];
