//! Default permissions of members in a project.

use secrets_tests::{App, on_every_store, paths};
use serde_json::json;

use super::{NO_ACCESS, Team};

async fn a_default_is_the_operators_until_it_is_set(app: App) {
    let team = Team::of(&app).await;
    let path = format!("{}/permissions/defaults", team.web);
    let project = paths::last(&team.web);

    let before = team.bob.get(&path).await.is(200).json();
    let set = team.alice.put(&path, &json!({ "role": "read" })).await.is(200).json();

    assert_eq!(before, json!({ "project_id": project, "role": "write", "is_set": false }));
    assert_eq!([&set["role"], &set["set_by"]], ["read", &team.alice.id]);
    assert_eq!(set["is_set"], true);
    assert_eq!(team.bob.get(&path).await.is(200).json(), set);
    team.alice.delete(&path).await.is(204);
    assert_eq!(team.bob.get(&path).await.is(200).json(), before);
    team.alice.delete(&path).await.is(404).says("permission not found");
}

async fn a_default_holds_in_every_environment_of_its_project(app: App) {
    let team = Team::of(&app).await;
    let other = team.alice.project("Other").await;
    let path = format!("{}/permissions/defaults", team.web);
    team.alice.put(&path, &json!({ "role": "none" })).await.is(200);
    team.alice.environment(&team.web, "later", None).await;

    for environment in ["development", "staging", "production", "later"] {
        let secrets = paths::secrets(&team.web, environment);
        team.bob.get(&secrets).await.is(403).says(NO_ACCESS);
        team.alice.get(&secrets).await.is(200);
    }
    team.bob.get(&paths::secrets(&other, "staging")).await.is(200);
}

async fn what_is_said_of_a_person_goes_before_the_default(app: App) {
    let team = Team::of(&app).await;
    let path = format!("{}/permissions/defaults", team.web);
    team.alice.put(&path, &json!({ "role": "none" })).await.is(200);

    team.grant("staging", "read").await;

    team.bob.get(&paths::secret(&team.web, "staging", "KEY")).await.is(200);
    team.bob.get(&paths::secrets(&team.web, "production")).await.is(403);
    assert_eq!(team.mine("production").await["role"], "none");
}

on_every_store![
    a_default_is_the_operators_until_it_is_set,
    a_default_holds_in_every_environment_of_its_project,
    what_is_said_of_a_person_goes_before_the_default,
];
