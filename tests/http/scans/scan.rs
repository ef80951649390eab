//! Tests of the responses of scans, and of the data that the service stores.

use chrono::TimeDelta;
use secrets_core::model::Role;
use secrets_tests::{App, Dump, STARTED, credential, in_memory_and_on_postgres};
use serde_json::{Value, json};

use super::SCANS;

async fn a_scan_returns_findings_with_their_positions(app: App) {
    let alice = app.person("alice").await;
    let source = json!({ "type": "text", "name": "build.log", "commit": "0f1e2d" });
    let text = format!("ok\nschlüssel {} end", credential());
    let body = json!({ "source": source, "content": text });

    let scan = alice.post(SCANS, &body).await.is(201).json();

    let finding = &scan["findings"][0];
    let expected = json!({
        "id": scan["id"],
        "team_id": alice.team,
        "source": source,
        "status": "completed",
        "findings_count": 1,
        "by_severity": { "high": 1, "medium": 0, "low": 0 },
        "truncated": false,
        "secrets_compared": 0,
        "started_at": STARTED,
        "completed_at": STARTED,
        "created_by": alice.id,
        "created_at": STARTED,
        "findings": [{
            "id": finding["id"],
            "scan_id": scan["id"],
            "rule_id": "github-personal-access-token",
            "description": "GitHub personal access token",
            "severity": "high",
            "path": "build.log",
            "line": 2,
            "column": 11,
            "commit": "0f1e2d",
            "fingerprint": finding["fingerprint"],
            "redacted": "ghp_…5Lw",
            "entropy": finding["entropy"],
            "status": "unresolved",
            "created_at": STARTED,
            "updated_at": STARTED,
        }],
    });
    assert_eq!(scan, expected);
    assert_eq!(finding["fingerprint"].as_str().unwrap().len(), 64);
    let path = format!("{SCANS}/{}", scan["id"].as_str().unwrap());
    assert_eq!(alice.get(&path).await.is(200).json(), expected);
}

async fn scanned_content_is_not_stored(app: App) {
    let alice = app.person("alice").await;

    alice.scan_text(&format!("kvc_surroundings {} kvc_more", credential())).await;

    let dump = Dump::of(app.store.as_ref(), &["alice"]).await;
    let rows = Dump::of(app.store.as_ref(), &[]).await.changes(&dump).join("\n");
    assert!(rows.contains("ghp_…5Lw"), "{rows}");
    assert!(!rows.contains("kvc_"), "{rows}");
    assert!(!rows.contains(&credential()[8..]), "{rows}");
}

async fn a_scan_is_recorded_twice_and_without_content(app: App) {
    let alice = app.person("alice").await;

    let scan = alice.scan_text(&format!("a\n{}", credential())).await.id();

    let begun = app.entry(&alice.team, "scan.created").await;
    let done = app.entry(&alice.team, "scan.completed").await;
    let ids = [begun.resource_id, done.resource_id].map(|id| id.unwrap().to_string());
    assert_eq!(ids, [scan.clone(), scan]);
    assert_eq!(begun.metadata, r#"{"secrets_compared":0,"source":"text"}"#);
    assert_eq!(done.metadata, r#"{"high":1,"low":0,"medium":0}"#);
}

async fn files_keep_their_paths_however_odd(app: App) {
    let alice = app.person("alice").await;
    let paths = ["src/a b.rs", "日本/ü.env", "..\\..\\x", "'; DROP TABLE scans; --", "%2e%2e/"];
    let files = paths.map(|path| json!({ "path": path, "content": credential() }));
    let body = json!({ "source": { "type": "files" }, "files": files });

    let scan = alice.post(SCANS, &body).await.is(201).json();

    let found: Vec<_> =
        scan["findings"].as_array().unwrap().iter().map(|found| found["path"].clone()).collect();
    assert_eq!(found, paths);
    let again =
        alice.get(&format!("{SCANS}/{}", scan["id"].as_str().unwrap())).await.is(200).json();
    assert_eq!(again["findings"], scan["findings"]);
}

async fn findings_of_another_scanner_are_kept(app: App) {
    let alice = app.person("alice").await;
    let findings = json!([
        { "rule_id": "github-personal-access-token", "path": "a", "line": 3, "secret": credential() },
        { "rule_id": "theirs", "description": "Theirs", "severity": "low", "fingerprint": "c:a:3" },
        { "rule_id": "theirs", "commit": "0f1e2d" },
    ]);
    let body = json!({ "source": { "type": "findings" }, "findings": findings });

    let scan = alice.post(SCANS, &body).await.is(201).json();

    assert_eq!(scan["by_severity"], json!({ "high": 1, "medium": 1, "low": 1 }));
    let found = scan["findings"].as_array().unwrap();
    assert_eq!(found[0]["description"], "GitHub personal access token");
    assert_eq!((&found[0]["redacted"], &found[0]["line"]), (&json!("ghp_…5Lw"), &json!(3)));
    assert_eq!((&found[1]["description"], &found[1]["redacted"]), (&json!("Theirs"), &Value::Null));
    assert_eq!(
        (&found[2]["description"], &found[2]["commit"]),
        (&json!("theirs"), &json!("0f1e2d"))
    );
}

async fn a_finding_is_known_again_by_its_fingerprint(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let fingerprint = |scan: Value| scan["findings"][0]["fingerprint"].clone();

    let first = fingerprint(alice.scan_text(&credential()).await.json());
    let moved = fingerprint(alice.scan_text(&format!("\n\n x {}", credential())).await.json());
    let theirs = fingerprint(eve.scan_text(&credential()).await.json());
    let body = json!({ "source": { "type": "text", "name": "b" }, "content": credential() });
    let elsewhere = fingerprint(alice.post(SCANS, &body).await.is(201).json());

    assert_eq!(first, moved);
    assert_ne!(first, theirs);
    assert_ne!(first, elsewhere);
}

async fn scans_are_listed_newest_first(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let project = alice.project("main").await;
    let first = alice.scan_text("nothing").await.id();
    app.wait(TimeDelta::seconds(1));
    let body = super::of_project(&project, "nothing");
    let second = alice.post(SCANS, &body).await.is(201).id();
    eve.scan_text("nothing").await;
    let list = async |query: &str| {
        let listed = alice.get(&format!("{SCANS}{query}")).await.is(200).json();
        let scans = listed["scans"].as_array().unwrap().clone();
        scans.iter().map(|scan| scan["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    assert_eq!(list("").await, [second.as_str(), &first]);
    assert_eq!(list(&format!("?team_id={}", alice.team)).await, [second.as_str(), &first]);
    assert_eq!(list("?project_id=main").await, [second]);
    alice.delete(&project).await.is(204);
    assert_eq!(list("").await, [first]);
}

async fn a_scan_is_deleted_by_its_creator_or_an_admin(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let body = json!({ "team_id": alice.team, "source": { "type": "text" }, "content": "" });
    let [his, other] = [bob.post(SCANS, &body).await.id(), bob.post(SCANS, &body).await.id()];
    let hers = alice.post(SCANS, &body).await.id();

    bob.delete(&format!("{SCANS}/{hers}")).await.is(403);
    bob.delete(&format!("{SCANS}/{his}")).await.is(204);
    alice.delete(&format!("{SCANS}/{other}")).await.is(204);

    bob.get(&format!("{SCANS}/{his}")).await.is(404).says("scan not found");
    assert_eq!(app.actions(&alice.team).await.iter().filter(|a| *a == "scan.deleted").count(), 2);
}

async fn a_refused_request_is_recorded_without_the_name_of_the_source(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let source = json!({ "type": "text", "name": "unannounced.sh" });
    let scan = alice.post(SCANS, &json!({ "source": source, "content": "" })).await.is(201).id();

    eve.delete(&format!("{SCANS}/{scan}")).await.is(403);

    let refused = app.entry(&alice.team, "scan.deleted").await;
    assert_eq!(refused.outcome, "denied");
    assert_eq!(refused.resource_id.unwrap().to_string(), scan);
    assert_eq!(refused.resource_name, None);
    alice.delete(&format!("{SCANS}/{scan}")).await.is(204);
    let mut deleted = app.audit(&alice.team).await;
    deleted.retain(|entry| entry.action == "scan.deleted" && entry.outcome == "success");
    assert_eq!(deleted[0].resource_name.as_deref(), Some("unannounced.sh"));
}

in_memory_and_on_postgres!(
    a_scan_returns_findings_with_their_positions,
    scanned_content_is_not_stored,
    a_scan_is_recorded_twice_and_without_content,
    files_keep_their_paths_however_odd,
    findings_of_another_scanner_are_kept,
    a_finding_is_known_again_by_its_fingerprint,
    scans_are_listed_newest_first,
    a_scan_is_deleted_by_its_creator_or_an_admin,
    a_refused_request_is_recorded_without_the_name_of_the_source,
);
