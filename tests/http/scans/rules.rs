//! Tests of the rules for the input of scans, and of the callers who may scan.

use secrets_tests::{App, in_memory_and_on_postgres};
use serde_json::{Value, json};

use super::SCANS;

fn files(paths: &[&str]) -> Value {
    let files: Vec<_> = paths.iter().map(|path| json!({ "path": path, "content": "" })).collect();
    json!({ "source": { "type": "files" }, "files": files })
}

fn findings(finding: &Value, count: usize) -> Value {
    json!({ "source": { "type": "findings" }, "findings": vec![finding.clone(); count] })
}

async fn an_error_names_the_field(app: App) {
    let alice = app.person("alice").await;
    let text = json!({ "type": "text" });
    let long = "x".repeat(1_025);
    let cases = [
        (json!({}), "source"),
        (json!({ "source": "text", "content": "" }), "source"),
        (json!({ "source": { "type": "git" }, "content": "" }), "source.type"),
        (json!({ "source": text }), "content"),
        (json!({ "source": text, "content": 1 }), "content"),
        (json!({ "source": text, "content": "", "files": [] }), "content"),
        (json!({ "source": { "type": "files" }, "content": "" }), "files"),
        (json!({ "source": { "type": "findings" }, "content": "" }), "findings"),
        (json!({ "source": { "type": "text", "name": "a\nb" }, "content": "" }), "source.name"),
        (json!({ "source": { "type": "text", "commit": long }, "content": "" }), "source.commit"),
        (files(&[]), "files"),
        (files(&["a"; 1_001]), "files"),
        (files(&["a", ""]), "files[1].path"),
        (files(&["a\0b"]), "files[0].path"),
        (files(&[&long]), "files[0].path"),
        (findings(&json!({ "rule_id": "r" }), 0), "findings"),
        (findings(&json!({ "rule_id": "r" }), 1_001), "findings"),
        (findings(&json!({ "rule_id": "" }), 1), "findings[0].rule_id"),
        (findings(&json!({ "rule_id": "r", "severity": "critical" }), 1), "findings[0].severity"),
        (findings(&json!({ "rule_id": "r", "line": -1 }), 1), "findings[0].line"),
        (findings(&json!({ "path": "a" }), 1), "findings[0].rule_id"),
    ];

    for (body, field) in cases {
        alice.post(SCANS, &body).await.is(400).names(field);
    }
    assert_eq!(alice.get(SCANS).await.is(200).json(), json!({ "scans": [] }));
}

async fn an_error_does_not_repeat_the_input(app: App) {
    let alice = app.person("alice").await;
    let body = json!({ "source": { "type": "kvc_kind" }, "content": ["kvc_content"] });

    let reply = alice.post(SCANS, &body).await;

    assert!(!reply.is(400).text().contains("kvc_"), "{}", reply.text());
}

async fn a_team_and_a_project_must_belong_together(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let team = alice.post("/api/v1/teams", &json!({ "name": "Other" })).await.is(201).id();
    let project = secrets_tests::paths::last(&project);
    let source = json!({ "type": "text" });
    let body = json!({ "team_id": team, "project_id": project, "source": source, "content": "" });

    alice.post(SCANS, &body).await.is(400).names("team_id");
    let query = format!("{SCANS}?team_id={team}&project_id={project}");
    alice.get(&query).await.is(400).names("team_id");
    alice.get(&format!("{SCANS}?team_id=x")).await.is(400).names("team_id");
    alice.get(&format!("{SCANS}?project_id=no-such")).await.is(404).says("project not found");
}

async fn a_service_token_may_not_scan(app: App) {
    let alice = app.person("alice").await;
    let scan = alice.scan_text("nothing").await.id();
    let machine = app.bearer(&alice.token(&json!({ "all_projects": true })).await);

    machine.post(SCANS, &json!({})).await.is(403).says("a service token may not do this");
    machine.get(SCANS).await.is(403);
    machine.get(&format!("{SCANS}/{scan}")).await.is(403);
    machine.delete(&format!("{SCANS}/{scan}")).await.is(403);
}

async fn a_scan_outlives_a_restart(app: App) {
    let alice = app.person("alice").await;
    let before = alice.scan_text(&secrets_tests::credential()).await;
    let restarted = app.restarted().await;
    let alice = restarted.bearer(&app.jwt("alice"));

    let after = alice.get(&format!("{SCANS}/{}", before.id())).await.is(200).json();

    assert_eq!(after, before.json());
}

in_memory_and_on_postgres!(
    an_error_names_the_field,
    an_error_does_not_repeat_the_input,
    a_team_and_a_project_must_belong_together,
    a_service_token_may_not_scan,
    a_scan_outlives_a_restart,
);
