//! Tests of scans that look for stored secret values: a caller finds only the values that the
//! caller can read.

use chrono::TimeDelta;
use secrets_core::engine::Options;
use secrets_core::model::{MemberAccess, Role, ScanId, ids};
use secrets_core::retention;
use secrets_core::store::ScanRecord;
use secrets_tests::{App, Build, Kind, canary, credential, on_every_store, paths};
use serde_json::{Value, json};

use super::{SCANS, of_project};

async fn a_stored_value_is_found_and_named(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let value = canary("stored");
    alice.secret(&project, "staging", "KEY", &value).await;
    let staging = alice.get(&paths::environment(&project, "staging")).await.is(200).id();

    let scan =
        alice.post(SCANS, &of_project(&project, &format!("a\nX={value}"))).await.is(201).json();

    let found = &scan["findings"][0];
    assert_eq!(scan["secrets_compared"], 1);
    assert_eq!(found["rule_id"], "stored-secret-value");
    assert_eq!((&found["line"], &found["column"]), (&json!(2), &json!(3)));
    assert_eq!((&found["redacted"], &found["entropy"]), (&json!("…"), &Value::Null));
    let place =
        json!({ "project_id": paths::last(&project), "environment_id": staging, "key": "KEY" });
    assert_eq!(found["matches_secret"], place);
    assert!(!scan.to_string().contains("kvc_"), "{scan}");
}

/// Values in lines with `secrets:allow` do not count towards the maximum number of findings.
async fn a_stored_value_after_many_allowed_ones_is_found(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let value = canary("allowed");
    alice.secret(&project, "staging", "KEY", &value).await;
    let text = format!("{}X={value}", format!("X={value} # secrets:allow\n").repeat(1_100));

    let scan = alice.post(SCANS, &of_project(&project, &text)).await.is(201).json();

    assert_eq!((&scan["findings_count"], &scan["truncated"]), (&json!(1), &json!(false)));
    assert_eq!(scan["findings"][0]["line"], 1_101);
}

async fn a_stored_value_that_a_rule_knows_is_one_finding(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let value = format!("sk_live_{}", "Zq8rT2mKx5Lw".repeat(2));
    alice.secret(&project, "production", "STRIPE", &value).await;

    let scan = alice.scan_text(&format!("key = '{value}'")).await.json();

    assert_eq!(scan["findings_count"], 1);
    assert_eq!(scan["findings"][0]["rule_id"], "stripe-live-key");
    assert_eq!(scan["findings"][0]["matches_secret"]["key"], "STRIPE");
    assert_eq!(scan["findings"][0]["redacted"], "…");
}

async fn an_inherited_value_is_found_where_it_is_stored_and_a_hidden_one_is_not_found(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let parent = alice.environment(&project, "base", None).await;
    alice.environment(&project, "child", Some(&parent)).await;
    let value = canary("inherited");
    alice.secret(&project, "base", "KEY", &value).await;
    let hidden = json!({ "key": "HIDDEN", "hidden": true });
    alice.post(&paths::secrets(&project, "child"), &hidden).await.is(201);

    let scan = alice.post(SCANS, &of_project(&project, &value)).await.is(201).json();

    assert_eq!(scan["secrets_compared"], 1);
    assert_eq!(scan["findings"][0]["matches_secret"]["environment_id"], parent);
}

async fn a_scan_of_a_project_compares_only_the_values_of_the_project(app: App) {
    let alice = app.person("alice").await;
    let (first, second) = (alice.project("first").await, alice.project("second").await);
    let value = canary("elsewhere");
    alice.secret(&second, "development", "KEY", &value).await;

    let of_first = alice.post(SCANS, &of_project(&first, &value)).await.is(201).json();
    let of_team = alice.scan_text(&value).await.json();

    assert_eq!((&of_first["secrets_compared"], &of_first["findings"]), (&json!(0), &json!([])));
    assert_eq!(of_team["findings"][0]["matches_secret"]["project_id"], paths::last(&second));
}

async fn another_teams_value_is_not_found(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let project = alice.project("main").await;
    let value = canary("hers");
    alice.secret(&project, "development", "KEY", &value).await;

    let scan = eve.scan_text(&value).await.json();

    assert_eq!((&scan["secrets_compared"], &scan["findings"]), (&json!(0), &json!([])));
    eve.post(SCANS, &of_project(&project, &value)).await.is(403);
    let team = json!({ "team_id": alice.team, "source": { "type": "text" }, "content": value });
    eve.post(SCANS, &team).await.is(403).says("you are not a member of this team");
}

async fn an_environment_the_caller_may_not_read_takes_no_part(kind: Kind) {
    let options = Options { member_access: MemberAccess::None, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let project = alice.project("main").await;
    let value = canary("unread");
    alice.secret(&project, "production", "KEY", &value).await;
    alice.environment(&project, "child", Some("production")).await;
    let read = json!({ "role": "read" });
    alice.put(&paths::permission(&project, "child", &bob.id), &read).await.is(200);
    let body = of_project(&project, &value);

    let his = bob.post(SCANS, &body).await.is(201).json();
    let hers = alice.post(SCANS, &body).await.is(201).json();

    assert_eq!((&his["secrets_compared"], &his["findings"]), (&json!(0), &json!([])));
    assert_eq!(hers["findings"][0]["matches_secret"]["key"], "KEY");
    // Bob may see that Alice has a finding, but not what it matches.
    let path = format!("{SCANS}/{}", hers["id"].as_str().unwrap());
    let seen = bob.get(&path).await.is(200).json();
    assert_eq!(seen["findings_count"], 1);
    assert_eq!(seen["findings"][0]["matches_secret"], Value::Null);
}

async fn a_submitted_secret_is_compared_too(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let value = canary("submitted");
    alice.secret(&project, "development", "KEY", &value).await;
    let findings = json!([{ "rule_id": "theirs", "secret": value }]);
    let body = json!({ "source": { "type": "findings" }, "findings": findings });

    let scan = alice.post(SCANS, &body).await.is(201).json();

    assert_eq!(scan["findings"][0]["matches_secret"]["key"], "KEY");
    assert_eq!(scan["findings"][0]["redacted"], "…");
}

/// Checks that scans are deleted after a year and not earlier, even if there are too many for one
/// transaction of `retention::delete_old`.
async fn scans_are_deleted_after_a_year(app: App) {
    let alice = app.person("alice").await;
    let count = async || {
        let listed = app.bearer(&app.jwt("alice")).get(SCANS).await.is(200).json();
        listed["scans"].as_array().unwrap().len()
    };
    for _ in 0..6 {
        alice.scan_text("nothing").await.is(201);
    }

    app.wait(TimeDelta::days(365));
    retention::delete_old(app.service.engine()).await.unwrap();
    assert_eq!(count().await, 6);
    app.wait(TimeDelta::days(1));
    retention::delete_old(app.service.engine()).await.unwrap();

    assert_eq!(count().await, 0);
}

async fn the_newest_100_scans_of_a_project_are_kept(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let of_team = alice.scan_text("nothing").await.id();
    let newest = alice.post(SCANS, &of_project(&project, "nothing")).await.is(201).id();
    let mut tx = app.store.begin().await.unwrap();
    let newest = tx.scan(ids::parse(&newest).unwrap().into()).await.unwrap().unwrap();
    let mut older = Vec::new();
    for age in 1..=100 {
        let created_at = newest.created_at - TimeDelta::seconds(age);
        older.push(ScanRecord { id: ScanId::draw(created_at), created_at, ..newest.clone() });
    }
    for scan in &older {
        tx.insert_scan(scan, &[]).await.unwrap();
    }
    tx.commit().await.unwrap();

    let added = alice.post(SCANS, &of_project(&project, "nothing")).await.is(201).id();

    for (scan, status) in [(&older[97], 200), (&older[98], 404), (&older[99], 404)] {
        alice.get(&format!("{SCANS}/{}", scan.id)).await.is(status);
    }
    for scan in [added, newest.id.to_string(), of_team] {
        alice.get(&format!("{SCANS}/{scan}")).await.is(200);
    }
}

async fn the_newest_scans_with_20_000_findings_in_a_team_are_kept(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let first = alice.post(SCANS, &of_project(&project, &credential())).await.is(201).id();
    let mut tx = app.store.begin().await.unwrap();
    let first = tx.scan(ids::parse(&first).unwrap().into()).await.unwrap().unwrap();
    let aged = |age, high, project| {
        let created_at = first.created_at - TimeDelta::seconds(age);
        ScanRecord { id: ScanId::draw(created_at), created_at, high, project, ..first.clone() }
    };
    for age in 1..=18 {
        tx.insert_scan(&aged(age, 1_000, first.project), &[]).await.unwrap();
    }
    // There are 19,002 findings, including the scans in the project and the next scan.
    let kept = aged(19, 1_000, None);
    let excess = aged(20, 1_000, None);
    let clean = aged(21, 0, None);
    for scan in [&kept, &excess, &clean] {
        tx.insert_scan(scan, &[]).await.unwrap();
    }
    tx.commit().await.unwrap();
    alice.delete(&project).await.is(204);

    let added = alice.scan_text(&credential()).await.is(201).id();

    for (scan, status) in [(&kept, 200), (&excess, 404), (&clean, 200)] {
        alice.get(&format!("{SCANS}/{}", scan.id)).await.is(status);
    }
    alice.get(&format!("{SCANS}/{added}")).await.is(200);
}

on_every_store!(
    scans_are_deleted_after_a_year,
    the_newest_scans_with_20_000_findings_in_a_team_are_kept,
    the_newest_100_scans_of_a_project_are_kept,
    a_stored_value_after_many_allowed_ones_is_found,
    a_stored_value_is_found_and_named,
    a_stored_value_that_a_rule_knows_is_one_finding,
    an_inherited_value_is_found_where_it_is_stored_and_a_hidden_one_is_not_found,
    a_scan_of_a_project_compares_only_the_values_of_the_project,
    another_teams_value_is_not_found,
    a_submitted_secret_is_compared_too;
    an_environment_the_caller_may_not_read_takes_no_part,
);
