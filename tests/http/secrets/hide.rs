//! Tests of hidden secrets: secrets without a value, which hide an inherited secret with the same
//! key.

use secrets_tests::{App, Person, STARTED, in_memory_and_on_postgres, paths};
use serde_json::json;

/// Creates a secret in the environment `production`, and an environment `child` that inherits from
/// it but hides the secret.
async fn hidden(app: &App) -> (Person, String) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "child", Some("production")).await;
    alice.secret(&web, "production", "KEY", "kvc_parent").await;
    let hide = json!({ "key": "KEY", "hidden": true });
    alice.post(&paths::secrets(&web, "child"), &hide).await.is(201);
    (alice, web)
}

async fn a_secret_is_created_hidden_without_a_value(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let staging = alice.get(&paths::environment(&web, "staging")).await.is(200).json();

    let hide = json!({ "key": "KEY", "hidden": true, "value": null });
    let secret = alice.post(&paths::secrets(&web, "staging"), &hide).await.is(201).json();

    assert_eq!(
        secret,
        json!({
            "secret": {
                "id": secret["secret"]["id"],
                "environment_id": staging["id"],
                "key": "KEY",
                "type": "string",
                "version": 1,
                "hidden": true,
                "created_at": STARTED,
                "updated_at": STARTED,
                "created_by": alice.id,
                "updated_by": alice.id,
            }
        })
    );
}

async fn a_hidden_secret_is_404_and_its_parent_is_not_seen(app: App) {
    let (alice, web) = hidden(&app).await;

    let reply = alice.get(&paths::secret(&web, "child", "KEY")).await;

    let body = json!({ "error": "secret not found", "code": "not_found" });
    assert_eq!(reply.is(404).json(), body);
    alice.get(&paths::secret(&web, "production", "KEY")).await.is(200);
}

async fn a_hidden_secret_is_left_out_of_exports(app: App) {
    let (alice, web) = hidden(&app).await;
    alice.secret(&web, "child", "OTHER", "kvc_other").await;

    let reply = alice.get(&paths::secret(&web, "child", "export")).await;

    let secrets = reply.is(200).json()["secrets"].clone();
    assert_eq!(secrets.as_array().unwrap().len(), 1);
    assert_eq!(secrets[0]["key"], "OTHER");
}

async fn a_list_marks_hidden_secrets(app: App) {
    let (alice, web) = hidden(&app).await;

    let list = alice.get(&paths::secrets(&web, "child")).await.is(200).json();
    let parents = alice.get(&paths::secrets(&web, "production")).await.is(200).json();

    assert_eq!(list["secrets"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&list["secrets"][0]["key"], &list["secrets"][0]["hidden"]),
        (&json!("KEY"), &json!(true))
    );
    assert!(parents["secrets"][0].get("hidden").is_none());
}

async fn a_descendant_inherits_the_hiding(app: App) {
    let (alice, web) = hidden(&app).await;
    alice.environment(&web, "grandchild", Some("child")).await;

    let list = alice.get(&paths::secrets(&web, "grandchild")).await.is(200).json();

    let secret = &list["secrets"][0];
    assert_eq!((&secret["hidden"], &secret["inherited_from"]), (&json!(true), &json!("child")));
    alice.get(&paths::secret(&web, "grandchild", "KEY")).await.is(404);
    let export = alice.get(&paths::secret(&web, "grandchild", "export")).await.is(200).json();
    assert_eq!(export, json!({ "secrets": [] }));
}

async fn a_descendant_may_have_a_value_of_its_own(app: App) {
    let (alice, web) = hidden(&app).await;
    alice.environment(&web, "grandchild", Some("child")).await;

    alice.secret(&web, "grandchild", "KEY", "kvc_own").await;

    let secret = alice.get(&paths::secret(&web, "grandchild", "KEY")).await.is(200).json();
    assert_eq!(secret["secret"]["value"], "kvc_own");
}

async fn a_hidden_key_is_taken(app: App) {
    let (alice, web) = hidden(&app).await;

    let create = json!({ "key": "KEY", "value": "kvc_value" });
    let reply = alice.post(&paths::secrets(&web, "child"), &create).await;

    reply.is(409).code("already_exists");
}

async fn a_secret_is_hidden_by_an_update_as_its_next_version(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let path = paths::secret(&web, "staging", "KEY");

    let reply = alice.put(&path, &json!({ "hidden": true })).await;

    let secret = reply.is(200).json()["secret"].clone();
    assert_eq!((&secret["hidden"], &secret["version"]), (&json!(true), &json!(2)));
    alice.get(&path).await.is(404);
}

async fn a_value_ends_the_hiding(app: App) {
    let (alice, web) = hidden(&app).await;
    let path = paths::secret(&web, "child", "KEY");

    let first = alice.put(&path, &json!({ "value": "kvc_own" })).await.is(200).json();
    alice.put(&path, &json!({ "hidden": true })).await.is(200);
    let second =
        alice.put(&path, &json!({ "value": "kvc_again", "hidden": false })).await.is(200).json();

    assert!(first["secret"].get("hidden").is_none() && second["secret"].get("hidden").is_none());
    let secret = alice.get(&path).await.is(200).json();
    assert_eq!(
        (&secret["secret"]["value"], &secret["secret"]["version"]),
        (&json!("kvc_again"), &json!(4))
    );
}

async fn a_description_alone_does_not_end_the_hiding(app: App) {
    let (alice, web) = hidden(&app).await;
    let path = paths::secret(&web, "child", "KEY");

    let reply = alice.put(&path, &json!({ "description": "Not here" })).await;

    let secret = reply.is(200).json()["secret"].clone();
    assert_eq!((&secret["hidden"], &secret["version"]), (&json!(true), &json!(1)));
    alice.get(&path).await.is(404);
}

async fn deleting_a_hidden_secret_shows_the_inherited_one(app: App) {
    let (alice, web) = hidden(&app).await;

    alice.delete(&paths::secret(&web, "child", "KEY")).await.is(204);

    let secret = alice.get(&paths::secret(&web, "child", "KEY")).await.is(200).json();
    assert_eq!(secret["secret"]["value"], "kvc_parent");
}

async fn only_a_hidden_secret_has_no_value(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let (all, path) = (paths::secrets(&web, "staging"), paths::secret(&web, "staging", "KEY"));
    let both = json!({ "key": "NEW", "value": "kvc_value", "hidden": true });
    let neither = json!({ "hidden": false, "description": "Seen" });

    alice.post(&all, &both).await.is(400).says("value must be absent where hidden is true");
    alice.put(&path, &both).await.is(400).says("value must be absent where hidden is true");
    alice.put(&path, &neither).await.is(400).says("value must be given where hidden is false");
    alice.put(&path, &json!({ "hidden": "yes" })).await.is(400).names("hidden");

    let secret = alice.get(&path).await.is(200).json();
    assert_eq!(
        (&secret["secret"]["version"], secret["secret"].get("description")),
        (&json!(1), None)
    );
}

in_memory_and_on_postgres![
    a_secret_is_created_hidden_without_a_value,
    a_hidden_secret_is_404_and_its_parent_is_not_seen,
    a_hidden_secret_is_left_out_of_exports,
    a_list_marks_hidden_secrets,
    a_descendant_inherits_the_hiding,
    a_descendant_may_have_a_value_of_its_own,
    a_hidden_key_is_taken,
    a_secret_is_hidden_by_an_update_as_its_next_version,
    a_value_ends_the_hiding,
    a_description_alone_does_not_end_the_hiding,
    deleting_a_hidden_secret_shows_the_inherited_one,
    only_a_hidden_secret_has_no_value,
];
