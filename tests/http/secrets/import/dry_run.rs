//! Tests of dry runs of imports: the response shows the results, and nothing is imported.

use secrets_core::engine::Options;
use secrets_core::model::{Plan, Plans, Quota};
use secrets_tests::{Build, Dump, Kind, on_every_store, postgresql};

use super::*;

/// Sends the import with this request body as a dry run.
async fn plan(person: &Client, project: &str, body: &Value) -> Reply {
    let path = format!("{}?dry_run=true", paths::secret(project, "staging", "bulk"));
    person.post(&path, body).await
}

async fn dump(app: &App) -> Dump {
    Dump::of(&*app.store, &["alice"]).await
}

/// Returns the key, the result and the previous version of each secret in a reply to a dry run.
fn results(reply: &Reply) -> Value {
    let plan = reply.is(200).json();
    let secrets = plan["secrets"].as_array().unwrap().iter();
    secrets.map(|it| json!([it["key"], it["result"], it["previous_version"]])).collect()
}

/// Returns secrets to import into the project that [`project`] creates: a new one, one with another
/// value, two unchanged ones, one with another description only, and one that the project hides.
fn secrets() -> Value {
    json!([
        { "key": "NEW", "value": "kvc_new" },
        { "key": "CHANGED", "value": "kvc_two" },
        { "key": "SAME", "value": "kvc_same" },
        { "key": "KEPT", "value": "kvc_same", "description": "One" },
        { "key": "DESCRIBED", "value": "kvc_same", "description": "Other" },
        { "key": "HIDDEN", "value": "" },
    ])
}

/// Creates a project with secrets that an import of [`secrets`] would update, skip or leave
/// unchanged. Returns its path.
async fn project(alice: &Person) -> String {
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "CHANGED", "kvc_one").await;
    let two = json!({ "value": "kvc_also_one" });
    alice.put(&paths::secret(&web, "staging", "CHANGED"), &two).await.is(200);
    alice.secret(&web, "staging", "SAME", "kvc_same").await;
    for body in [
        json!({ "key": "KEPT", "value": "kvc_same", "description": "One" }),
        json!({ "key": "DESCRIBED", "value": "kvc_same", "description": "One" }),
        json!({ "key": "HIDDEN", "hidden": true }),
    ] {
        alice.post(&paths::secrets(&web, "staging"), &body).await.is(201);
    }
    web
}

async fn a_dry_run_returns_the_plan_and_writes_nothing(app: App) {
    let alice = app.person("alice").await;
    let web = project(&alice).await;
    let list = paths::secrets(&web, "staging");
    let tag = alice.get(&list).await.header("etag").unwrap().to_owned();
    let before = dump(&app).await;

    let overwriting = json!({ "secrets": secrets(), "overwrite": true });
    let updates = plan(&alice, &web, &overwriting).await;
    let skips = plan(&alice, &web, &json!({ "secrets": secrets() })).await;

    assert_eq!(before.changes(&dump(&app).await), Vec::<String>::new());
    assert_eq!(alice.get(&list).await.header("etag"), Some(tag.as_str()));
    assert!(!updates.text().contains("kvc_"), "{}", updates.text());
    let entry = |key, result, previous_version| json!({ "key": key, "result": result, "previous_version": previous_version });
    assert_eq!(
        updates.is(200).json(),
        json!({
            "dry_run": true, "created": 1, "updated": 3, "same": 2, "skipped": 0,
            "secrets": [
                entry("NEW", "created", 0),
                entry("CHANGED", "updated", 2),
                entry("SAME", "same", 1),
                entry("KEPT", "same", 1),
                entry("DESCRIBED", "updated", 1),
                entry("HIDDEN", "updated", 1),
            ],
        })
    );
    assert_eq!(
        results(&skips),
        json!([
            ["NEW", "created", 0],
            ["CHANGED", "skipped", 2],
            ["SAME", "same", 1],
            ["KEPT", "same", 1],
            ["DESCRIBED", "skipped", 1],
            ["HIDDEN", "skipped", 1],
        ])
    );
    let made = import(&alice, &web, &overwriting).await;
    assert_eq!(made.is(200).json(), json!({ "created": 1, "updated": 5, "skipped": 0 }));
}

async fn a_dry_run_that_compares_values_is_recorded(app: App) {
    let alice = app.person("alice").await;
    let web = project(&alice).await;
    let new = json!({ "secrets": [{ "key": "NEW", "value": "kvc_new" }] });
    let before = app.actions(&alice.team).await.len();

    plan(&alice, &web, &new).await.is(200);
    assert_eq!(app.actions(&alice.team).await.len(), before);
    plan(&alice, &web, &json!({ "secrets": secrets() })).await.is(200);

    let entry = app.entry(&alice.team, "secrets.compared").await;
    assert_eq!((entry.project_name.as_deref(), entry.environment), (Some("Web"), None));
    assert_eq!(entry.metadata, r#"{"count":4,"environments":["staging"]}"#);
    assert_eq!(app.actions(&alice.team).await.len(), before + 1);
}

async fn a_dry_run_is_asked_for_in_the_query_or_in_the_body(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    let path = paths::secret(&web, "staging", "bulk");
    let (text, one) = ([("content-type", "text/plain")], json!([{ "key": "A", "value": "kvc_a" }]));
    let before = dump(&app).await;

    let replies = [
        alice.raw(Method::POST, &format!("{path}?dry_run=true"), &text, "A=kvc_a").await,
        alice.post(&format!("{path}?dry_run=true&format=json"), &json!({ "A": "kvc_a" })).await,
        alice.post(&path, &json!({ "secrets": one, "dry_run": true })).await,
        alice
            .post(&format!("{path}?dry_run=true"), &json!({ "secrets": one, "dry_run": false }))
            .await,
        alice
            .post(&format!("{path}?dry_run=false"), &json!({ "secrets": one, "dry_run": true }))
            .await,
    ];

    for reply in replies {
        assert_eq!(results(&reply), json!([["A", "created", 0]]));
    }
    let wrong = alice.post(&format!("{path}?dry_run=yes"), &json!({ "secrets": one })).await;
    wrong.is(400).says("dry_run must be true or false");
    assert_eq!(before.changes(&dump(&app).await), Vec::<String>::new());
    let made = alice.post(&path, &json!({ "secrets": one, "dry_run": false })).await;
    assert_eq!(made.is(200).json(), json!({ "created": 1, "updated": 0, "skipped": 0 }));
}

async fn a_dry_run_does_not_compare_for_callers_that_may_not_read(app: App) {
    let alice = app.person("alice").await;
    let web = project(&alice).await;
    let scope = |permissions: Value| json!({ "all_projects": true, "permissions": permissions });
    let writer = app.bearer(&alice.token(&scope(json!(["write"]))).await);
    let both = app.bearer(&alice.token(&scope(json!(["read", "write"]))).await);

    let guess = json!({ "overwrite": true, "secrets": [{ "key": "SAME", "value": "kvc_same" }] });

    assert_eq!(results(&plan(&both, &web, &guess).await), json!([["SAME", "same", 1]]));
    assert_eq!(results(&plan(&writer, &web, &guess).await), json!([["SAME", "updated", 1]]));
}

async fn a_dry_run_is_refused_like_the_import(kind: Kind) {
    let limits = [(Quota::Secrets, 4), (Quota::Bytes, 4_096)];
    let small = Plan::new("small".parse().unwrap(), limits).unwrap();
    let plans = Plans::with([small]).by_default("small").unwrap();
    let app = Build::on(kind).options(Options { plans, ..Options::default() }).start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["ONE", "TWO", "THREE"] {
        alice.secret(&web, "staging", key, "kvc_one").await;
    }
    let mut rotation = postgresql("main-db");
    rotation["secret_mapping"] = json!({ "password": "MANAGED" });
    alice.post(&paths::rotations(&web, "staging"), &rotation).await.is(201);
    let reader = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let before = dump(&app).await;

    let secret = |key: &str, value: &str| json!({ "key": key, "value": value });
    let (owner, long): (&Client, _) = (&alice, "v".repeat(4_500));
    let cases = [
        ("no secrets", owner, json!([]), 400),
        ("invalid keys", owner, json!([secret("1", "kvc_a"), secret("2", "kvc_b")]), 400),
        ("key twice", owner, json!([secret("A", "kvc_a"), secret("A", "kvc_a")]), 400),
        ("managed key", owner, json!([secret("MANAGED", "kvc_a")]), 400),
        ("no permission", &reader, json!([secret("A", "kvc_a")]), 403),
        ("number of secrets", owner, json!([secret("A", "kvc_a"), secret("B", "kvc_b")]), 429),
        ("bytes", owner, json!([secret("ONE", &long)]), 429),
    ];
    for (case, caller, secrets, status) in cases {
        let body = json!({ "secrets": secrets, "overwrite": true });
        let planned = plan(caller, &web, &body).await;
        assert_eq!(planned.status, status, "{case}: {}", planned.text());
        let made = caller.post(&paths::secret(&web, "staging", "bulk"), &body).await;
        assert_eq!((made.status, made.json()), (status, planned.json()), "{case}");
    }

    let changes = before.changes(&dump(&app).await);
    assert!(changes.iter().all(|row| row.contains("denied")), "{changes:#?}");
}

on_every_store![
    a_dry_run_returns_the_plan_and_writes_nothing,
    a_dry_run_that_compares_values_is_recorded,
    a_dry_run_is_asked_for_in_the_query_or_in_the_body,
    a_dry_run_does_not_compare_for_callers_that_may_not_read,
    ;
    a_dry_run_is_refused_like_the_import,
];
