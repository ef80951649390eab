//! Tests of the default permissions of members in a project.

use secrets_tests::{App, on_every_store, paths};
use serde_json::{Value, json};

use super::{NO_ACCESS, Team};

/// Returns a request body that sets the default permissions of a project, given as pairs of an
/// environment name and a role.
fn defaults(roles: &[(&str, &str)]) -> Value {
    let of =
        |(name, role): &(&str, &str)| json!({ "environment_name": name, "default_role": role });
    json!({ "defaults": roles.iter().map(of).collect::<Vec<_>>() })
}

async fn the_operators_default_applies_until_one_is_set(app: App) {
    let team = Team::of(&app).await;
    let path = format!("{}/permissions/defaults", team.web);
    let project = paths::last(&team.web);

    let before = team.bob.get(&path).await.is(200).json();
    let set = team.alice.put(&path, &defaults(&[("production", "read")])).await.is(200).json();

    assert_eq!(before, json!({ "defaults": [] }));
    let default = &set["defaults"][0];
    assert_eq!(
        set["defaults"],
        json!([{
            "id": default["id"], "project_id": project, "environment_name": "production",
            "default_role": "read", "created_at": default["created_at"],
        }])
    );
    assert_eq!(team.bob.get(&path).await.is(200).json(), set);
    team.alice.delete(&path).await.is(204);
    assert_eq!(team.bob.get(&path).await.is(200).json(), before);
    team.alice.delete(&path).await.is(404).says("permission not found");
}

async fn a_default_for_all_holds_in_every_environment_of_its_project(app: App) {
    let team = Team::of(&app).await;
    let other = team.alice.project("Other").await;
    let path = format!("{}/permissions/defaults", team.web);
    team.alice.put(&path, &defaults(&[("*", "none")])).await.is(200);
    team.alice.environment(&team.web, "later", None).await;

    for environment in ["development", "staging", "production", "later"] {
        let secrets = paths::secrets(&team.web, environment);
        team.bob.get(&secrets).await.is(403).says(NO_ACCESS);
        team.alice.get(&secrets).await.is(200);
    }
    team.bob.get(&paths::secrets(&other, "staging")).await.is(200);
}

async fn the_default_of_an_environment_goes_before_the_default_for_all(app: App) {
    let team = Team::of(&app).await;
    let path = format!("{}/permissions/defaults", team.web);

    team.alice.put(&path, &defaults(&[("*", "none"), ("staging", "read")])).await.is(200);

    team.bob.get(&paths::secrets(&team.web, "staging")).await.is(200);
    team.bob.get(&paths::secrets(&team.web, "production")).await.is(403).says(NO_ACCESS);
    assert_eq!(team.mine("staging").await["role"], "read");
    assert_eq!(team.mine("production").await["role"], "none");
}

async fn a_default_ends_with_its_environment(app: App) {
    let team = Team::of(&app).await;
    let path = format!("{}/permissions/defaults", team.web);
    team.alice.environment(&team.web, "short", None).await;
    team.alice.put(&path, &defaults(&[("short", "none")])).await.is(200);

    team.alice.delete(&paths::environment(&team.web, "short")).await.is(204);
    team.alice.environment(&team.web, "short", None).await;

    assert_eq!(team.alice.get(&path).await.is(200).json(), json!({ "defaults": [] }));
    team.bob.get(&paths::secrets(&team.web, "short")).await.is(200);
}

async fn a_permission_of_a_person_takes_precedence_over_the_default(app: App) {
    let team = Team::of(&app).await;
    let path = format!("{}/permissions/defaults", team.web);
    team.alice.put(&path, &defaults(&[("staging", "none"), ("*", "none")])).await.is(200);

    team.grant("staging", "read").await;

    team.bob.get(&paths::secret(&team.web, "staging", "KEY")).await.is(200);
    team.bob.get(&paths::secrets(&team.web, "production")).await.is(403);
    assert_eq!(team.mine("production").await["role"], "none");
}

async fn the_earlier_body_with_one_role_is_refused(app: App) {
    let team = Team::of(&app).await;
    let path = format!("{}/permissions/defaults", team.web);

    team.alice.put(&path, &json!({ "role": "read" })).await.is(400).names("body");
}

on_every_store![
    the_operators_default_applies_until_one_is_set,
    a_default_for_all_holds_in_every_environment_of_its_project,
    the_default_of_an_environment_goes_before_the_default_for_all,
    a_default_ends_with_its_environment,
    a_permission_of_a_person_takes_precedence_over_the_default,
    the_earlier_body_with_one_role_is_refused,
];
