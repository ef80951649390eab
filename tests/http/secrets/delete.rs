//! Tests of deleting secrets.

use secrets_core::model::ids;
use secrets_tests::{App, on_every_store, paths};
use serde_json::json;

async fn a_deleted_secret_is_gone_for_good(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "KEY");
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let first = alice.put(&path, &json!({ "value": "kvc_two" })).await.is(200).json();

    alice.delete(&path).await.is(204);

    alice.get(&path).await.is(404);
    alice.secret(&web, "staging", "KEY", "kvc_again").await;
    let again = alice.get(&path).await.is(200).json();
    assert_eq!(again["secret"]["version"], 1);
    assert_ne!(again["secret"]["id"], first["secret"]["id"]);
}

async fn its_history_goes_with_it(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "KEY");
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let secret = alice.put(&path, &json!({ "value": "kvc_two" })).await.is(200).json();

    alice.delete(&path).await.is(204);

    let id = ids::parse(secret["secret"]["id"].as_str().unwrap()).unwrap();
    let kept = app
        .store
        .read()
        .await
        .unwrap()
        .secret_versions(id.into(), u32::MAX, u32::MAX)
        .await
        .unwrap();
    assert_eq!(kept, []);
}

async fn a_key_that_is_not_there_is_404(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.delete(&paths::secret(&web, "staging", "KEY")).await.is(204);
    let body = json!({ "error": "secret not found", "code": "not_found" });

    for key in ["KEY", "NONE", "1"] {
        let reply = alice.delete(&paths::secret(&web, "staging", key)).await;
        assert_eq!(reply.is(404).json(), body);
    }
}

async fn an_inherited_key_is_not_there_to_be_deleted(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    alice.delete(&paths::secret(&web, "preview", "KEY")).await.is(404).says("secret not found");

    alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200);
}

async fn without_the_override_the_parent_is_seen_again(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    alice.secret(&web, "staging", "KEY", "kvc_parent").await;
    alice.secret(&web, "preview", "KEY", "kvc_child").await;

    alice.delete(&paths::secret(&web, "preview", "KEY")).await.is(204);

    let secret = alice.get(&paths::secret(&web, "preview", "KEY")).await.is(200).json();
    assert_eq!(secret["secret"]["value"], "kvc_parent");
    assert_eq!(secret["secret"]["inherited_from"], "staging");
}

async fn a_token_that_may_only_read_cannot_delete(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let reader = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    reader
        .delete(&paths::secret(&web, "staging", "KEY"))
        .await
        .is(403)
        .says("this token may not write");
    reader.delete(&paths::secret(&web, "staging", "NONE")).await.is(403);

    alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200);
}

on_every_store![
    a_deleted_secret_is_gone_for_good,
    its_history_goes_with_it,
    a_key_that_is_not_there_is_404,
    an_inherited_key_is_not_there_to_be_deleted,
    without_the_override_the_parent_is_seen_again,
    a_token_that_may_only_read_cannot_delete,
];
