//! Tests of the access that each role gives to the endpoints for secrets.

use hyper::Method;
use secrets_core::model::Role;
use secrets_tests::{App, Client, Person, in_memory_and_on_postgres, paths};
use serde_json::json;

use super::{NO_ACCESS, Team};

async fn each_role_allows_its_operations(app: App) {
    let team = Team::of(&app).await;
    let secrets = paths::secrets(&team.web, "staging");
    let key = paths::secret(&team.web, "staging", "KEY");

    for (role, reads, writes) in [
        ("none", false, false),
        ("read", true, false),
        ("write", true, true),
        ("admin", true, true),
    ] {
        team.grant("staging", role).await;
        let new = json!({ "key": format!("NEW_{role}"), "value": "kvc_new" });
        let read = if reads { 200 } else { 403 };
        for path in [&secrets, &key, &format!("{secrets}/export")] {
            team.bob.get(path).await.is(read);
        }
        team.bob.get(&paths::environment(&team.web, "staging")).await.is(read);
        let wrote = |status| if writes { status } else { 403 };
        team.bob.post(&secrets, &new).await.is(wrote(201));
        team.bob.put(&key, &json!({ "value": "kvc_two" })).await.is(wrote(200));
        let bulk = json!({ "secrets": [new], "overwrite": true });
        team.bob.post(&format!("{secrets}/bulk"), &bulk).await.is(wrote(200));
        let made = paths::secret(&team.web, "staging", &format!("NEW_{role}"));
        team.bob.delete(&made).await.is(wrote(204));
    }
}

async fn a_role_applies_to_its_environment_only(app: App) {
    let team = Team::of(&app).await;
    let other = team.alice.project("Other").await;
    team.grant("staging", "none").await;

    team.bob.get(&paths::secrets(&team.web, "staging")).await.is(403).says(NO_ACCESS);

    team.bob.get(&paths::secrets(&team.web, "production")).await.is(200);
    team.bob.get(&paths::secrets(&other, "staging")).await.is(200);
    let listed = team.bob.get(&paths::environments(&team.web)).await.is(200).json();
    assert_eq!(listed["environments"].as_array().unwrap().len(), 3);
}

/// Checks that a caller without access is refused before a value is decrypted: the value was
/// tampered with, so decrypting it would cause an internal error.
async fn a_caller_without_access_is_refused_before_a_value_is_decrypted(app: App) {
    let team = Team::of(&app).await;
    let record = app.record(&team.web, "staging", "KEY").await;
    app.rewrite(&[secrets_core::store::SecretRecord {
        sealed: secrets_tests::flipped(&record.sealed, 40),
        ..record
    }])
    .await;
    let key = paths::secret(&team.web, "staging", "KEY");
    team.bob.get(&key).await.is(500);

    team.grant("staging", "none").await;

    team.bob.get(&key).await.is(403).says(NO_ACCESS);
    let export = format!("{}/export", paths::secrets(&team.web, "staging"));
    team.bob.get(&export).await.is(403).says(NO_ACCESS);
}

/// Error message for a value that is inherited from `staging`, where the caller has no access.
const NO_ACCESS_TO_STAGING: &str = "inherited from environments you have no access to: staging";

/// Creates a team with the environment `preview`, which inherits from `staging`. The member Bob has
/// no access to `staging`.
async fn restricted(app: &App) -> Team {
    let team = Team::of(app).await;
    team.alice.environment(&team.web, "preview", Some("staging")).await;
    team.alice.secret(&team.web, "preview", "OWN", "kvc_own").await;
    team.grant("staging", "none").await;
    team
}

async fn an_inherited_value_is_read_with_access_to_the_environment_that_holds_it(app: App) {
    let team = restricted(&app).await;
    let key = paths::secret(&team.web, "preview", "KEY");

    team.bob.get(&key).await.is(403).says(NO_ACCESS_TO_STAGING);
    let own = team.bob.get(&paths::secret(&team.web, "preview", "OWN")).await.is(200).json();
    assert_eq!(own["secret"]["value"], "kvc_own");
    let entries = app.audit(&team.alice.team).await;
    let denied: Vec<_> = entries.iter().filter(|entry| entry.outcome == "denied").collect();
    assert_eq!((denied.len(), denied[0].action.as_ref()), (1, "secret.read"));
    assert_eq!(denied[0].actor_id.unwrap().to_string(), team.bob.id);

    team.grant("staging", "read").await;
    let read = team.bob.get(&key).await.is(200).json();
    assert_eq!(read["secret"]["inherited_from"], "staging");
    assert_eq!(read["secret"].get("restricted"), None);
    team.grant("preview", "none").await;
    team.bob.get(&key).await.is(403).says(NO_ACCESS);
}

async fn a_restricted_secret_is_listed_without_details(app: App) {
    let team = restricted(&app).await;
    let described = paths::secret(&team.web, "staging", "KEY");
    team.alice.put(&described, &json!({ "description": "kvc_description" })).await.is(200);

    let list = async |person: &Person| {
        let listed = person.get(&paths::secrets(&team.web, "preview")).await.is(200).json();
        let [key, own] = listed["secrets"].as_array().unwrap().clone().try_into().unwrap();
        assert_eq!((&key["key"], &own["key"]), (&json!("KEY"), &json!("OWN")));
        assert_eq!(own.get("restricted"), None);
        key
    };

    let key = list(&team.bob).await;
    assert_eq!((&key["restricted"], &key["inherited_from"]), (&json!(true), &json!("staging")));
    for field in ["value", "description", "created_by", "updated_by"] {
        assert_eq!(key.get(field), None, "{field}");
    }
    let key = list(&team.alice).await;
    assert_eq!((key.get("restricted"), &key["description"]), (None, &json!("kvc_description")));
}

async fn an_export_with_a_restricted_secret_is_refused(app: App) {
    let team = restricted(&app).await;
    let secrets = paths::secrets(&team.web, "preview");
    let bundle = json!({ "recipients": [{ "type": "raw" }] });

    for query in ["", "?format=dotenv"] {
        let export = format!("{secrets}/export{query}");
        team.bob.get(&export).await.is(403).says(NO_ACCESS_TO_STAGING);
    }
    let bundled = team.bob.post(&format!("{secrets}/bundle"), &bundle).await;
    bundled.is(403).says(NO_ACCESS_TO_STAGING);

    // An environment with its own value shows no data of the restricted environment.
    team.bob.post(&secrets, &json!({ "key": "KEY", "value": "kvc_override" })).await.is(201);
    let exported = team.bob.get(&format!("{secrets}/export")).await.is(200).json();
    assert_eq!(exported["secrets"][0]["value"], "kvc_override");
    team.bob.post(&format!("{secrets}/bundle"), &bundle).await.is(200);
}

async fn an_etag_of_another_permission_does_not_match(app: App) {
    let team = restricted(&app).await;
    let list = paths::secrets(&team.web, "preview");
    let unless = async |person: &Client, held: &str| {
        person.raw(Method::GET, &list, &[("if-none-match", held)], "").await
    };
    let full = team.alice.get(&list).await.is(200).header("etag").unwrap().to_owned();

    let reduced = unless(&team.bob, &full).await.is(200).header("etag").unwrap().to_owned();

    unless(&team.bob, &reduced).await.is(304);
    team.grant("staging", "read").await;
    let again = unless(&team.bob, &reduced).await;
    assert_eq!(again.is(200).header("etag"), Some(&*full));
}

async fn a_token_reads_inherited_secrets_whoever_created_it(app: App) {
    let team = restricted(&app).await;
    let token = json!({ "project_ids": ["web"], "environments": ["preview"] });
    let token = app.bearer(&team.alice.token(&token).await);

    token.get(&paths::secret(&team.web, "preview", "KEY")).await.is(200);
    token.get(&format!("{}/export", paths::secrets(&team.web, "preview"))).await.is(200);
}

async fn a_parent_needs_read_on_it_and_on_every_ancestor(app: App) {
    let team = Team::of(&app).await;
    team.alice.environment(&team.web, "middle", Some("staging")).await;
    team.alice.environment(&team.web, "low", Some("middle")).await;
    let inherit = |name: &str, parent: &str| json!({ "name": name, "inherits_from": parent });
    let path = paths::environments(&team.web);

    for barred in ["staging", "middle", "low"] {
        team.grant(barred, "none").await;
        team.bob.post(&path, &inherit("mine", "low")).await.is(403).says(NO_ACCESS);
        team.grant(barred, "read").await;
    }

    team.bob.post(&path, &inherit("mine", "low")).await.is(201);
}

async fn a_member_who_rejoins_has_no_old_permissions(app: App) {
    let team = Team::of(&app).await;
    team.grant("staging", "admin").await;
    team.grant("production", "none").await;
    app.part(&team.alice.team, &team.bob.id).await;
    team.bob.get(&paths::secrets(&team.web, "staging")).await.is(403);
    let listed = team.alice.get(&paths::permissions(&team.web, "staging")).await.is(200).json();
    assert_eq!(listed, json!({ "permissions": [] }));

    app.join(&team.alice.team, &team.bob.id, Role::Member).await;

    assert_eq!(team.mine("staging").await["role"], "write");
    assert_eq!(team.mine("production").await["role"], "write");
}

async fn roles_outlive_a_restart(app: App) {
    let team = Team::of(&app).await;
    team.grant("staging", "none").await;
    let defaults = format!("{}/permissions/defaults", team.web);
    team.alice
        .put(
            &defaults,
            &json!({ "defaults": [{ "environment_name": "*", "default_role": "read" }] }),
        )
        .await
        .is(200);

    let restarted = app.restarted().await;
    let bob = restarted.person("bob").await;

    bob.get(&paths::secrets(&team.web, "staging")).await.is(403).says(NO_ACCESS);
    let new = json!({ "key": "NEW", "value": "kvc_new" });
    bob.get(&paths::secrets(&team.web, "production")).await.is(200);
    bob.post(&paths::secrets(&team.web, "production"), &new).await.is(403).says(NO_ACCESS);
}

in_memory_and_on_postgres![
    each_role_allows_its_operations,
    a_role_applies_to_its_environment_only,
    a_caller_without_access_is_refused_before_a_value_is_decrypted,
    an_inherited_value_is_read_with_access_to_the_environment_that_holds_it,
    a_restricted_secret_is_listed_without_details,
    an_export_with_a_restricted_secret_is_refused,
    an_etag_of_another_permission_does_not_match,
    a_token_reads_inherited_secrets_whoever_created_it,
    a_parent_needs_read_on_it_and_on_every_ancestor,
    a_member_who_rejoins_has_no_old_permissions,
    roles_outlive_a_restart,
];
