//! Tests of dry runs of change sets: the response shows the results, and nothing is changed.

use secrets_core::engine::Options;
use secrets_core::model::{Plan, Plans, Quota, Role};
use secrets_tests::{Build, Kind, postgresql};

use super::*;

/// Starts a server whose teams may have at most 4 secrets, of 4 KiB in total, in an environment.
async fn small(kind: Kind) -> App {
    let limits = [(Quota::Secrets, 4), (Quota::Bytes, 4_096)];
    let plan = Plan::new("small".parse().unwrap(), limits).unwrap();
    let plans = Plans::with([plan]).by_default("small").unwrap();
    Build::on(kind).options(Options { plans, ..Options::default() }).start().await
}

#[expect(clippy::too_many_lines, reason = "a table")]
async fn a_dry_run_is_refused_like_the_change_set(kind: Kind) {
    let app = small(kind).await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    for key in ["ONE", "TWO", "THREE"] {
        alice.secret(&web, "staging", key, "kvc_one").await;
    }
    alice.secret(&web, "production", "LONG", &"v".repeat(3_500)).await;
    let mut rotation = postgresql("main-db");
    rotation["secret_mapping"] = json!({ "password": "MANAGED" });
    alice.post(&paths::rotations(&web, "development"), &rotation).await.is(201);
    let none = json!({ "role": "none" });
    alice.put(&paths::permission(&web, "production", &bob.id), &none).await.is(200);
    let before = dump(&app).await;

    let long = "v".repeat(1_200);
    let describe = with(simple("describe", "staging", "NONE"), "description", "d");
    let outdated = with(set("staging", "ONE", "kvc_two"), "expected_version", 7);
    let cases = [
        ("unknown environment", &alice, vec![set("nowhere", "A", "kvc_a")], 400),
        ("invalid key", &alice, vec![set("staging", "no key", "kvc_a")], 400),
        ("no value", &alice, vec![simple("set", "staging", "A")], 400),
        ("key twice", &alice, vec![simple("hide", "staging", "A"), set("staging", "A", "")], 400),
        ("managed key", &alice, vec![set("development", "MANAGED", "kvc_a")], 400),
        ("unknown source", &alice, vec![copy("nowhere", "staging", "ONE")], 400),
        ("nothing to copy", &alice, vec![copy("staging", "production", "FOUR")], 400),
        ("no change", &alice, vec![], 400),
        ("no permission", &bob, vec![set("production", "A", "kvc_a")], 403),
        ("no permission to copy", &bob, vec![copy("production", "staging", "LONG")], 403),
        ("outdated", &alice, vec![outdated], 409),
        ("nothing to delete", &alice, vec![simple("delete", "staging", "NONE")], 409),
        ("nothing to describe", &alice, vec![describe], 409),
        (
            "number of secrets",
            &alice,
            vec![set("staging", "FOUR", "kvc_a"), set("staging", "FIVE", "kvc_a")],
            429,
        ),
        ("bytes of a new value", &alice, vec![set("production", "MORE", &long)], 429),
        ("bytes of a copy", &alice, vec![copy("production", "staging", "LONG")], 200),
        (
            "bytes of a copy and a value",
            &alice,
            vec![copy("production", "staging", "LONG"), set("staging", "ONE", &long)],
            429,
        ),
    ];
    for (case, person, changes, status) in cases {
        let planned = plan(person, &web, &changes).await;
        assert_eq!(planned.status, status, "{case}: {}", planned.text());
        if status != 200 {
            let made = change(person, &web, &changes).await;
            assert_eq!((made.status, made.json()), (status, planned.json()), "{case}");
        }
    }

    let changes = before.changes(&dump(&app).await);
    assert!(changes.iter().all(|row| row.contains("denied")), "{changes:#?}");
}

async fn a_dry_run_uses_no_version_number_and_no_revision(kind: Kind) {
    let app = small(kind).await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_one").await;
    let list = paths::secrets(&web, "staging");
    let tag = alice.get(&list).await.header("etag").unwrap().to_owned();

    for _ in 0..3 {
        let planned = plan(&alice, &web, &[set("staging", "KEY", "kvc_two")]).await;
        assert_eq!(results(&planned), json!([["updated", 1, 2]]));
    }

    assert_eq!(alice.get(&list).await.header("etag"), Some(tag.as_str()));
    let made = change(&alice, &web, &[set("staging", "KEY", "kvc_two")]).await;
    assert_eq!(results(&made), json!([["updated", 1, 2]]));
}

on_every_store![
    ;
    a_dry_run_is_refused_like_the_change_set,
    a_dry_run_uses_no_version_number_and_no_revision,
];
