//! Tests of rotations that a request starts.

use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Rotated, STARTED, in_memory_and_on_postgres, paths};
use serde_json::json;

async fn a_rotation_that_succeeds_is_answered_as_an_entry_of_the_history(app: App) {
    let main = Rotated::create(&app, "alice").await;

    let entry = main.rotate().await;

    assert_eq!(
        entry,
        json!({
            "id": entry["id"],
            "rotation_config_id": main.shown().await["id"],
            "version": 1,
            "triggered_by": main.person.id,
            "trigger_type": "manual",
            "status": "success",
            "started_at": STARTED,
            "completed_at": STARTED,
        })
    );
    assert_eq!(main.history().await, [entry]);
}

async fn a_success_is_shown_with_the_keys_it_wrote(app: App) {
    let main = Rotated::create(&app, "alice").await;

    main.succeed().await;

    let shown = main.shown().await;
    assert_eq!([&shown["status"], &shown["last_rotation_at"]], ["active", STARTED]);
    assert_eq!(shown.get("error_message"), None);
    assert_eq!(
        shown["injected_secrets"],
        json!([
            "MAIN_DB_USERNAME",
            "MAIN_DB_PASSWORD",
            "MAIN_DB_HOST",
            "MAIN_DB_PORT",
            "MAIN_DB_DATABASE",
            "MAIN_DB_URL",
        ])
    );
}

async fn readers_get_a_credential_that_logs_in(app: App) {
    let main = Rotated::create(&app, "alice").await;

    main.succeed().await;

    let (username, password) = main.served().await;
    assert!(app.database.admits(&username, &password));
    let path = paths::eso_secrets(&main.project, "staging");
    let url =
        format!("postgres://{username}:{password}@db.example.com:5433/shop?sslmode=verify-full");
    assert_eq!(
        main.reader.get(&path).await.is(200).json(),
        json!({
            "secrets": {
                "MAIN_DB_USERNAME": username,
                "MAIN_DB_PASSWORD": password,
                "MAIN_DB_HOST": "db.example.com",
                "MAIN_DB_PORT": "5433",
                "MAIN_DB_DATABASE": "shop",
                "MAIN_DB_URL": url,
            },
        })
    );
}

async fn the_two_users_take_turns(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let mut served = Vec::new();

    for _ in 0..3 {
        main.succeed().await;
        served.push(main.served().await);
    }

    assert!(served[0].0.ends_with("_a"), "{}", served[0].0);
    assert!(served[1].0.ends_with("_b"), "{}", served[1].0);
    assert_eq!(served[0].0, served[2].0);
    assert!(served[0].1 != served[2].1, "a password is used twice");
    assert!(
        app.database.admits(&served[1].0, &served[1].1),
        "the previous user is in its grace period"
    );
    main.works(&app).await;
}

async fn each_success_is_a_version_of_each_secret(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.succeed().await;
    main.succeed().await;

    let path = paths::secret(&main.project, "staging", "MAIN_DB_PASSWORD");
    let secret = main.person.get(&path).await.is(200).json();
    let history = main.person.get(&format!("{path}/history")).await.is(200).json();

    assert_eq!(secret["secret"]["version"], 2);
    assert_eq!(history["history"][0]["version"], 1);
    assert_eq!(history["history"][0]["change_type"], "rotated");
}

async fn a_rotation_that_is_paused_rotates_when_asked_and_stays_paused(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.person.put(&main.path, &json!({ "status": "paused" })).await.is(200);

    main.succeed().await;

    let shown = main.shown().await;
    assert_eq!(shown["status"], "paused");
    assert_eq!(shown.get("next_rotation_at"), None);
    main.works(&app).await;
}

async fn a_rotation_that_is_disabled_is_not_rotated(app: App) {
    let main = Rotated::create(&app, "alice").await;
    main.person.delete(&main.project).await.is(204);
    main.person.post(&format!("{}/restore", main.project), &json!({})).await.is(200);
    assert_eq!(main.shown().await["status"], "disabled");

    let reply = main.person.post(&format!("{}/rotate", main.path), &json!({})).await;

    reply.is(403).says("this rotation is disabled: set its status to active");
    assert!(main.history().await.is_empty());
    assert_eq!(app.database.calls(), [""; 0]);
}

async fn a_rotation_in_error_rotates_when_asked_and_is_active_again(app: App) {
    let main = Rotated::create(&app, "alice").await;
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);
    assert_eq!(main.rotate().await["status"], "failed");
    assert_eq!(main.shown().await["status"], "error");

    main.succeed().await;

    let shown = main.shown().await;
    assert_eq!(shown["status"], "active");
    assert_eq!(shown.get("error_message"), None);
}

async fn no_body_is_needed_and_none_is_read(app: App) {
    let main = Rotated::create(&app, "alice").await;
    let path = format!("{}/rotate", main.path);

    main.person.raw(http::Method::POST, &path, &[], "").await.is(200);
    main.person.raw(http::Method::POST, &path, &[], "{").await.is(200);
}

async fn an_unknown_rotation_is_not_rotated(app: App) {
    let main = Rotated::create(&app, "alice").await;

    for name in ["none", "Main-db", "a b"] {
        let path = paths::rotation(&main.project, "staging", &name.replace(' ', "%20"));
        let reply = main.person.post(&format!("{path}/rotate"), &json!({})).await;
        reply.is(404).says("rotation not found");
    }
}

async fn a_rotation_is_recorded_as_begun_by_a_person_and_ended_by_the_service(app: App) {
    let main = Rotated::create(&app, "alice").await;

    main.succeed().await;

    let begun = app.entry(&main.person.team, "rotation.started").await;
    assert_eq!(begun.actor_id.map(|id| id.to_string()), Some(main.person.id.clone()));
    assert_eq!(begun.resource_name.as_deref(), Some("main-db"));
    let ended = app.entry(&main.person.team, "rotation.completed").await;
    assert_eq!((ended.actor_type.as_ref(), ended.actor_id), ("system", None));
    let details: serde_json::Value = serde_json::from_str(&ended.metadata).unwrap();
    assert_eq!([&details["version"], &details["trigger_type"]], [&json!(1), &json!("manual")]);
    assert_eq!(details["injected_secrets"][1], "MAIN_DB_PASSWORD");
}

in_memory_and_on_postgres![
    a_rotation_that_succeeds_is_answered_as_an_entry_of_the_history,
    a_success_is_shown_with_the_keys_it_wrote,
    readers_get_a_credential_that_logs_in,
    the_two_users_take_turns,
    each_success_is_a_version_of_each_secret,
    a_rotation_that_is_paused_rotates_when_asked_and_stays_paused,
    a_rotation_that_is_disabled_is_not_rotated,
    a_rotation_in_error_rotates_when_asked_and_is_active_again,
    no_body_is_needed_and_none_is_read,
    an_unknown_rotation_is_not_rotated,
    a_rotation_is_recorded_as_begun_by_a_person_and_ended_by_the_service,
];
