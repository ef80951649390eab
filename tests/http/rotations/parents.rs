//! Tests of rotations whose environment or project is deleted.

use chrono::TimeDelta;
use secrets_core::rotations;
use secrets_tests::{App, Rotated, in_memory_and_on_postgres, paths, postgresql};
use serde_json::json;

async fn an_environment_goes_with_its_rotations(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", None).await;
    let path = paths::rotations(&web, "preview");
    alice.post(&path, &postgresql("main-db")).await.is(201);
    let one = paths::rotation(&web, "preview", "main-db");
    alice.post(&format!("{one}/rotate"), &json!({})).await.is(200);

    alice.delete(&paths::environment(&web, "preview")).await.is(204);

    alice.get(&one).await.is(404).says("environment not found");
    app.wait(TimeDelta::days(31));
    assert!(rotations::claim_rotations(app.service.engine()).await.unwrap().is_empty());
    let alice = app.person("alice").await;
    alice.environment(&web, "preview", None).await;
    assert_eq!(alice.get(&path).await.is(200).json(), json!({ "rotations": [] }));
    alice.secret(&web, "preview", "MAIN_DB_URL", "kvc_mine").await;
}

async fn a_project_that_is_deleted_is_not_rotated_for(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    let (served, calls) = (main.served().await, app.database.calls());

    main.person.delete(&main.project).await.is(204);

    app.wait(TimeDelta::days(31));
    assert!(rotations::claim_rotations(app.service.engine()).await.unwrap().is_empty());
    assert_eq!(app.database.calls(), calls);
    assert!(app.database.admits(&served.0, &served.1));
    main.reader.get(&paths::eso_secrets(&main.project, "staging")).await.is(404);
}

async fn a_project_that_is_restored_has_its_rotations_disabled(app: App) {
    let mut main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.person.delete(&main.project).await.is(204);
    app.wait(TimeDelta::days(2));
    main.use_by(&app).await;

    main.person.post(&format!("{}/restore", main.project), &json!({})).await.is(200);

    let shown = main.shown().await;
    let message = "the project was deleted; set the status to active to rotate again";
    assert_eq!([&shown["status"], &shown["error_message"]], ["disabled", message]);
    assert_eq!(shown.get("next_rotation_at"), None);
    main.works(&app).await;
    let resumed = main.person.put(&main.path, &json!({ "status": "active" })).await.is(200).json();
    assert_eq!(resumed["status"], "active");
    assert_eq!(resumed.get("error_message"), None);
    main.succeed().await;
    main.works(&app).await;
}

async fn two_teams_rotate_each_their_own(app: App) {
    let (ann, bea) = (Rotated::create(&app, "ann").await, Rotated::create(&app, "bea").await);
    ann.succeed().await;
    bea.succeed().await;
    assert_ne!(ann.served().await, bea.served().await);
    let before = (bea.served().await, bea.shown().await, bea.history().await);

    for project in [&bea.project, &ann.project] {
        let foreign = project == &bea.project;
        let path = paths::rotation(project, "staging", "main-db");
        let status = if foreign { 403 } else { 200 };
        ann.person.get(&path).await.is(status);
        ann.person.put(&path, &json!({ "rotation_interval_days": 9 })).await.is(status);
        ann.person.post(&format!("{path}/rotate"), &json!({})).await.is(status);
        ann.person.post(&format!("{path}/test"), &json!({})).await.is(status);
        ann.person.get(&format!("{path}/history")).await.is(status);
    }
    ann.person.delete(&bea.path).await.is(403);
    ann.person.delete(&format!("{}?revoke=true", bea.path)).await.is(403);
    let all = paths::rotations(&bea.project, "staging");
    ann.person.post(&all, &postgresql("mine")).await.is(403);

    assert_eq!(before, (bea.served().await, bea.shown().await, bea.history().await));
    bea.works(&app).await;
}

in_memory_and_on_postgres![
    an_environment_goes_with_its_rotations,
    a_project_that_is_deleted_is_not_rotated_for,
    a_project_that_is_restored_has_its_rotations_disabled,
    two_teams_rotate_each_their_own,
];
