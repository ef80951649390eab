//! Tests of concurrent writes to the secrets of one environment.

use std::collections::BTreeSet;

use secrets_tests::{App, Reply, paths};
use serde_json::{Value, json};

use super::{CROWD, Crowd, count, outcome};

/// Secret keys that each import writes.
const KEYS: [&str; 5] = ["ALPHA", "BRAVO", "CHARLIE", "DELTA", "ECHO"];

async fn of_many_creations_of_a_key_one_happens(app: App) {
    let person = app.person("ann").await;
    let path = paths::secrets(&person.project("web").await, "development");
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let body = json!({ "key": "KEY", "value": format!("kvc_race_{number}") });
            let path = path.clone();
            async move { client.post(&path, &body).await }
        })
        .await;

    outcome(&replies, (201, 1), (409, 63));
    let listed = person.get(&path).await.json();
    assert_eq!(listed["secrets"].as_array().unwrap().len(), 1);
    assert_eq!(listed["secrets"][0]["version"], 1);
}

async fn many_updates_of_a_secret_all_happen_one_after_the_other(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    person.secret(&project, "development", "KEY", "kvc_race_first").await;
    let path = paths::secret(&project, "development", "KEY");
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let path = path.clone();
            let body = json!({ "value": format!("kvc_race_{number}") });
            async move { client.put(&path, &body).await }
        })
        .await;

    assert_eq!(count(&replies, 200), CROWD);
    let mut given: Vec<_> = replies.iter().map(version).collect();
    let last = given.iter().position(|version| *version == 65).unwrap();
    given.sort_unstable();
    assert_eq!(given, (2..=65).collect::<Vec<_>>());
    let shown = person.get(&path).await.json();
    assert_eq!(shown["secret"]["value"], format!("kvc_race_{last}"));
    assert_eq!(history(&app, &project, "KEY").await, (1..=65).rev().collect::<Vec<_>>());
}

async fn of_many_updates_of_one_version_one_happens(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    person.secret(&project, "development", "KEY", "kvc_race_first").await;
    let path = paths::secret(&project, "development", "KEY");
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let path = path.clone();
            let body = json!({ "value": format!("kvc_race_{number}"), "expected_version": 1 });
            async move { client.put(&path, &body).await }
        })
        .await;

    outcome(&replies, (200, 1), (409, 63));
    for reply in replies.iter().filter(|reply| reply.status == 409) {
        reply.code("version_conflict");
    }
    let winner = replies.iter().position(|reply| reply.status == 200).unwrap();
    let shown = person.get(&path).await.json();
    assert_eq!(shown["secret"]["value"], format!("kvc_race_{winner}"));
    assert_eq!(shown["secret"]["version"], 2);
}

async fn of_many_rollbacks_of_one_version_one_happens(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    person.secret(&project, "development", "KEY", "kvc_race_first").await;
    let path = paths::secret(&project, "development", "KEY");
    person.put(&path, &json!({ "value": "kvc_race_second" })).await.is(200);
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|_, client| {
            let path = format!("{path}/rollback");
            async move { client.post(&path, &json!({ "version": 1, "expected_version": 2 })).await }
        })
        .await;

    outcome(&replies, (200, 1), (409, 63));
    let shown = person.get(&path).await.json();
    assert_eq!(
        (&shown["secret"]["version"], &shown["secret"]["value"]),
        (&json!(3), &json!("kvc_race_first"))
    );
    assert_eq!(history(&app, &project, "KEY").await, [3, 2, 1]);
}

async fn of_many_deletions_of_a_secret_one_happens(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    person.secret(&project, "development", "KEY", "kvc_race_first").await;
    let path = paths::secret(&project, "development", "KEY");
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|_, client| {
            let path = path.clone();
            async move { client.delete(&path).await }
        })
        .await;

    outcome(&replies, (204, 1), (404, 63));
}

async fn imports_that_overwrite_happen_whole_one_after_the_other(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let bulk = format!("{}/bulk", paths::secrets(&project, "development"));
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let (path, body) = (bulk.clone(), import(number, true));
            async move { client.post(&path, &body).await }
        })
        .await;

    assert_eq!(count(&replies, 200), CROWD, "{replies:#?}");
    let made = replies.iter().filter(|reply| reply.json()["created"] == 5).count();
    let updated = replies.iter().filter(|reply| reply.json()["updated"] == 5).count();
    assert_eq!((made, updated), (1, 63));
    let (values, versions) = exported(&person.get(&export(&project)).await);
    assert_eq!(values.len(), 1, "all keys are of the same import: {values:?}");
    assert_eq!(versions, [64; 5]);
}

async fn of_imports_that_do_not_overwrite_one_happens_whole(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let bulk = format!("{}/bulk", paths::secrets(&project, "development"));
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let (path, body) = (bulk.clone(), import(number, false));
            async move { client.post(&path, &body).await }
        })
        .await;

    assert_eq!(count(&replies, 200), CROWD, "{replies:#?}");
    let made = replies.iter().filter(|reply| reply.json()["created"] == 5).count();
    let skipped = replies.iter().filter(|reply| reply.json()["skipped"] == 5).count();
    assert_eq!((made, skipped), (1, 63));
    let (values, versions) = exported(&person.get(&export(&project)).await);
    assert_eq!((values.len(), versions), (1, vec![1; 5]));
}

async fn imports_and_single_updates_wait_for_each_other(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let secrets = paths::secrets(&project, "development");
    person.post(&format!("{secrets}/bulk"), &import(CROWD, true)).await.is(200);
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let secrets = secrets.clone();
            async move {
                if number % 2 == 0 {
                    return client.post(&format!("{secrets}/bulk"), &import(number, true)).await;
                }
                let body = json!({ "value": format!("kvc_race_{number}") });
                client.put(&format!("{secrets}/CHARLIE"), &body).await
            }
        })
        .await;

    assert_eq!(count(&replies, 200), CROWD, "{replies:#?}");
    let (_, versions) = exported(&person.get(&export(&project)).await);
    assert_eq!(versions, [33, 33, 65, 33, 33]);
    assert_eq!(history(&app, &project, "CHARLIE").await, (1..=65).rev().collect::<Vec<_>>());
}

secrets_tests::on_every_store!(
    of_many_creations_of_a_key_one_happens,
    many_updates_of_a_secret_all_happen_one_after_the_other,
    of_many_updates_of_one_version_one_happens,
    of_many_rollbacks_of_one_version_one_happens,
    of_many_deletions_of_a_secret_one_happens,
    imports_that_overwrite_happen_whole_one_after_the_other,
    of_imports_that_do_not_overwrite_one_happens_whole,
    imports_and_single_updates_wait_for_each_other,
);

/// Returns a request body that imports all secret keys with the value `kvc_race_{number}`. If the
/// number is odd, the keys are in reverse order, so that imports that lock one secret after another
/// could deadlock.
fn import(number: usize, overwrite: bool) -> Value {
    let value = format!("kvc_race_{number}");
    let mut secrets: Vec<_> =
        KEYS.iter().map(|key| json!({ "key": key, "value": value })).collect();
    if number % 2 == 1 {
        secrets.reverse();
    }
    json!({ "secrets": secrets, "overwrite": overwrite })
}

fn version(reply: &Reply) -> u64 {
    reply.json()["secret"]["version"].as_u64().unwrap()
}

fn export(project: &str) -> String {
    format!("{}/export", paths::secrets(project, "development"))
}

/// Returns the distinct values in an export, and the versions of all its secrets in the order of
/// their keys.
fn exported(reply: &Reply) -> (BTreeSet<String>, Vec<u64>) {
    let json = reply.is(200).json();
    let secrets = json["secrets"].as_array().unwrap();
    let values = secrets.iter().map(|secret| secret["value"].as_str().unwrap().to_owned());
    let versions = secrets.iter().map(|secret| secret["version"].as_u64().unwrap());
    (values.collect(), versions.collect())
}

/// Returns the version numbers of a secret in the store, newest first, including the current one.
async fn history(app: &App, project: &str, key: &str) -> Vec<u32> {
    let record = app.record(project, "development", key).await;
    let mut reads = app.store.read().await.unwrap();
    let replaced = reads.secret_versions(record.id, u32::MAX, u32::MAX).await.unwrap();
    let replaced = replaced.into_iter().map(|version| version.version);
    std::iter::once(record.version).chain(replaced).collect()
}
