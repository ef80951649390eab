//! Tests of scans of large inputs, and of concurrent scans.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use secrets_tests::{App, Client, canary, credential, in_memory, on_every_store};
use serde_json::json;
use tokio::task::JoinSet;

use super::{SCANS, of_project};

const MIB: usize = 1024 * 1024;

async fn four_mebibytes_are_scanned_while_others_are_answered(app: App) {
    let alice = app.person("alice").await;
    let project = alice.project("main").await;
    let value = canary("at_the_end");
    alice.secret(&project, "development", "KEY", &value).await;
    let line = "let total = items.iter().map(|item| item.price * item.count).sum();\n";
    let mut text = line.repeat(4 * MIB / line.len());
    text.push_str(&credential());
    text.push('\n');
    text.push_str(&value);
    let body = of_project(&project, &text);
    let done = AtomicBool::new(false);

    let scan = async {
        let scan = alice.post(SCANS, &body).await.is(201).json();
        done.store(true, Ordering::SeqCst);
        scan
    };
    let others = async {
        let (mut slowest, mut answered) = (Duration::ZERO, 0_u32);
        while !done.load(Ordering::SeqCst) {
            let began = Instant::now();
            alice.get("/api/v1/users/me").await.is(200);
            (slowest, answered) = (slowest.max(began.elapsed()), answered + 1);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        (slowest, answered)
    };
    let (scan, (slowest, answered)) = tokio::join!(scan, others);

    let rules: Vec<_> =
        scan["findings"].as_array().unwrap().iter().map(|found| &found["rule_id"]).collect();
    assert_eq!(rules, ["github-personal-access-token", "stored-secret-value"]);
    assert!(answered > 0 && slowest < Duration::from_secs(10), "{answered}, {slowest:?}");
}

async fn a_body_over_16_mebibytes_is_too_large(app: App) {
    let alice = app.person("alice").await;
    let body = json!({ "source": { "type": "text" }, "content": "x".repeat(16 * MIB) });

    alice.post(SCANS, &body).await.is(413);
}

async fn a_body_of_16_mebibytes_is_accepted(app: App) {
    let alice = app.person("alice").await;
    let mut body = json!({ "source": { "type": "text" }, "content": "nothing" }).to_string();
    body.push_str(&" ".repeat(16 * MIB - body.len()));
    let json = [("content-type", "application/json")];

    alice.raw("POST".parse().unwrap(), SCANS, &json, body).await.is(201);
}

async fn the_thousand_worst_findings_are_kept(app: App) {
    let alice = app.person("alice").await;
    let mut text = format!("sk_test_{}\n", "Zq8rT2mKx5Lw".repeat(2)).repeat(1_100);
    text.push_str(&credential());

    let scan = alice.scan_text(&text).await.json();

    assert_eq!((&scan["truncated"], &scan["findings_count"]), (&json!(true), &json!(1_000)));
    assert_eq!(scan["by_severity"], json!({ "high": 1, "medium": 0, "low": 999 }));
    let findings = scan["findings"].as_array().unwrap();
    assert_eq!((findings.len(), &findings[999]["line"]), (1_000, &json!(1_101)));
}

async fn many_scans_at_once_are_all_kept(app: App) {
    let alice = app.person("alice").await;
    let text = credential();

    let mut scans = JoinSet::new();
    for _ in 0..64 {
        let (client, text) = (Client::clone(&alice), text.clone());
        scans.spawn(async move {
            let body = json!({ "source": { "type": "text" }, "content": text });
            client.post(SCANS, &body).await.is(201).id()
        });
    }
    let made: BTreeSet<_> = scans.join_all().await.into_iter().collect();

    let listed = alice.get(SCANS).await.is(200).json();
    let listed = listed["scans"].as_array().unwrap().iter();
    assert_eq!(
        listed.map(|scan| scan["id"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>(),
        made
    );
    assert_eq!(made.len(), 64);
}

in_memory![four_mebibytes_are_scanned_while_others_are_answered];
on_every_store!(
    a_body_over_16_mebibytes_is_too_large,
    a_body_of_16_mebibytes_is_accepted,
    the_thousand_worst_findings_are_kept,
    many_scans_at_once_are_all_kept,
);
