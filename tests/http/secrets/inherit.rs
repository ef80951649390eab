//! Tests of inheritance: an environment also has the secrets of its ancestors.

use secrets_tests::{App, Person, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

/// Creates an inheritance chain: the environment `near` inherits from `middle`, which inherits from
/// `production`. Returns the user and the path of the project.
async fn chain(app: &App) -> (Person, String) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "middle", Some("production")).await;
    alice.environment(&web, "near", Some("middle")).await;
    (alice, web)
}

/// Exports an environment. Returns the key, the value and the origin (`inherited_from`) of each
/// secret.
async fn exported(person: &Person, project: &str, environment: &str) -> Value {
    let export = person.get(&paths::secret(project, environment, "export")).await.is(200).json();
    let secrets = export["secrets"].as_array().unwrap().clone();
    secrets
        .iter()
        .map(|secret| json!([secret["key"], secret["value"], secret["inherited_from"]]))
        .collect()
}

async fn a_list_includes_inherited_secrets(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "FAR", "kvc_far").await;
    alice.secret(&web, "middle", "MIDDLE", "kvc_middle").await;
    alice.secret(&web, "near", "OWN", "kvc_own").await;

    let list = alice.get(&paths::secrets(&web, "near")).await.is(200).json();

    let secrets = list["secrets"].as_array().unwrap();
    let seen: Vec<_> =
        secrets.iter().map(|secret| json!([secret["key"], secret["inherited_from"]])).collect();
    assert_eq!(
        seen,
        [json!(["FAR", "production"]), json!(["MIDDLE", "middle"]), json!(["OWN", null])]
    );
    assert!(secrets[2].get("inherited_from").is_none());
}

async fn an_export_includes_inherited_secrets(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "FAR", "kvc_far").await;
    alice.secret(&web, "near", "OWN", "kvc_own").await;

    let seen = exported(&alice, &web, "near").await;

    assert_eq!(seen, json!([["FAR", "kvc_far", "production"], ["OWN", "kvc_own", null]]));
}

async fn reading_a_key_follows_the_chain(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "FAR", "kvc_far").await;
    let production = alice.get(&paths::secret(&web, "production", "FAR")).await.is(200).json();

    let secret = alice.get(&paths::secret(&web, "near", "FAR")).await.is(200).json();

    let mut expected = production;
    expected["secret"]["inherited_from"] = json!("production");
    assert_eq!(secret, expected);
}

async fn a_child_overrides_its_parent(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_far").await;

    alice.secret(&web, "middle", "KEY", "kvc_middle").await;

    assert_eq!(exported(&alice, &web, "middle").await, json!([["KEY", "kvc_middle", null]]));
    assert_eq!(exported(&alice, &web, "production").await, json!([["KEY", "kvc_far", null]]));
}

async fn the_nearest_ancestor_is_seen(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_far").await;
    alice.secret(&web, "middle", "KEY", "kvc_middle").await;

    let secret = alice.get(&paths::secret(&web, "near", "KEY")).await.is(200).json();

    assert_eq!(secret["secret"]["value"], "kvc_middle");
    assert_eq!(secret["secret"]["inherited_from"], "middle");
    assert_eq!(exported(&alice, &web, "near").await, json!([["KEY", "kvc_middle", "middle"]]));
}

async fn an_override_begins_at_version_1_and_leaves_the_parent_alone(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_far").await;
    let parent = paths::secret(&web, "production", "KEY");
    alice.put(&parent, &json!({ "value": "kvc_far_two" })).await.is(200);
    let before = alice.get(&parent).await.is(200).json();

    let created = alice
        .post(&paths::secrets(&web, "near"), &json!({ "key": "KEY", "value": "kvc_own" }))
        .await;

    assert_eq!(created.is(201).json()["secret"]["version"], 1);
    assert_eq!(alice.get(&parent).await.is(200).json(), before);
}

async fn parents_do_not_see_their_children(app: App) {
    let (alice, web) = chain(&app).await;

    alice.secret(&web, "near", "KEY", "kvc_own").await;

    alice.get(&paths::secret(&web, "middle", "KEY")).await.is(404);
    assert_eq!(exported(&alice, &web, "middle").await, json!([]));
}

async fn siblings_do_not_see_each_other(app: App) {
    let (alice, web) = chain(&app).await;
    alice.environment(&web, "sibling", Some("middle")).await;

    alice.secret(&web, "near", "KEY", "kvc_own").await;

    alice.get(&paths::secret(&web, "sibling", "KEY")).await.is(404);
}

async fn a_change_of_the_parent_is_seen_in_the_child_at_once(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_one").await;
    alice.get(&paths::secret(&web, "near", "KEY")).await.is(200);
    let parent = paths::secret(&web, "production", "KEY");

    alice.put(&parent, &json!({ "value": "kvc_two" })).await.is(200);
    let changed = alice.get(&paths::secret(&web, "near", "KEY")).await.is(200).json();
    alice.delete(&parent).await.is(204);

    assert_eq!(
        (&changed["secret"]["value"], &changed["secret"]["version"]),
        (&json!("kvc_two"), &json!(2))
    );
    alice.get(&paths::secret(&web, "near", "KEY")).await.is(404);
}

async fn an_inherited_key_is_not_there_to_be_updated(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_far").await;
    let own = paths::secret(&web, "near", "KEY");

    alice.put(&own, &json!({ "value": "kvc_own" })).await.is(404).says("secret not found");
    alice.put(&own, &json!({ "hidden": true })).await.is(404);
    alice.secret(&web, "near", "KEY", "kvc_own").await;
    alice.put(&own, &json!({ "value": "kvc_own_two" })).await.is(200);

    assert_eq!(exported(&alice, &web, "production").await, json!([["KEY", "kvc_far", null]]));
}

/// Checks that a service token with read access to an environment also reads the secrets that the
/// environment inherits, without access to the parent. The access to the parent was checked when a
/// user set the parent.
async fn a_token_reads_inherited_secrets(app: App) {
    let (alice, web) = chain(&app).await;
    alice.secret(&web, "production", "KEY", "kvc_far").await;
    let scope = json!({ "project_ids": ["web"], "environments": ["near"] });
    let token = app.bearer(&alice.token(&scope).await);

    let inherited = token.get(&paths::secret(&web, "near", "KEY")).await;

    assert_eq!(inherited.is(200).json()["secret"]["value"], "kvc_far");
    token.get(&paths::secret(&web, "production", "KEY")).await.is(403);
}

in_memory_and_on_postgres![
    a_list_includes_inherited_secrets,
    an_export_includes_inherited_secrets,
    reading_a_key_follows_the_chain,
    a_child_overrides_its_parent,
    the_nearest_ancestor_is_seen,
    an_override_begins_at_version_1_and_leaves_the_parent_alone,
    parents_do_not_see_their_children,
    siblings_do_not_see_each_other,
    a_change_of_the_parent_is_seen_in_the_child_at_once,
    an_inherited_key_is_not_there_to_be_updated,
    a_token_reads_inherited_secrets,
];
