//! Tests of replacing the encryption keys of projects: all reads return the same data as before,
//! and no record stays encrypted with a replaced key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use secrets_core::keys;
use secrets_core::model::{Clock as _, ProjectId, ids};
use secrets_core::store::{ProjectKeyCounts, SealedColumn, SecretRecord};
use secrets_core::testing::fixtures::project_rows;
use secrets_tests::{App, Person, Rotated, flipped, on_every_store, paths};
use serde_json::{Value, json};

/// Creates secrets with descriptions and previous values in a project, and an environment that
/// inherits these secrets and hides some of them.
async fn fill(person: &Person, project: &str) {
    person.environment(project, "preview", Some("staging")).await;
    for key in ["ONE", "TWO"] {
        person.secret(project, "staging", key, "kvc_first").await;
        let change = json!({ "value": "kvc_second", "description": "kvc_described" });
        person.put(&paths::secret(project, "staging", key), &change).await.is(200);
    }
    let hidden = json!({ "key": "ONE", "hidden": true });
    person.post(&paths::secrets(project, "preview"), &hidden).await.is(201);
}

/// Returns everything that the API shows about the secrets of a project: the bodies of lists,
/// exports and histories, with their ETags.
async fn seen(person: &Person, project: &str) -> Vec<Value> {
    let mut seen = Vec::new();
    for path in [
        paths::secrets(project, "preview"),
        paths::secret(project, "preview", "export"),
        paths::secret(project, "staging", "ONE/history?values=true"),
        paths::secret(project, "staging", "TWO/history?values=true"),
    ] {
        let reply = person.get(&path).await;
        reply.is(200);
        seen.push(json!([reply.header("etag"), reply.json()]));
    }
    seen
}

async fn request(app: &App) {
    app.wait(TimeDelta::seconds(1));
    keys::request_project_keys(app.store.as_ref(), app.clock.now()).await.unwrap();
}

async fn replace(app: &App) {
    keys::replace_project_keys(app.service.engine()).await.unwrap();
}

async fn counts(app: &App) -> ProjectKeyCounts {
    keys::status(app.store.as_ref()).await.unwrap().projects
}

fn id(project: &str) -> ProjectId {
    ids::parse(paths::last(project)).unwrap().into()
}

/// Returns, for each encrypted column, the number of a project's records that are encrypted with
/// this version of the project key.
async fn records(app: &App, project: &str, version: u32) -> [usize; 7] {
    let mut reads = app.store.read().await.unwrap();
    let mut numbers = [0; 7];
    for (number, column) in numbers.iter_mut().zip(SealedColumn::ALL) {
        *number = project_rows(&mut *reads, column, (id(project), version)).await.len();
    }
    numbers
}

async fn assert_whole(app: &App) {
    let verified = app.service.verify_records().await.unwrap();
    assert!(verified.unreadable.is_empty() && verified.unreadable_rotations.is_empty());
}

async fn everything_reads_as_before_under_new_keys(app: App) {
    let rotated = Rotated::create(&app, "alice").await;
    let (alice, project) = (&rotated.person, &rotated.project);
    fill(alice, project).await;
    rotated.succeed().await;
    let hook =
        json!({ "url": "https://hooks.example.com/rotated", "events": ["rotation.completed"] });
    alice.post(&format!("{}/webhooks", rotated.path), &hook).await.is(201);
    let (other, empty) = (alice.project("Other").await, alice.project("Empty").await);
    fill(alice, &other).await;
    let before = [seen(alice, project).await, seen(alice, &other).await];
    let first = [records(&app, project, 1).await, records(&app, &other, 1).await];

    request(&app).await;
    replace(&app).await;

    let current = ProjectKeyCounts { current: 3, replaced: 3, retired: 0 };
    assert_eq!(counts(&app).await, current);
    for (place, project) in [project, &other].into_iter().enumerate() {
        assert_eq!(records(&app, project, 1).await, [0; 7]);
        assert_eq!(records(&app, project, 2).await, first[place]);
        assert_eq!(seen(alice, project).await, before[place]);
    }
    assert!(
        first[0].iter().enumerate().all(|(place, number)| place == 4 || place == 5 || *number > 0)
    );
    assert_whole(&app).await;
    rotated.works(&app).await;
    rotated.succeed().await;
    alice.secret(&empty, "staging", "NEW", "kvc_new").await;
    assert_eq!(app.record(&empty, "staging", "NEW").await.sealed.key_version(), Some(2));

    // No records are replaced without a further request. Keys are retired after ten minutes.
    replace(&app).await;
    assert_eq!(counts(&app).await, current);
    app.wait(TimeDelta::minutes(11));
    replace(&app).await;
    assert_eq!(counts(&app).await, ProjectKeyCounts { current: 3, replaced: 0, retired: 3 });
    app.restarted().await.anonymous().get("/health").await.is(200);
    assert_whole(&app).await;
}

async fn a_second_replacement_follows_the_first(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;
    fill(&alice, &project).await;
    let before = seen(&alice, &project).await;

    for version in 2..=4 {
        request(&app).await;
        replace(&app).await;
        assert_eq!(records(&app, &project, version - 1).await, [0; 7]);
        assert_eq!(seen(&alice, &project).await, before);
    }

    assert_eq!(counts(&app).await, ProjectKeyCounts { current: 1, replaced: 3, retired: 0 });
    assert_whole(&app).await;
}

async fn a_deleted_project_gets_a_new_key_and_can_be_restored(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;
    fill(&alice, &project).await;
    let before = seen(&alice, &project).await;
    alice.delete(&project).await.is(204);

    request(&app).await;
    replace(&app).await;

    alice.post(&format!("{project}/restore"), &json!({})).await.is(200);
    assert_eq!(records(&app, &project, 1).await, [0; 7]);
    assert_eq!(seen(&alice, &project).await, before);
}

async fn a_damaged_record_stays_and_holds_up_no_other(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;
    fill(&alice, &project).await;
    let record = app.record(&project, "staging", "ONE").await;
    let damaged = SecretRecord { sealed: flipped(&record.sealed, 40), ..record };
    app.rewrite(std::slice::from_ref(&damaged)).await;

    request(&app).await;
    replace(&app).await;

    let failing = app.failing().await;
    let [(kind, failed, _)] = &failing[..] else { panic!("{failing:?}") };
    assert_eq!(
        (kind.as_str(), failed.as_str()),
        ("project keys", id(&project).to_string().as_str())
    );
    assert_eq!(app.record(&project, "staging", "ONE").await.sealed, damaged.sealed);
    assert_eq!(app.record(&project, "staging", "TWO").await.sealed.key_version(), Some(2));
    assert_eq!(records(&app, &project, 1).await, [1, 0, 0, 0, 0, 0, 0]);
    app.wait(TimeDelta::minutes(11));
    replace(&app).await;
    assert_eq!(counts(&app).await, ProjectKeyCounts { current: 1, replaced: 1, retired: 0 });
}

async fn concurrent_changes_are_not_lost(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("Web").await;
    let names: Vec<_> = (0..20).map(|number| format!("KEY_{number}")).collect();
    for name in &names {
        alice.secret(&project, "staging", name, "kvc_0").await;
    }
    let is_done = Arc::new(AtomicBool::new(false));
    let writing = {
        let (alice, project, names) = (alice.clone(), project.clone(), names.clone());
        let is_done = Arc::clone(&is_done);
        tokio::spawn(async move {
            let mut round = 0;
            while !is_done.load(Ordering::SeqCst) || round == 0 {
                round += 1;
                for name in &names {
                    let change = json!({ "value": format!("kvc_{round}") });
                    alice.put(&paths::secret(&project, "staging", name), &change).await.is(200);
                }
            }
            round
        })
    };

    for _ in 0..3 {
        request(&app).await;
        replace(&app).await;
    }
    is_done.store(true, Ordering::SeqCst);
    let round = writing.await.unwrap();
    replace(&app).await;

    let export = alice.get(&paths::secret(&project, "staging", "export")).await.is(200).json();
    let secrets = export["secrets"].as_array().unwrap();
    assert_eq!(secrets.len(), names.len());
    let last = format!("kvc_{round}");
    assert!(secrets.iter().all(|secret| secret["value"] == last.as_str()), "not all have {last}");
    for version in 1..=3 {
        assert_eq!(records(&app, &project, version).await, [0; 7], "{version}");
    }
    assert_whole(&app).await;
}

on_every_store![
    everything_reads_as_before_under_new_keys,
    a_second_replacement_follows_the_first,
    a_deleted_project_gets_a_new_key_and_can_be_restored,
    a_damaged_record_stays_and_holds_up_no_other,
    concurrent_changes_are_not_lost,
];
