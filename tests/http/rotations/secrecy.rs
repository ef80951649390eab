//! Tests of secrecy: the credentials in the settings of a rotation appear nowhere, and the
//! passwords of the rotated users appear only in the secrets of the environment.

use secrets_core::ports::rotator::Fault;
use secrets_core::testing::rotator::Script;
use secrets_tests::{App, Dump, Rotated, in_memory_and_on_postgres, lambda, paths, postgresql};
use serde_json::json;

/// Creates a rotation through a Lambda function, and runs one failing and two successful attempts.
async fn worn(app: &App) -> Rotated {
    let mut body = postgresql("main-db");
    body["connection_method"] = json!("proxied");
    body["proxy"] = lambda();
    let main = Rotated::create_as(app, "alice", &body).await;
    app.database.script("apply", [Script::Fail(Fault::AdminRejected)]);
    main.rotate().await;
    main.succeed().await;
    main.succeed().await;
    app.database.script("test", [Script::Fail(Fault::TlsUntrusted)]);
    main
}

async fn only_answers_with_secrets_contain_a_credential(app: App) {
    let main = worn(&app).await;
    let all = paths::rotations(&main.project, "staging");
    let mut body = postgresql("other");
    body["connection_method"] = json!("proxied");
    body["proxy"] = lambda();
    let mut candidate = body.clone();
    for field in ["name", "rotation_interval_days"] {
        candidate.as_object_mut().unwrap().remove(field);
    }
    let mut broken = body.clone();
    broken["connection"]["port"] = json!(0);
    let person = &main.person;

    let answers = [
        person.post(&all, &body).await,
        person.post(&all, &body).await,
        person.post(&all, &broken).await,
        person.post(&format!("{all}/test"), &candidate).await,
        person.post(&format!("{}/test", main.path), &json!({})).await,
        person.get(&all).await,
        person.get(&main.path).await,
        person.get(&format!("{}/history", main.path)).await,
        person.put(&main.path, &json!({ "status": "paused" })).await,
        person.post(&format!("{}/rotate", main.path), &json!({})).await,
        person.get(&format!("/api/v1/teams/{}/audit", person.team)).await,
        person.get("/api/v1/account/data-export").await,
        person.delete(&main.path).await,
    ];

    let password = main.served().await.1;
    for answer in answers {
        let text = answer.text();
        // No value appears; all values of tests begin with `kvc_`.
        assert!(!text.contains("kvc_"), "{text}");
        assert!(!text.contains(&password), "{text}");
        assert!(!text.contains("rotator"), "{text}");
    }
}

async fn no_row_contains_a_credential(app: App) {
    let main = worn(&app).await;
    let password = main.served().await.1;

    let dump = Dump::of(app.store.as_ref(), &["alice"]).await;

    assert!(dump.holds("main-db"), "the rotation is not in the dump");
    for text in ["kvc_", password.as_str(), "db.example.com"] {
        assert!(!dump.holds(text), "{text} is in a row");
    }
}

async fn no_audit_entry_contains_a_credential(app: App) {
    let main = worn(&app).await;
    let candidate = secrets_tests::connection();
    let all = paths::rotations(&main.project, "staging");
    main.person.post(&format!("{all}/test"), &candidate).await.is(200);
    main.person.post(&format!("{}/test", main.path), &json!({})).await.is(200);
    let password = main.served().await.1;

    let entries = app.audit(&main.person.team).await;

    assert!(entries.iter().filter(|entry| entry.action.starts_with("rotation.")).count() > 5);
    for entry in entries {
        let text = format!("{entry:?}");
        assert!(!text.contains("kvc_") && !text.contains(&password), "{text}");
        assert!(!text.contains("db.example.com"), "{text}");
    }
}

in_memory_and_on_postgres![
    only_answers_with_secrets_contain_a_credential,
    no_row_contains_a_credential,
    no_audit_entry_contains_a_credential,
];
