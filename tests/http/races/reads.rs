//! Tests of reading secrets while other requests write them.

use std::collections::BTreeSet;

use secrets_tests::{App, Client, Reply, paths};
use serde_json::{Value, json};

use super::{CROWD, Crowd};

/// Secret keys that each import sets, all to the same value.
const KEYS: [&str; 4] = ["ALPHA", "BRAVO", "CHARLIE", "DELTA"];

async fn an_export_sees_each_import_whole_or_not_at_all(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let secrets = paths::secrets(&project, "development");
    person.post(&format!("{secrets}/bulk"), &import(CROWD)).await.is(200);
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let exports = crowd
        .race(|number, client| {
            let secrets = secrets.clone();
            async move {
                if number % 2 == 0 {
                    client.post(&format!("{secrets}/bulk"), &import(number)).await.is(200);
                    return Vec::new();
                }
                vec![export(&client, &secrets).await, export(&client, &secrets).await]
            }
        })
        .await;

    for export in exports.iter().flatten() {
        let secrets = export.is(200).json()["secrets"].as_array().unwrap().clone();
        let seen: BTreeSet<_> = secrets
            .iter()
            .map(|secret| format!("{} {}", secret["value"], secret["version"]))
            .collect();
        assert_eq!((secrets.len(), seen.len()), (4, 1), "{seen:?}");
    }
}

async fn a_secret_that_comes_and_goes_is_there_or_is_not(app: App) {
    let person = app.person("ann").await;
    let project = person.project("web").await;
    let secrets = paths::secrets(&project, "development");
    let crowd = Crowd::of(&app, &app.jwt("ann")).await;

    let replies = crowd
        .race(|number, client| {
            let (secrets, one) = (secrets.clone(), format!("{secrets}/KEY"));
            let value = json!({ "key": "KEY", "value": format!("kvc_race_{number}") });
            async move {
                match number % 4 {
                    0 => (client.post(&secrets, &value).await, [201, 409]),
                    1 => (client.put(&one, &value).await, [200, 404]),
                    2 => (client.delete(&one).await, [204, 404]),
                    _ => (client.get(&one).await, [200, 404]),
                }
            }
        })
        .await;

    for (reply, expected) in &replies {
        assert!(expected.contains(&reply.status), "{expected:?}: {reply:?}");
    }
    let made = replies.iter().filter(|(reply, _)| reply.status == 201).count();
    let deleted = replies.iter().filter(|(reply, _)| reply.status == 204).count();
    let left = person.get(&secrets).await.json()["secrets"].as_array().unwrap().len();
    assert_eq!(made - deleted, left);
}

secrets_tests::on_every_store!(
    an_export_sees_each_import_whole_or_not_at_all,
    a_secret_that_comes_and_goes_is_there_or_is_not,
);

fn import(number: usize) -> Value {
    let value = format!("kvc_race_{number}");
    let secrets: Vec<_> = KEYS.iter().map(|key| json!({ "key": key, "value": value })).collect();
    json!({ "secrets": secrets, "overwrite": true })
}

async fn export(client: &Client, secrets: &str) -> Reply {
    client.get(&format!("{secrets}/export")).await
}
