//! Tests of setting the status of findings (triage).

use secrets_core::crypto::Fingerprint;
use secrets_core::model::scans::FindingStatus;
use secrets_core::model::{Role, ids};
use secrets_tests::{App, Person, credential, on_every_store};
use serde_json::{Value, json};

use super::{SCANS, of_project};

/// Scans a string that contains a fake credential, for this project. Returns the path of the
/// finding, and the finding.
async fn found(person: &Person, project: &str) -> (String, Value) {
    let scan = person.post(SCANS, &of_project(project, &credential())).await.is(201).json();
    let finding = scan["findings"][0].clone();
    let [scan, id] = [&scan["id"], &finding["id"]].map(|id| id.as_str().unwrap().to_owned());
    (format!("{SCANS}/{scan}/findings/{id}"), finding)
}

async fn a_finding_has_the_status_that_was_set(app: App) {
    let alice = app.person("alice").await;
    let (path, before) = found(&alice, &alice.project("main").await).await;

    let change = json!({ "status": "resolved", "comment": "rotated" });
    let changed = alice.patch(&path, &change).await.is(200).json();
    let again = alice.patch(&path, &json!({ "status": "unresolved" })).await.is(200).json();

    let mut expected = before;
    expected["status"] = json!("resolved");
    expected["comment"] = json!("rotated");
    expected["updated_by"] = json!(alice.id);
    assert_eq!(changed, expected);
    assert_eq!((&again["status"], &again["comment"]), (&json!("unresolved"), &json!("rotated")));
    let (scan, _) = path.split_once("/findings/").unwrap();
    assert_eq!(alice.get(scan).await.is(200).json()["findings"][0], again);
    let said = app.actions(&alice.team).await.into_iter().filter(|said| said == "finding.updated");
    assert_eq!(said.count(), 2);
}

async fn a_false_positive_is_one_in_later_scans_of_the_project(app: App) {
    let alice = app.person("alice").await;
    let (main, other) = (alice.project("main").await, alice.project("other").await);
    let (path, _) = found(&alice, &main).await;

    for status in ["false_positive", "ignored"] {
        alice.patch(&path, &json!({ "status": status })).await.is(200);

        assert_eq!(found(&alice, &main).await.1["status"], status);
        assert_eq!(found(&alice, &other).await.1["status"], "unresolved");
    }
    alice.delete(path.split_once("/findings/").unwrap().0).await.is(204);
    assert_eq!(found(&alice, &main).await.1["status"], "ignored");
}

async fn a_resolved_finding_that_is_found_again_is_unresolved(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let (path, _) = found(&alice, &project).await;
    alice.patch(&path, &json!({ "status": "ignored" })).await.is(200);

    for status in ["resolved", "unresolved"] {
        alice.patch(&path, &json!({ "status": status })).await.is(200);

        assert_eq!(found(&alice, &project).await.1["status"], "unresolved");
    }
}

async fn the_status_of_another_team_does_not_apply(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let (path, _) = found(&alice, &alice.project("main").await).await;
    let (theirs, _) = found(&eve, &eve.project("theirs").await).await;
    eve.patch(&theirs, &json!({ "status": "ignored" })).await.is(200);

    eve.patch(&path, &json!({ "status": "ignored" })).await.is(403);
    let ([scan, _], [_, finding]) = (parts(&path), parts(&theirs));
    let mixed = format!("{scan}/findings/{finding}");

    alice.patch(&mixed, &json!({ "status": "ignored" })).await.is(404).says("finding not found");
    eve.patch(&mixed, &json!({ "status": "ignored" })).await.is(403);
    let project = alice.project("next").await;
    assert_eq!(found(&alice, &project).await.1["status"], "unresolved");
}

async fn any_member_sets_the_status_of_a_finding(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let (path, _) = found(&alice, &alice.project("main").await).await;

    let changed = bob.patch(&path, &json!({ "status": "ignored" })).await.is(200).json();

    assert_eq!(changed["updated_by"], json!(bob.id));
}

async fn a_status_is_one_of_four(app: App) {
    let alice = app.person("alice").await;
    let (path, _) = found(&alice, &alice.project("main").await).await;

    for status in [json!("open"), json!(""), json!(1), Value::Null] {
        alice.patch(&path, &json!({ "status": status })).await.is(400).names("status");
    }
    let long = json!({ "status": "ignored", "comment": "x".repeat(501) });
    alice.patch(&path, &long).await.is(400).names("comment");
    alice.patch(&path, &json!({})).await.is(400).names("status");
}

async fn a_team_marks_at_most_10_000_findings(app: App) {
    let alice = app.person("alice").await;
    let (marked, _) = found(&alice, &alice.project("main").await).await;
    let (other, _) = found(&alice, &alice.project("other").await).await;
    let set =
        async |path: &str, status: &str| alice.patch(path, &json!({ "status": status })).await;
    set(&marked, "ignored").await.is(200);
    let team = ids::parse(&alice.team).unwrap().into();
    let mut tx = app.store.begin().await.unwrap();
    for number in 1..10_000_u32 {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        tx.mark(team, Fingerprint(bytes), Some(FindingStatus::Ignored)).await.unwrap();
    }
    tx.commit().await.unwrap();

    let refused = set(&other, "false_positive").await;

    let limit = "a team can mark at most 10,000 findings as false positive or ignored";
    refused.is(400).says(limit).code("invalid_request");
    set(&other, "resolved").await.is(200);
    set(&marked, "false_positive").await.is(200);
    set(&marked, "unresolved").await.is(200);
    set(&other, "ignored").await.is(200);
}

fn parts(path: &str) -> [&str; 2] {
    let (scan, finding) = path.split_once("/findings/").unwrap();
    [scan, finding]
}

on_every_store!(
    a_finding_has_the_status_that_was_set,
    a_false_positive_is_one_in_later_scans_of_the_project,
    a_resolved_finding_that_is_found_again_is_unresolved,
    the_status_of_another_team_does_not_apply,
    any_member_sets_the_status_of_a_finding,
    a_status_is_one_of_four,
    a_team_marks_at_most_10_000_findings,
);
