//! Tests of deleting the caller's own account.

use chrono::TimeDelta;
use hyper::Method;
use secrets_core::account::anonymize;
use secrets_core::audit;
use secrets_core::model::{AuditId, Role};
use secrets_core::projects::purge;
use secrets_core::store::{AuditFilter, AuditRecord, AuditScope};
use secrets_tests::{App, Build, Client, Kind, Person, Reply, on_every_store, paths};
use serde_json::{Value, json};

use super::ACCOUNT;

async fn delete(client: &Client, confirm: &Value) -> Reply {
    client.json(Method::DELETE, ACCOUNT, &json!({ "confirm": confirm })).await
}

/// Deletes the account of the user `person`, whose name is `name`. The request contains the user's
/// e-mail address as the required confirmation.
async fn delete_own_account(person: &Person, name: &str) -> Reply {
    delete(person, &json!(format!("{name}@example.com"))).await
}

async fn a_deleted_user_is_unknown(app: App) {
    let alice = app.person("alice").await;

    delete_own_account(&alice, "alice").await.is(204);

    alice.get("/api/v1/users/me").await.is(404);
    alice.get(ACCOUNT).await.is(401);
    alice.get("/api/v1/teams").await.is(401);
}

async fn an_account_is_deleted_only_by_its_address(app: App) {
    let alice = app.person("alice").await;

    for confirm in [json!("bob@example.com"), json!(""), json!("alice"), json!("yes")] {
        let refused = delete(&alice, &confirm).await;
        refused.is(400).names("confirm");
    }
    for body in [json!({}), json!({ "confirm": true }), json!({ "confirm": null })] {
        alice.json(Method::DELETE, ACCOUNT, &body).await.is(400).names("confirm");
    }
    alice.get(ACCOUNT).await.is(200);
    delete(&alice, &json!(" Alice@EXAMPLE.com ")).await.is(204);
}

async fn the_personal_team_goes_with_everything_in_it(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    alice.environment(&web, "child", Some("staging")).await;
    let machine = app.bearer(&alice.token(&json!({ "all_projects": true })).await);
    let key = paths::secret(&web, "staging", "KEY");
    machine.get(&key).await.is(200);
    let theirs = bob.project("Theirs").await;
    bob.secret(&theirs, "staging", "KEY", "kvc_other").await;
    let mut reads = app.store.read().await.unwrap();
    let (first, last) = reads.secret_range().await.unwrap().unwrap();
    assert_ne!(first, last);

    delete_own_account(&alice, "alice").await.is(204);

    machine.get(&key).await.is(401);
    bob.get(&web).await.is(404);
    assert_eq!(purge(app.service.engine()).await.unwrap(), 1);
    let (first, last) = reads.secret_range().await.unwrap().unwrap();
    assert_eq!(first, last, "only the other person's secret is left");
    bob.get(&paths::secret(&theirs, "staging", "KEY")).await.is(200);
}

async fn a_slug_of_a_deleted_project_is_not_given_again(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    alice.post("/api/v1/projects", &json!({ "name": "Web", "slug": "web" })).await.is(201);

    delete_own_account(&alice, "alice").await.is(204);

    let body = json!({ "name": "Web", "slug": "web" });
    eve.post("/api/v1/projects", &body).await.is(400).names("slug");
}

async fn a_deleted_user_who_signs_in_again_is_a_new_user(app: App) {
    let alice = app.person("alice").await;
    alice.project("Web").await;
    delete_own_account(&alice, "alice").await.is(204);

    let again = app.person("alice").await;

    assert_ne!(again.id, alice.id);
    assert_ne!(again.team, alice.team);
    assert_eq!(again.get("/api/v1/projects").await.json(), json!({ "projects": [] }));
    again.get(&format!("/api/v1/teams/{}", alice.team)).await.is(403);
    again.project("Web").await;
    delete_own_account(&again, "alice").await.is(204);
}

async fn a_team_with_others_keeps_an_owner(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let ops = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).id();
    for team in [&ops, &alice.team] {
        app.join(team, &bob.id, Role::Admin).await;
    }

    let refused = delete_own_account(&alice, "alice").await;

    let error = refused.is(400).code("sole_owner").json()["error"].clone();
    let error = error.as_str().unwrap();
    assert!(error.contains("\"Ops\"") && error.contains("\"alice's Team\""), "{error}");
    alice.get(ACCOUNT).await.is(200);
    for team in [&ops, &alice.team] {
        let path = format!("/api/v1/teams/{team}/members/{}", bob.id);
        alice.patch(&path, &json!({ "role": "owner" })).await.is(200);
    }
    delete_own_account(&alice, "alice").await.is(204);
    let team = bob.get(&format!("/api/v1/teams/{}", alice.team)).await.is(200).json();
    assert_eq!((&team["member_count"], &team["members"][0]["name"]), (&json!(1), &json!("bob")));
}

async fn a_team_without_other_members_is_deleted_too(app: App) {
    let alice = app.person("alice").await;
    let ops = alice.post("/api/v1/teams", &json!({ "name": "Ops" })).await.is(201).id();
    let body = json!({ "name": "ci", "team_id": ops, "all_projects": true });
    let token = alice.post("/api/v1/tokens", &body).await.is(201).json();

    delete_own_account(&alice, "alice").await.is(204);

    app.bearer(token["token"].as_str().unwrap()).get("/api/v1/projects").await.is(401);
}

async fn objects_created_for_other_teams_stay(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&bob.team, &alice.id, Role::Admin).await;
    let body = json!({ "name": "Shared", "team_id": bob.team });
    let shared = alice.post("/api/v1/projects", &body).await.is(201).id();
    let shared = format!("/api/v1/projects/{shared}");
    alice.secret(&shared, "staging", "KEY", "kvc_value").await;
    let body = json!({ "name": "ci", "team_id": bob.team, "all_projects": true });
    let token = alice.post("/api/v1/tokens", &body).await.is(201).json();
    let members = format!("/api/v1/teams/{}/members", bob.team);
    alice.post(&members, &json!({ "email": "carol@example.com" })).await.is(201);

    delete_own_account(&alice, "alice").await.is(204);

    bob.get(&paths::secret(&shared, "staging", "KEY")).await.is(200);
    let machine = app.bearer(token["token"].as_str().unwrap());
    machine.get(&paths::secret(&shared, "staging", "KEY")).await.is(200);
    let tokens = bob.get("/api/v1/tokens").await.is(200).json();
    assert_eq!(tokens["tokens"][0]["created_by"], json!(alice.id));
    // The invitation is invalid, because the account of its sender is deleted.
    let invitations = app.person("carol").await.get("/api/v1/invitations").await.is(200).json();
    assert_eq!(invitations, json!([]));
}

/// Creates a project in another user's team, as an admin of the team. Returns the admin, the other
/// user, and the audit entry of the project.
async fn guest(app: &App) -> (Person, Person, AuditRecord) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    app.join(&bob.team, &alice.id, Role::Admin).await;
    let body = json!({ "name": "Shared", "team_id": bob.team });
    alice.post("/api/v1/projects", &body).await.is(201);
    let created = app.entry(&bob.team, "project.created").await;
    (alice, bob, created)
}

async fn the_log_keeps_the_entries_without_the_name(app: App) {
    let (alice, bob, before) = guest(&app).await;
    assert_eq!(before.actor_name.as_deref(), Some("alice"));
    app.seal().await;
    // The audit entry of this read may still be in a batch when the account is deleted.
    let shared = format!("/api/v1/projects/{}", before.project.unwrap());
    alice.secret(&shared, "staging", "KEY", "kvc_value").await;
    alice.get(&paths::secret(&shared, "staging", "KEY")).await.is(200);
    let read = app.entry(&bob.team, "secret.read").await;
    assert_eq!(read.actor_name.as_deref(), Some("alice"));

    delete_own_account(&alice, "alice").await.is(204);

    for entry in app.audit(&bob.team).await {
        let is_hers = entry.actor_id.map(|id| id.to_string()) == Some(alice.id.clone());
        let names = (&entry.actor_name, &entry.actor_email);
        assert!(!is_hers || names == (&None, &None), "{}", entry.action);
    }

    let after = app.entry(&bob.team, "project.created").await;
    assert_eq!((&after.actor_name, &after.actor_email), (&None, &None));
    assert_eq!(after.actor_id.map(|id| id.to_string()), Some(alice.id.clone()));
    assert_eq!((after.resource_name, after.address), (before.resource_name, before.address));
    app.seal().await;
    let verified = audit::verify(app.service.engine()).await.unwrap();
    assert_eq!(verified.broken, []);
}

async fn a_long_log_loses_the_name_in_batches(kind: Kind) {
    // A background worker would anonymize the rest of the log.
    let app = Build::on(kind).without_workers().start().await;
    let (alice, _bob, first) = guest(&app).await;
    let copies = (0..2_500).map(|number| AuditRecord {
        id: AuditId::draw(first.created_at - TimeDelta::milliseconds(number)),
        created_at: first.created_at - TimeDelta::milliseconds(number),
        seal: None,
        ..first.clone()
    });
    let mut tx = app.store.begin().await.unwrap();
    tx.insert_audit(&copies.collect::<Vec<_>>()).await.unwrap();
    tx.commit().await.unwrap();

    delete_own_account(&alice, "alice").await.is(204);

    let all = AuditFilter::newest(AuditScope::Actor(first.actor_id.unwrap()), 5_000);
    let entries = app.store.read().await.unwrap().audit_entries(&all).await.unwrap();
    let oldest = entries.last().unwrap();
    assert!(entries.len() > 2_500 && oldest.actor_name.is_none(), "{}", entries.len());
    assert!(entries.iter().any(|entry| entry.actor_name.is_some()), "all entries in one batch");
    let deletion = entries.iter().find(|entry| entry.action == "account.deleted").unwrap();
    assert_eq!(deletion.actor_name, None);
    anonymize(app.service.engine()).await.unwrap();
    let entries = app.store.read().await.unwrap().audit_entries(&all).await.unwrap();
    let names =
        entries.iter().filter(|entry| entry.actor_name.is_some() || entry.actor_email.is_some());
    assert_eq!((names.count(), entries.len() > 2_500), (0, true));
}

async fn a_deleted_person_accepts_nothing(app: App) {
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let members = format!("/api/v1/teams/{}/members", alice.team);
    let place = alice.post(&members, &json!({ "email": "bob@example.com" })).await.json();
    let (_, token) = place["accept_url"].as_str().unwrap().rsplit_once('/').unwrap();
    delete_own_account(&bob, "bob").await.is(204);

    let path = format!("/api/v1/invitations/{token}/accept");
    bob.post(&path, &json!({})).await.is(401);

    app.person("bob").await.post(&path, &json!({})).await.is(200);
}

async fn sessions_of_command_lines_end_with_the_account(app: App) {
    const CLI: &str = "/api/v1/auth/cli";
    let (alice, anonymous) = (app.person("alice").await, app.anonymous());
    let client = json!({ "client_id": "cli" });
    let login = anonymous.post(&format!("{CLI}/device"), &client).await.is(200).json();
    let approval = json!({ "user_code": login["user_code"] });
    alice.post(&format!("{CLI}/approve"), &approval).await.is(200);
    let grant = json!({
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": login["device_code"],
        "client_id": "cli",
    });
    let granted = anonymous.post(&format!("{CLI}/token"), &grant).await.is(200).json();
    let session = app.bearer(granted["access_token"].as_str().unwrap());
    session.get(ACCOUNT).await.is(200);

    delete_own_account(&alice, "alice").await.is(204);

    session.get(ACCOUNT).await.is(401);
    session.get("/api/v1/users/me").await.is(401);
}

async fn an_account_stays_deleted_after_a_restart(app: App) {
    let alice = app.person("alice").await;
    alice.project("Web").await;
    delete_own_account(&alice, "alice").await.is(204);

    let restarted = app.restarted().await;

    restarted.bearer(&app.jwt("alice")).get("/api/v1/users/me").await.is(404);
}

on_every_store![
    a_deleted_user_is_unknown,
    an_account_is_deleted_only_by_its_address,
    a_slug_of_a_deleted_project_is_not_given_again,
    a_deleted_user_who_signs_in_again_is_a_new_user,
    a_team_with_others_keeps_an_owner,
    a_team_without_other_members_is_deleted_too,
    objects_created_for_other_teams_stay,
    the_log_keeps_the_entries_without_the_name,
    a_deleted_person_accepts_nothing,
    sessions_of_command_lines_end_with_the_account,
    an_account_stays_deleted_after_a_restart;
    the_personal_team_goes_with_everything_in_it,
    a_long_log_loses_the_name_in_batches,
];
