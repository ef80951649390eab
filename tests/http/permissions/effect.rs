//! Access of each role to every secrets endpoint.

use secrets_core::model::Role;
use secrets_tests::{App, on_every_store, paths};
use serde_json::json;

use super::{NO_ACCESS, Team};

async fn each_role_allows_what_it_says(app: App) {
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

async fn a_role_holds_in_its_environment_alone(app: App) {
    let team = Team::of(&app).await;
    let other = team.alice.project("Other").await;
    team.grant("staging", "none").await;

    team.bob.get(&paths::secrets(&team.web, "staging")).await.is(403).says(NO_ACCESS);

    team.bob.get(&paths::secrets(&team.web, "production")).await.is(200);
    team.bob.get(&paths::secrets(&other, "staging")).await.is(200);
    let listed = team.bob.get(&paths::environments(&team.web)).await.is(200).json();
    assert_eq!(listed["environments"].as_array().unwrap().len(), 3);
}

/// If the value were decrypted, the tampered value would cause an internal error.
async fn who_may_nothing_is_refused_before_a_value_is_opened(app: App) {
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

async fn the_heir_alone_decides_once_it_inherits(app: App) {
    let team = Team::of(&app).await;
    team.alice.environment(&team.web, "preview", Some("staging")).await;
    team.grant("staging", "none").await;

    let read = team.bob.get(&paths::secret(&team.web, "preview", "KEY")).await.is(200).json();
    assert_eq!(read["secret"]["inherited_from"], "staging");
    team.grant("preview", "none").await;
    team.bob.get(&paths::secret(&team.web, "preview", "KEY")).await.is(403).says(NO_ACCESS);
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

async fn who_leaves_and_comes_back_has_no_old_rights(app: App) {
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
    team.alice.put(&defaults, &json!({ "role": "read" })).await.is(200);

    let restarted = app.restarted().await;
    let bob = restarted.person("bob").await;

    bob.get(&paths::secrets(&team.web, "staging")).await.is(403).says(NO_ACCESS);
    let new = json!({ "key": "NEW", "value": "kvc_new" });
    bob.get(&paths::secrets(&team.web, "production")).await.is(200);
    bob.post(&paths::secrets(&team.web, "production"), &new).await.is(403).says(NO_ACCESS);
}

on_every_store![
    each_role_allows_what_it_says,
    a_role_holds_in_its_environment_alone,
    who_may_nothing_is_refused_before_a_value_is_opened,
    the_heir_alone_decides_once_it_inherits,
    a_parent_needs_read_on_it_and_on_every_ancestor,
    who_leaves_and_comes_back_has_no_old_rights,
    roles_outlive_a_restart,
];
