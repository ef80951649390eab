//! Tests of reading rotations: the required permissions, and the fields in responses.

use secrets_core::model::Role;
use secrets_tests::{App, Person, Rotated, in_memory_and_on_postgres, paths, postgresql};
use serde_json::json;

/// Creates a team member who has the permission `access` in the environment `staging` of the
/// rotation's project.
async fn member(app: &App, main: &Rotated, name: &str, access: &str) -> Person {
    let person = app.person(name).await;
    app.join(&main.person.team, &person.id, Role::Member).await;
    let path = paths::permission(&main.project, "staging", &person.id);
    main.person.put(&path, &json!({ "role": access })).await.is(200);
    person
}

async fn an_environment_lists_its_rotations_by_name(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let path = paths::rotations(&main.project, "staging");
    for name in ["zebra", "ant"] {
        main.person.post(&path, &postgresql(name)).await.is(201);
    }
    let elsewhere = paths::rotations(&main.project, "production");
    main.person.post(&elsewhere, &postgresql("elsewhere")).await.is(201);

    let list = main.person.get(&path).await.is(200).json();

    let names: Vec<_> = list["rotations"].as_array().unwrap().iter().map(|r| &r["name"]).collect();
    assert_eq!(names, ["ant", "main-db", "zebra"]);
    assert_eq!(list["rotations"][1], main.shown().await);
    assert_eq!(list.as_object().unwrap().len(), 1);
}

async fn an_environment_without_rotations_lists_none(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;

    let list = alice.get(&paths::rotations(&web, "staging")).await.is(200).json();

    assert_eq!(list, json!({ "rotations": [] }));
}

async fn a_child_environment_has_none_of_its_parents(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.person.environment(&main.project, "preview", Some("staging")).await;

    let list = main.person.get(&paths::rotations(&main.project, "preview")).await.is(200).json();

    assert_eq!(list, json!({ "rotations": [] }));
    main.person.get(&paths::rotation(&main.project, "preview", "main-db")).await.is(404);
}

async fn readers_see_rotations_and_change_nothing(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let reader = member(&app, &main, "reader", "read").await;
    let all = paths::rotations(&main.project, "staging");

    reader.get(&all).await.is(200);
    reader.get(&main.path).await.is(200);
    reader.get(&format!("{}/history", main.path)).await.is(200);

    reader.post(&all, &postgresql("other")).await.is(403);
    reader.post(&format!("{all}/test"), &secrets_tests::connection()).await.is(403);
    reader.put(&main.path, &json!({ "status": "paused" })).await.is(403);
    reader.post(&format!("{}/rotate", main.path), &json!({})).await.is(403);
    reader.post(&format!("{}/test", main.path), &json!({})).await.is(403);
    reader.delete(&main.path).await.is(403);
    reader.delete(&format!("{}?revoke=true", main.path)).await.is(403);
    assert_eq!(main.history().await.len(), 1);
    assert_eq!(main.shown().await["status"], "active");
}

async fn writers_manage_rotations(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let writer = member(&app, &main, "writer", "write").await;
    let all = paths::rotations(&main.project, "staging");

    writer.post(&all, &postgresql("other")).await.is(201);
    writer.post(&format!("{all}/test"), &secrets_tests::connection()).await.is(200);
    writer.put(&main.path, &json!({ "rotation_interval_days": 7 })).await.is(200);
    writer.post(&format!("{}/rotate", main.path), &json!({})).await.is(200);
    writer.post(&format!("{}/test", main.path), &json!({})).await.is(200);
    writer.get(&format!("{}/history", main.path)).await.is(200);
    writer.delete(&main.path).await.is(204);
}

async fn members_without_access_see_no_rotations(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let barred = member(&app, &main, "barred", "none").await;
    let outsider = app.person("outsider").await;

    for client in [&barred, &outsider] {
        for path in [&main.path, &paths::rotation(&main.project, "staging", "none")] {
            client.get(path).await.is(403);
            client.get(&format!("{path}/history")).await.is(403);
            client.post(&format!("{path}/rotate"), &json!({})).await.is(403);
            client.delete(path).await.is(403);
        }
        client.get(&paths::rotations(&main.project, "staging")).await.is(403);
    }
}

async fn a_service_token_is_not_for_rotations(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let everything = json!({ "all_projects": true, "permissions": ["read", "write"] });
    let machine = app.bearer(&main.person.token(&everything).await);
    let all = paths::rotations(&main.project, "staging");
    let says = "a service token may not do this";

    machine.get(&all).await.is(403).says(says);
    machine.get(&main.path).await.is(403).says(says);
    machine.post(&format!("{}/rotate", main.path), &json!({})).await.is(403).says(says);
    machine.post(&format!("{}/test", main.path), &json!({})).await.is(403).says(says);
    machine.delete(&format!("{}?revoke=perhaps", main.path)).await.is(403).says(says);
    // The request is refused before its body is checked.
    machine.post(&all, &json!({})).await.is(403).says(says);
    machine.post(&format!("{all}/test"), &json!({})).await.is(403).says(says);
}

async fn the_objects_of_a_path_are_checked_from_the_outside_in(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let of = |project: &str, environment: &str| paths::rotation(project, environment, "main-db");

    let unknown = of("/api/v1/projects/none", "staging");
    main.person.get(&unknown).await.is(404).says("project not found");
    main.person.get(&of(&main.project, "none")).await.is(404).says("environment not found");
    main.person.get(&of(&main.project, "production")).await.is(404).says("rotation not found");
}

in_memory_and_on_postgres![
    an_environment_lists_its_rotations_by_name,
    an_environment_without_rotations_lists_none,
    a_child_environment_has_none_of_its_parents,
    readers_see_rotations_and_change_nothing,
    writers_manage_rotations,
    members_without_access_see_no_rotations,
    a_service_token_is_not_for_rotations,
    the_objects_of_a_path_are_checked_from_the_outside_in,
];
