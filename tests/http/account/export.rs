//! Tests of exporting the data of an account.

use chrono::TimeDelta;
use secrets_core::crypto::{Archive, Passphrase};
use secrets_core::engine::Options;
use secrets_core::model::{AuditId, MemberAccess, Role};
use secrets_core::store::AuditRecord;
use secrets_tests::{App, Build, Client, Kind, Reply, STARTED, in_memory_and_on_postgres, paths};
use serde_json::{Value, json};

use super::EXPORT;
use crate::device_login;

const PASSPHRASE: &str = "correct horse battery";

async fn archive(client: &Client) -> Reply {
    let body = json!({ "include_secrets": true, "passphrase": PASSPHRASE });
    client.post(EXPORT, &body).await
}

/// Decrypts the archive that a reply to an account export with secrets contains. Returns its
/// contents.
fn opened(reply: &Reply) -> Value {
    let passphrase = Passphrase::new(PASSPHRASE.to_owned()).unwrap();
    let contents = Archive::open(&reply.is(200).body, &passphrase).unwrap();
    serde_json::from_slice(&contents).unwrap()
}

async fn an_export_contains_the_data_stored_about_a_user(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.token(&json!({ "all_projects": true })).await;
    bob.project("Theirs").await;
    let members = format!("/api/v1/teams/{}/members", bob.team);
    bob.post(&members, &json!({ "email": "alice@example.com" })).await.is(201);

    let reply = alice.get(EXPORT).await;

    let data = reply.is(200).json();
    let disposition = reply.header("content-disposition");
    assert_eq!(disposition, Some("attachment; filename=\"secrets-account.json\""));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!((&data["format_version"], &data["generated_at"]), (&json!(1), &json!(STARTED)));
    assert_eq!(data["user"], alice.get("/api/v1/users/me").await.json());
    assert_eq!(data["memberships"][0]["name"], "alice's Team");
    assert_eq!(data["invitations"][0]["team_name"], "bob's Team");
    assert_eq!(data["invitations"][0].get("token"), None);
    let projects = alice.get("/api/v1/projects").await.json();
    assert_eq!(data["projects"], projects["projects"]);
    let tokens = alice.get("/api/v1/tokens").await.json();
    assert_eq!(data["service_tokens"], tokens["tokens"]);
    let mut actions: Vec<_> = data["audit_logs"].as_array().unwrap().iter().collect();
    actions.sort_by_key(|entry| entry["action"].to_string());
    let actions: Vec<_> = actions.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["project.created", "secret.created", "token.created", "user.created"]);
    assert!(!reply.text().contains("kvc_value"));
}

async fn an_export_does_not_name_the_objects_of_another_team(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let project =
        bob.post("/api/v1/projects", &json!({ "name": "Hidden plan" })).await.is(201).id();
    let of_project = format!("/api/v1/projects/{project}");
    let export = format!("{of_project}/environments/staging/secrets/export");
    alice.get(&export).await.is(403);
    alice.patch(&of_project, &json!({ "name": "Mine" })).await.is(403);
    alice.get(&format!("/api/v1/teams/{}/invitations", bob.team)).await.is(403);

    let reply = alice.get(EXPORT).await;

    let data = reply.is(200).json();
    let entries = data["audit_logs"].as_array().unwrap();
    let denied: Vec<_> = entries.iter().filter(|entry| entry["outcome"] == "denied").collect();
    assert!(!denied.is_empty());
    for theirs in [bob.team.as_str(), &project, "Hidden plan", "hidden-plan", "staging"] {
        assert!(!reply.text().contains(theirs), "{theirs}: {denied:?}");
    }
}

async fn an_export_describes_the_actions_in_the_users_teams_only(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    bob.project("Own").await;
    let body = json!({ "name": "Left", "team_id": alice.team });
    let left = bob.post("/api/v1/projects", &body).await.is(201).id();
    let created = async || {
        let data = bob.get(EXPORT).await.is(200).json();
        let mut entries = data["audit_logs"].as_array().unwrap().clone();
        entries.retain(|entry| entry["action"] == "project.created");
        entries
    };
    let named = |entries: &[Value]| entries.iter().any(|entry| entry["resource_id"] == *left);
    assert!(named(&created().await));

    app.part(&alice.team, &bob.id).await;

    let entries = created().await;
    assert_eq!(entries.len(), 2);
    assert!(!named(&entries));
    let own = entries.iter().find(|entry| entry["team_id"] == *bob.team).unwrap();
    assert_eq!(own["resource_name"], "Own");
    let other = entries.iter().find(|entry| entry["team_id"] != *bob.team).unwrap();
    assert_eq!((&other["outcome"], &other["metadata"]), (&json!("success"), &json!({})));
    assert_eq!((&other["actor_id"], &other["ip_address"]), (&json!(bob.id), &json!("127.0.0.1")));
    for field in [
        "team_id",
        "project_id",
        "project_name",
        "resource_id",
        "resource_name",
        "hash",
        "prev_hash",
    ] {
        assert_eq!(other.get(field), None, "{field}");
    }
}

async fn an_export_has_the_tokens_of_teams_that_the_user_manages(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Admin).await;
    let body = json!({ "name": "theirs", "team_id": alice.team, "all_projects": true });
    bob.post("/api/v1/tokens", &body).await.is(201);
    bob.token(&json!({ "all_projects": true })).await;
    let names = async || {
        let data = bob.get(EXPORT).await.is(200).json();
        let tokens = data["service_tokens"].as_array().unwrap().iter();
        let mut names: Vec<_> = tokens.map(|token| token["name"].to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names().await, ["\"test\"", "\"theirs\""]);

    let path = format!("/api/v1/teams/{}/members/{}", alice.team, bob.id);
    alice.patch(&path, &json!({ "role": "member" })).await.is(200);

    assert_eq!(names().await, ["\"test\""]);
}

async fn an_export_has_the_sessions_without_their_credentials(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let (_, granted) = device_login::session(&app, &alice).await;
    device_login::session(&app, &bob).await;

    let reply = alice.get(EXPORT).await;

    let data = reply.is(200).json();
    let listed = alice.get("/api/v1/auth/sessions").await.is(200).json();
    assert_eq!(data["sessions"], listed["sessions"]);
    assert_eq!(data["sessions"].as_array().unwrap().len(), 1);
    assert!(!reply.text().contains(granted["access_token"].as_str().unwrap()));
}

async fn an_export_says_that_it_leaves_out_older_actions(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let first = app.entry(&alice.team, "user.created").await;
    let before = alice.get(EXPORT).await.is(200).json();
    let copies = (1..=10_000).map(|number| {
        let created_at = first.created_at - TimeDelta::milliseconds(number);
        AuditRecord { id: AuditId::draw(created_at), created_at, seal: None, ..first.clone() }
    });
    let copies: Vec<_> = copies.collect();
    let mut tx = app.store.begin().await.unwrap();
    for copies in copies.chunks(2_500) {
        tx.insert_audit(copies).await.unwrap();
    }
    tx.commit().await.unwrap();

    let after = alice.get(EXPORT).await.is(200).json();

    assert_eq!(before["audit_logs_truncated"], false);
    assert_eq!(after["audit_logs_truncated"], true);
    assert_eq!(after["audit_logs"].as_array().unwrap().len(), 10_000);
}

async fn an_export_leaves_out_invitations_that_expired(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let members = format!("/api/v1/teams/{}/members", bob.team);
    bob.post(&members, &json!({ "email": "alice@example.com" })).await.is(201);
    let before = alice.get(EXPORT).await.is(200).json();

    app.wait(TimeDelta::days(8));

    let after = app.person("alice").await.get(EXPORT).await.is(200).json();
    assert_eq!(before["invitations"].as_array().unwrap().len(), 1);
    assert_eq!(after["invitations"], json!([]));
}

async fn an_archive_holds_the_values_that_the_person_can_read(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.environment(&web, "child", Some("staging")).await;
    let hide = json!({ "key": "GONE", "hidden": true });
    alice.post(&paths::secrets(&web, "production"), &hide).await.is(201);

    let reply = archive(&alice).await;

    let contents = opened(&reply);
    let disposition = reply.header("content-disposition");
    assert_eq!(disposition, Some("attachment; filename=\"secrets-account.scx\""));
    assert!(!reply.text().contains("kvc_"));
    assert_eq!((&contents["format_version"], &contents["user_id"]), (&json!(1), &json!(alice.id)));
    let project = &contents["projects"][0];
    assert_eq!((&project["name"], &project["slug"]), (&json!("Web"), &json!("web")));
    let environments = project["environments"].as_array().unwrap();
    let shown: Vec<_> = environments
        .iter()
        .map(|environment| {
            let secrets = environment["secrets"].as_array().unwrap().iter();
            let secrets = secrets.map(|secret| format!("{}={}", secret["key"], secret["value"]));
            format!("{} {}", environment["name"], secrets.collect::<String>()).replace('"', "")
        })
        .collect();
    assert_eq!(
        shown,
        ["development ", "staging KEY=kvc_value", "production ", "child KEY=kvc_value"]
    );
    let child = &environments[3]["secrets"][0];
    assert_eq!(child["inherited_from"], "staging");
}

async fn an_archive_opens_only_with_its_passphrase(app: App) {
    let alice = app.person("alice").await;

    let reply = archive(&alice).await;

    let other = Passphrase::new("another passphrase".to_owned()).unwrap();
    assert!(Archive::open(&reply.is(200).body, &other).is_err());
    assert!(reply.body.starts_with(b"SCEXPORT\x01"));
}

async fn an_archive_leaves_out_secrets_that_the_user_may_not_read(kind: Kind) {
    let options = Options { member_access: MemberAccess::None, ..Options::default() };
    let app = Build::on(kind).options(options).start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&alice.team, &bob.id, Role::Member).await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.environment(&web, "child", Some("staging")).await;
    alice.secret(&web, "child", "CHILD", "kvc_child").await;
    let read = json!({ "role": "read" });
    alice.put(&paths::permission(&web, "child", &bob.id), &read).await.is(200);
    let own = bob.project("Own").await;
    bob.secret(&own, "staging", "KEY", "kvc_own").await;

    let contents = opened(&archive(&bob).await);

    let projects = contents["projects"].as_array().unwrap();
    let shared = projects.iter().find(|project| project["name"] == "Web").unwrap();
    let secrets = &shared["environments"][0]["secrets"];
    assert_eq!((&secrets[0]["value"], &secrets[0]["key"]), (&json!("kvc_child"), &json!("CHILD")));
    assert_eq!((&secrets[1]["restricted"], &secrets[1]["key"]), (&json!(true), &json!("KEY")));
    let contents = contents.to_string();
    assert!(contents.contains("kvc_own") && !contents.contains("kvc_value"), "{contents}");
}

async fn exports_are_recorded_for_every_exported_environment(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&bob.team, &alice.id, Role::Admin).await;
    let theirs = bob.project("Theirs").await;
    bob.secret(&theirs, "staging", "KEY", "kvc_value").await;

    alice.get(EXPORT).await.is(200);
    archive(&alice).await.is(200);

    let mut exported = app.audit(&bob.team).await;
    exported.retain(|entry| entry.action == "secrets.exported");
    let mut places: Vec<_> =
        exported.iter().filter_map(|entry| entry.environment_name.clone()).collect();
    places.sort();
    assert_eq!(places, ["development", "production", "staging"]);
    assert!(exported.iter().all(|entry| entry.actor_name.as_deref() == Some("alice")));
    let data = alice.get(EXPORT).await.is(200).json();
    let own: Vec<_> = data["audit_logs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["action"] == "account.exported")
        .map(|entry| entry["metadata"]["include_secrets"].as_bool().unwrap())
        .collect();
    assert_eq!(own.len(), 2);
    assert!(own.contains(&true) && own.contains(&false));
}

async fn a_person_exports_five_times_an_hour(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    for _ in 0..4 {
        alice.get(EXPORT).await.is(200);
    }
    archive(&alice).await.is(200);

    for reply in [alice.get(EXPORT).await, archive(&alice).await] {
        reply.is(429).code("rate_limited");
        assert_eq!(reply.number("retry-after"), 3590);
    }
    bob.get(EXPORT).await.is(200);
    app.wait(TimeDelta::seconds(3590));
    alice.get(EXPORT).await.is(200);
}

async fn an_archive_needs_a_passphrase_of_12_characters(app: App) {
    let alice = app.person("alice").await;
    let body = |passphrase: &str| json!({ "include_secrets": true, "passphrase": passphrase });

    for passphrase in ["", "kvc_elevenc"] {
        let reply = alice.post(EXPORT, &body(passphrase)).await;
        reply.is(400).names("passphrase");
        assert!(!reply.text().contains("kvc_elevenc"));
    }
    for body in [
        json!({ "passphrase": PASSPHRASE }),
        json!({ "include_secrets": "yes", "passphrase": PASSPHRASE }),
        json!({ "include_secrets": false, "passphrase": PASSPHRASE }),
    ] {
        alice.post(EXPORT, &body).await.is(400).names("include_secrets");
    }
    alice.post(EXPORT, &json!({ "include_secrets": true })).await.is(400).names("passphrase");
    archive(&alice).await.is(200);
}

in_memory_and_on_postgres![
    an_export_contains_the_data_stored_about_a_user,
    an_export_does_not_name_the_objects_of_another_team,
    an_export_describes_the_actions_in_the_users_teams_only,
    an_export_has_the_tokens_of_teams_that_the_user_manages,
    an_export_has_the_sessions_without_their_credentials,
    an_export_leaves_out_invitations_that_expired,
    an_archive_holds_the_values_that_the_person_can_read,
    an_archive_opens_only_with_its_passphrase,
    exports_are_recorded_for_every_exported_environment,
    a_person_exports_five_times_an_hour,
    an_archive_needs_a_passphrase_of_12_characters;
    an_archive_leaves_out_secrets_that_the_user_may_not_read,
    an_export_says_that_it_leaves_out_older_actions,
];
