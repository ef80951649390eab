//! Tests of deleting service tokens.

use secrets_core::model::Role;
use secrets_tests::{App, Person, in_memory_and_on_postgres};
use serde_json::json;

use super::TOKENS;

/// Creates a service token and returns its URL path.
async fn token(person: &Person) -> String {
    let token =
        person.post(TOKENS, &json!({ "name": "test", "all_projects": true })).await.is(201).json();
    format!("{TOKENS}/{}", token["id"].as_str().unwrap())
}

async fn a_deleted_token_is_listed_no_more(app: App) {
    let alice = app.person("alice").await;
    let path = token(&alice).await;

    alice.delete(&path).await.is(204);

    assert_eq!(alice.get(TOKENS).await.is(200).json(), json!({ "tokens": [] }));
    let again = alice.delete(&path).await;
    assert_eq!(again.is(404).json(), json!({ "error": "token not found", "code": "not_found" }));
}

async fn an_unknown_token_is_404(app: App) {
    let alice = app.person("alice").await;
    let body = json!({ "error": "token not found", "code": "not_found" });

    for id in ["0190f1f3-7b1c-7000-8000-000000000000", "deploy", "env_nonsense"] {
        assert_eq!(alice.delete(&format!("{TOKENS}/{id}")).await.is(404).json(), body);
    }
}

async fn only_owners_and_admins_delete_tokens(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (admin, non_member) = (app.person("ada").await, app.person("eve").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    app.join(&alice.team, &admin.id, Role::Admin).await;
    let path = token(&alice).await;

    bob.delete(&path).await.is(403).says("only an owner or admin of the team may do this");
    non_member.delete(&path).await.is(403).says("you are not a member of this team");

    admin.delete(&path).await.is(204);
}

in_memory_and_on_postgres![
    a_deleted_token_is_listed_no_more,
    an_unknown_token_is_404,
    only_owners_and_admins_delete_tokens,
];
