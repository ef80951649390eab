//! Tests of the access of team members to an environment in which they have no permission: the
//! setting `member_access` of the operator applies.

use secrets_core::engine::Options;
use secrets_core::model::{MemberAccess, Role};
use secrets_tests::{App, Build, Kind, Person, in_memory_and_on_postgres, paths};
use serde_json::json;

const NO_ACCESS: &str = "you have no access to this environment";

/// Starts a server whose operator has set this access level for members without a permission.
/// Creates a project of Alice with a secret, and Bob, a member of Alice's team.
async fn world(kind: Kind, member_access: MemberAccess) -> (App, Person, Person, String) {
    let app =
        Build::on(kind).options(Options { member_access, ..Options::default() }).start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    (app, alice, bob, web)
}

async fn members_can_write_by_default(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;

    bob.secret(&web, "production", "KEY", "kvc_value").await;

    bob.get(&paths::secret(&web, "production", "KEY")).await.is(200);
    bob.put(&paths::secret(&web, "production", "KEY"), &json!({ "value": "kvc_two" }))
        .await
        .is(200);
    bob.delete(&paths::secret(&web, "production", "KEY")).await.is(204);
}

async fn members_who_may_read_cannot_write(kind: Kind) {
    let (_app, _alice, bob, web) = world(kind, MemberAccess::Read).await;
    let (secrets, key) = (paths::secrets(&web, "staging"), paths::secret(&web, "staging", "KEY"));
    let new = json!({ "key": "NEW", "value": "kvc_new" });

    bob.get(&secrets).await.is(200);
    bob.get(&key).await.is(200);
    bob.get(&format!("{secrets}/export")).await.is(200);

    bob.post(&secrets, &new).await.is(403).says(NO_ACCESS);
    bob.post(&format!("{secrets}/bulk"), &json!({ "secrets": [new] }))
        .await
        .is(403)
        .says(NO_ACCESS);
    bob.put(&key, &json!({ "value": "kvc_two" })).await.is(403).says(NO_ACCESS);
    bob.delete(&key).await.is(403).says(NO_ACCESS);
}

async fn members_without_access_see_only_the_name_of_an_environment(kind: Kind) {
    let (_app, alice, bob, web) = world(kind, MemberAccess::None).await;
    let secrets = paths::secrets(&web, "staging");

    let all = bob.get(&paths::environments(&web)).await.is(200).json();
    assert_eq!(all["environments"].as_array().unwrap().len(), 3);
    bob.get(&paths::environment(&web, "staging")).await.is(403).says(NO_ACCESS);

    for path in ["", "/export", "/KEY", "/NONE"] {
        bob.get(&format!("{secrets}{path}")).await.is(403).says(NO_ACCESS);
    }
    alice.get(&secrets).await.is(200);
}

async fn owners_and_admins_have_full_access(kind: Kind) {
    let (app, alice, _bob, web) = world(kind, MemberAccess::None).await;
    let admin = app.person("ada").await;
    app.join(&alice.team, &admin.id, Role::Admin).await;

    for person in [&alice, &admin] {
        person.get(&paths::secret(&web, "staging", "KEY")).await.is(200);
        person
            .put(&paths::secret(&web, "staging", "KEY"), &json!({ "value": "kvc_two" }))
            .await
            .is(200);
    }
}

in_memory_and_on_postgres![
    members_can_write_by_default;
    members_who_may_read_cannot_write,
    members_without_access_see_only_the_name_of_an_environment,
    owners_and_admins_have_full_access,
];
