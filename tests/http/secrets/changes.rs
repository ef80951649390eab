//! Tests of `/api/v1/projects/{projectId}/changes`: a set of changes to secrets of several
//! environments, which succeed or fail together.

mod dry_run;
mod manifests;
mod reads;
mod refusals;

use secrets_tests::{App, Client, Dump, Reply, on_every_store, paths};
use serde_json::{Value, json};

fn set(environment: &str, key: &str, value: &str) -> Value {
    json!({ "environment": environment, "key": key, "action": "set", "value": value })
}

fn copy(from: &str, environment: &str, key: &str) -> Value {
    json!({ "environment": environment, "key": key, "action": "copy", "from": from })
}

fn simple(action: &str, environment: &str, key: &str) -> Value {
    json!({ "environment": environment, "key": key, "action": action })
}

/// Returns this change of a change set with the field `field` set to `value`.
fn with(mut change: Value, field: &str, value: impl Into<Value>) -> Value {
    change[field] = value.into();
    change
}

async fn change(client: &Client, project: &str, changes: &[Value]) -> Reply {
    client.post(&format!("{project}/changes"), &json!({ "changes": changes })).await
}

async fn plan(client: &Client, project: &str, changes: &[Value]) -> Reply {
    let body = json!({ "dry_run": true, "changes": changes });
    client.post(&format!("{project}/changes"), &body).await
}

/// Returns the result, the previous version and the new version of each change in a reply to a
/// change set.
fn results(reply: &Reply) -> Value {
    let reply = reply.is(200).json();
    let changes = reply["changes"].as_array().unwrap().iter();
    changes
        .map(|change| json!([change["result"], change["previous_version"], change["version"]]))
        .collect()
}

async fn value(client: &Client, project: &str, environment: &str, key: &str) -> Value {
    let reply = client.get(&paths::secret(project, environment, key)).await;
    reply.is(200).json()["secret"]["value"].clone()
}

async fn dump(app: &App) -> Dump {
    Dump::of(&*app.store, &["alice", "bob"]).await
}

async fn a_change_set_changes_several_environments(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("production")).await;
    for (environment, key) in
        [("staging", "API_URL"), ("preview", "OLD"), ("preview", "NOTE"), ("preview", "SAME")]
    {
        alice.secret(&web, environment, key, "kvc_one").await;
    }

    let reply = change(
        &alice,
        &web,
        &[
            with(set("staging", "API_URL", "kvc_two"), "expected_version", 1),
            with(copy("staging", "production", "API_URL"), "expected_version", 0),
            simple("hide", "preview", "SMTP"),
            with(simple("delete", "preview", "OLD"), "expected_version", 1),
            with(simple("describe", "preview", "NOTE"), "description", "Read this"),
            set("preview", "SAME", "kvc_one"),
        ],
    )
    .await;

    let result = |environment: &str, key: &str, result: &str, previous: u32, version: u32| {
        json!({
            "environment": environment, "key": key, "result": result,
            "previous_version": previous, "version": version,
        })
    };
    assert_eq!(
        reply.is(200).json(),
        json!({
            "dry_run": false, "created": 1, "updated": 1, "same": 1, "hidden": 1, "deleted": 1,
            "described": 1,
            "changes": [
                result("staging", "API_URL", "updated", 1, 2),
                result("production", "API_URL", "created", 0, 1),
                result("preview", "SMTP", "hidden", 0, 1),
                { "environment": "preview", "key": "OLD", "result": "deleted", "previous_version": 1 },
                result("preview", "NOTE", "described", 1, 1),
                result("preview", "SAME", "same", 1, 1),
            ],
        })
    );
    assert_eq!(value(&alice, &web, "staging", "API_URL").await, "kvc_two");
    // The copy has the value from before the change set.
    assert_eq!(value(&alice, &web, "preview", "API_URL").await, "kvc_one");
    alice.get(&paths::secret(&web, "preview", "OLD")).await.is(404);
    alice.get(&paths::secret(&web, "preview", "SMTP")).await.is(404);
    let note = alice.get(&paths::secret(&web, "preview", "NOTE")).await.json();
    assert_eq!(note["secret"]["description"], "Read this");
}

async fn the_value_before_a_change_set_is_in_the_history(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "API_URL", "kvc_one").await;

    change(&alice, &web, &[set("staging", "API_URL", "kvc_two")]).await.is(200);

    let history = alice.get(&paths::secret(&web, "staging", "API_URL/history")).await.json();
    assert_eq!(history["history"][0]["value"], "kvc_one");
}

async fn each_changed_secret_has_an_entry_like_that_of_a_single_change(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["A", "B", "C", "D"] {
        alice.secret(&web, "staging", key, "kvc_one").await;
    }
    let before: Vec<_> = app.audit(&alice.team).await.into_iter().map(|entry| entry.id).collect();

    let changes = [
        set("staging", "NEW", "kvc_new"),
        set("staging", "A", "kvc_two"),
        simple("hide", "staging", "B"),
        simple("delete", "staging", "C"),
        with(simple("describe", "staging", "D"), "description", "D"),
        copy("staging", "production", "D"),
    ];
    change(&alice, &web, &changes).await.is(200);

    let mut entries = app.audit(&alice.team).await;
    entries.retain(|entry| !before.contains(&entry.id) && entry.action != "secrets.exported");
    let mut written: Vec<_> = entries
        .iter()
        .map(|entry| {
            let name = |name: &Option<String>| name.clone().unwrap();
            let place = (name(&entry.environment_name), name(&entry.resource_name));
            (place, entry.action.to_string(), entry.metadata.clone())
        })
        .collect();
    written.sort();
    let entry = |environment: &str, key: &str, action: &str, details: &str| {
        ((environment.to_owned(), key.to_owned()), action.to_owned(), details.to_owned())
    };
    let copied = r#"{"copied_from":"staging","version":1}"#;
    assert_eq!(
        written,
        [
            entry("production", "D", "secret.created", copied),
            entry("staging", "A", "secret.updated", r#"{"version":2}"#),
            entry("staging", "B", "secret.hidden", r#"{"version":2}"#),
            entry("staging", "C", "secret.deleted", r#"{"version":1}"#),
            entry("staging", "D", "secret.updated", r#"{"version":1}"#),
            entry("staging", "NEW", "secret.created", r#"{"version":1}"#),
        ]
    );
    let is_alices = |entry: &secrets_core::store::AuditRecord| {
        entry.project_name.as_deref() == Some("Web")
            && entry.actor_id.map(|id| id.to_string()).as_ref() == Some(&alice.id)
    };
    assert!(entries.iter().all(is_alices), "{entries:#?}");
}

async fn an_unchanged_secret_is_not_written(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let body = json!({ "key": "KEY", "value": "kvc_one", "description": "One" });
    alice.post(&paths::secrets(&web, "staging"), &body).await.is(201);
    alice
        .post(&paths::secrets(&web, "staging"), &json!({ "key": "H", "hidden": true }))
        .await
        .is(201);
    let before = dump(&app).await;

    let same = [
        with(set("staging", "KEY", "kvc_one"), "description", "One"),
        simple("hide", "staging", "H"),
    ];
    let reply = change(&alice, &web, &same).await;

    assert_eq!(results(&reply), json!([["same", 1, 1], ["same", 1, 1]]));
    assert_eq!(before.changes(&dump(&app).await), Vec::<String>::new());
    let described = [with(set("staging", "KEY", "kvc_one"), "description", "Two")];
    let reply = change(&alice, &web, &described).await;
    assert_eq!(results(&reply), json!([["described", 1, 1]]));
    // A hidden secret has no value, not even an empty one.
    let shown = change(&alice, &web, &[set("staging", "H", "")]).await;
    assert_eq!(results(&shown), json!([["updated", 1, 2]]));
}

async fn a_conflict_names_the_versions_and_nothing_is_written(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "preview", Some("staging")).await;
    for key in ["A", "B"] {
        alice.secret(&web, "staging", key, "kvc_one").await;
    }
    let before = dump(&app).await;
    let changes = [
        set("production", "NEW", "kvc_new"),
        with(set("staging", "A", "kvc_two"), "expected_version", 2),
        with(set("staging", "B", "kvc_two"), "expected_version", 1),
        with(set("staging", "C", "kvc_two"), "expected_version", 1),
        with(copy("staging", "preview", "A"), "expected_version", 0),
        simple("delete", "preview", "B"),
        with(simple("describe", "production", "A"), "description", "A"),
        with(simple("hide", "staging", "D"), "expected_version", 0),
    ];

    for reply in [change(&alice, &web, &changes).await, plan(&alice, &web, &changes).await] {
        reply.is(409).code("version_conflict").says("4 secrets are not at the expected version");
        assert_eq!(
            reply.json()["details"],
            json!({ "conflicts": [
                { "index": 1, "environment": "staging", "key": "A", "expected_version": 2, "version": 1 },
                { "index": 3, "environment": "staging", "key": "C", "expected_version": 1, "version": 0 },
                { "index": 5, "environment": "preview", "key": "B", "version": 0 },
                { "index": 6, "environment": "production", "key": "A", "version": 0 },
            ] })
        );
    }

    assert_eq!(before.changes(&dump(&app).await), Vec::<String>::new());
}

async fn a_dry_run_writes_nothing(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["A", "B", "C"] {
        alice.secret(&web, "staging", key, "kvc_one").await;
    }
    let changes = [
        set("staging", "A", "kvc_two"),
        copy("staging", "production", "A"),
        simple("hide", "staging", "B"),
        simple("delete", "staging", "C"),
        set("development", "NEW", "kvc_new"),
    ];
    let before = dump(&app).await;

    let planned = plan(&alice, &web, &changes).await;

    assert_eq!(before.changes(&dump(&app).await), Vec::<String>::new());
    assert!(!planned.text().contains("kvc_"), "{}", planned.text());
    let mut expected = planned.is(200).json();
    assert_eq!(expected["dry_run"], true);
    let made = change(&alice, &web, &changes).await.is(200).json();
    expected["dry_run"] = json!(false);
    assert_eq!(made, expected);
}

async fn a_copy_takes_the_effective_value_of_the_source(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.environment(&web, "middle", Some("production")).await;
    alice.environment(&web, "near", Some("middle")).await;
    alice.secret(&web, "production", "FAR", "kvc_far").await;
    alice.secret(&web, "production", "GONE", "kvc_gone").await;
    alice.secret(&web, "middle", "OWN", "kvc_own").await;
    let hidden = json!({ "key": "GONE", "hidden": true });
    alice.post(&paths::secrets(&web, "middle"), &hidden).await.is(201);

    let copies = [
        copy("near", "staging", "FAR"),
        copy("near", "staging", "OWN"),
        // A copy of an inherited value becomes a value of the environment itself.
        copy("near", "near", "FAR"),
        // Two environments exchange values: both copies use the values from before the change set.
        copy("production", "development", "FAR"),
    ];
    let reply = change(&alice, &web, &copies).await;

    assert_eq!(results(&reply), json!(vec![json!(["created", 0, 1]); 4]));
    for (environment, key, expected) in
        [("staging", "FAR", "kvc_far"), ("staging", "OWN", "kvc_own"), ("near", "FAR", "kvc_far")]
    {
        assert_eq!(value(&alice, &web, environment, key).await, expected);
    }
    let near = alice.get(&paths::secret(&web, "near", "FAR")).await.json();
    assert_eq!(near["secret"].get("inherited_from"), None);
    for (from, key) in [("near", "GONE"), ("near", "NONE"), ("nowhere", "FAR")] {
        let reply = change(&alice, &web, &[copy(from, "staging", key)]).await;
        reply.is(400).names("changes[0].from");
    }
    let exchanged = [set("staging", "FAR", "kvc_new"), copy("staging", "development", "FAR")];
    change(&alice, &web, &exchanged).await.is(200);
    assert_eq!(value(&alice, &web, "development", "FAR").await, "kvc_far");
}

async fn a_change_set_holds_1000_changes(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let changes = |number: usize, value: &str| -> Vec<Value> {
        let environments = ["staging", "production"];
        (0..number).map(|n| set(environments[n % 2], &format!("KEY_{n}"), value)).collect()
    };

    change(&alice, &web, &changes(1_001, "kvc_one")).await.is(400).names("changes");
    let created = change(&alice, &web, &changes(1_000, "kvc_one")).await.is(200).json();
    let updated = change(&alice, &web, &changes(1_000, "kvc_two")).await.is(200).json();
    let same = change(&alice, &web, &changes(1_000, "kvc_two")).await.is(200).json();

    assert_eq!(created["created"], 1_000);
    assert_eq!((&updated["updated"], &updated["created"]), (&json!(1_000), &json!(0)));
    assert_eq!(same["same"], 1_000);
    assert_eq!(value(&alice, &web, "production", "KEY_999").await, "kvc_two");
    let deletions: Vec<_> = changes(1_000, "")
        .into_iter()
        .map(|change| {
            simple(
                "delete",
                change["environment"].as_str().unwrap(),
                change["key"].as_str().unwrap(),
            )
        })
        .collect();
    let deleted = change(&alice, &web, &deletions).await.is(200).json();
    assert_eq!(deleted["deleted"], 1_000);
}

async fn of_concurrent_change_sets_exactly_one_wins(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for round in 0..5 {
        let key = format!("KEY_{round}");
        let sets: Vec<_> = (0..4)
            .map(|number| {
                let value = format!("kvc_{number}");
                let mut changes = vec![
                    with(set("staging", &key, &value), "expected_version", 0),
                    with(set("production", &key, &value), "expected_version", 0),
                ];
                // The requests have the changes in both orders, so that a wrong order of locks
                // would cause a deadlock.
                if number % 2 == 1 {
                    changes.reverse();
                }
                let (client, web) = (Client::clone(&alice), web.clone());
                tokio::spawn(async move { (value, change(&client, &web, &changes).await) })
            })
            .collect();
        let mut winners = Vec::new();
        for set in sets {
            let (value, reply) = set.await.unwrap();
            match reply.status {
                200 => winners.push(value),
                _ => {
                    reply.is(409).code("version_conflict");
                }
            }
        }

        assert_eq!(winners.len(), 1, "{winners:?}");
        for environment in ["staging", "production"] {
            assert_eq!(value(&alice, &web, environment, &key).await, *winners[0]);
        }
    }
}

on_every_store![
    a_change_set_changes_several_environments,
    the_value_before_a_change_set_is_in_the_history,
    each_changed_secret_has_an_entry_like_that_of_a_single_change,
    an_unchanged_secret_is_not_written,
    a_conflict_names_the_versions_and_nothing_is_written,
    a_dry_run_writes_nothing,
    a_copy_takes_the_effective_value_of_the_source,
    a_change_set_holds_1000_changes,
    of_concurrent_change_sets_exactly_one_wins,
];
