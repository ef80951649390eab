//! Tests of the endpoint that verifies the newest entries of a team's audit chain.

use chrono::TimeDelta;
use secrets_core::audit;
use secrets_core::model::{Clock as _, Role};
use secrets_tests::{App, Build, Kind, Person, on_every_store, on_sql_stores, paths};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::chain::{expired, sealed};
use super::{repeat_newest, team};

fn path(person: &Person) -> String {
    format!("/api/v1/teams/{}/audit/verification", person.team)
}

async fn verified(person: &Person) -> Value {
    person.get(&path(person)).await.is(200).json()
}

async fn an_unchanged_chain_is_valid(app: App) {
    let alice = sealed(&app).await;

    assert_eq!(
        verified(&alice).await,
        json!({
            "team_id": alice.team,
            "status": "valid",
            "checked": 8,
            "unchecked": 0,
            "first_position": 1,
            "last_position": 8,
            "verified_until": app.clock.now(),
            "unsealed": 0,
        })
    );
    assert_eq!(app.actions(&alice.team).await.len(), 8, "the verification is not recorded");
}

async fn a_verification_includes_reads_that_were_just_answered(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;

    let expected = json!({
        "team_id": alice.team, "status": "valid", "checked": 0, "unchecked": 0, "unsealed": 3,
    });
    assert_eq!(verified(&alice).await, expected);
    alice.get(&paths::secret(&web, "staging", "KEY")).await.is(200);
    let found = verified(&alice).await;
    assert_eq!([&found["checked"], &found["unsealed"]], [4, 0]);
}

async fn a_chain_that_grows_meanwhile_is_valid(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "staging", "KEY", "kvc_value").await;
    let mut requests = JoinSet::new();
    for _ in 0..8 {
        let reader = app.bearer(&app.jwt("alice"));
        let (secret, verification) = (paths::secret(&web, "staging", "KEY"), path(&alice));
        requests.spawn(async move {
            for _ in 0..5 {
                reader.get(&secret).await.is(200);
                let found = reader.get(&verification).await.is(200).json();
                assert_eq!(found["status"], "valid", "{found}");
            }
        });
    }

    requests.join_all().await;
    app.seal().await;

    assert_eq!(verified(&alice).await["checked"], 43);
}

async fn a_pruned_chain_is_verified_from_its_first_entry(kind: Kind) {
    let app = Build::on(kind).plan("free").without_workers().start().await;
    sealed(&app).await;
    app.wait(TimeDelta::days(7) - TimeDelta::seconds(1));

    audit::prune(app.service.engine()).await.unwrap();

    // The first credential has expired.
    let found = verified(&app.person("alice").await).await;
    assert_eq!(found["status"], "valid");
    assert_eq!([&found["checked"], &found["unchecked"], &found["first_position"]], [4, 0, 5]);
}

async fn a_chain_that_is_pruned_meanwhile_is_valid(kind: Kind) {
    let app = expired(kind, 4_500).await;
    let alice = app.person("alice").await;
    let verify_repeatedly = async {
        loop {
            assert_eq!(verified(&alice).await["status"], "valid");
        }
    };

    tokio::select! {
        biased;
        () = verify_repeatedly => unreachable!(),
        pruned = audit::prune(app.service.engine()) => pruned.unwrap(),
    }

    let found = verified(&alice).await;
    assert_eq!([&found["checked"], &found["unchecked"]], [1, 0]);
}

async fn a_changed_entry_is_reported_with_its_position(app: App) {
    let alice = sealed(&app).await;
    for change in [
        "UPDATE audit_log SET metadata = '{}' WHERE position = 6",
        "DELETE FROM audit_log WHERE position = 5",
        "UPDATE audit_log SET previous_hash = hash WHERE position = 4",
    ] {
        app.sql(change).await;

        let found = verified(&alice).await;

        let position = found["broken_position"].as_u64().unwrap();
        assert!(change.ends_with(&format!("position = {position}")), "{change}: {found}");
        assert_eq!(found["status"], "broken");
        assert_eq!([&found["checked"], &found["last_position"]], [position - 1, position - 1]);
    }
}

async fn a_changed_or_deleted_head_is_reported_without_a_position(app: App) {
    let alice = sealed(&app).await;
    for change in [
        "UPDATE audit_heads SET hash = mac",
        "UPDATE audit_heads SET mac = ''",
        "DELETE FROM audit_heads",
    ] {
        app.sql(change).await;

        let found = verified(&alice).await;

        let expected = json!({
            "team_id": alice.team, "status": "broken", "checked": 0, "unchecked": 0, "unsealed": 0,
        });
        assert_eq!(found, expected, "{change}");
    }
}

async fn entries_before_the_newest_five_thousand_are_not_verified(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = sealed(&app).await;
    repeat_newest(&app, team(&alice), 5_092).await;
    app.seal().await;
    app.sql("UPDATE audit_log SET action = 'secret.deleted' WHERE position IN (4, 100)").await;

    let found = verified(&alice).await;

    assert_eq!(found["status"], "valid");
    assert_eq!([&found["checked"], &found["unchecked"]], [5_000, 100]);
    assert_eq!([&found["first_position"], &found["last_position"]], [101, 5_100]);
    app.sql("UPDATE audit_log SET action = 'secret.deleted' WHERE position = 101").await;
    let found = verified(&alice).await;
    assert_eq!([&found["checked"], &found["broken_position"]], [0, 101]);
}

async fn only_owners_and_admins_verify_the_log_of_a_team(app: App) {
    let (alice, eve) = (app.person("alice").await, app.person("eve").await);
    let (admin, member) = (app.person("admin").await, app.person("member").await);
    app.join(&alice.team, &admin.id, Role::Admin).await;
    app.join(&alice.team, &member.id, Role::Member).await;
    let (verification, list) = (path(&alice), format!("/api/v1/teams/{}/audit", alice.team));

    assert_eq!(admin.get(&verification).await.is(200).json()["team_id"], alice.team);
    for person in [&member, &eve] {
        let refused = person.get(&list).await.is(403).json();
        let reason = refused["error"].as_str().unwrap();
        person.get(&verification).await.is(403).code("forbidden").says(reason);
    }
    for team in ["0191d0a0-0000-7000-8000-000000000000", "acme"] {
        let unknown = format!("/api/v1/teams/{team}/audit/verification");
        alice.get(&unknown).await.is(404).says("team not found");
    }
}

on_every_store!(
    an_unchanged_chain_is_valid,
    a_chain_that_grows_meanwhile_is_valid,
    only_owners_and_admins_verify_the_log_of_a_team;
    a_verification_includes_reads_that_were_just_answered,
    a_pruned_chain_is_verified_from_its_first_entry,
);

mod changed {
    use super::*;

    on_sql_stores!(
        a_changed_entry_is_reported_with_its_position,
        a_changed_or_deleted_head_is_reported_without_a_position;
        a_chain_that_is_pruned_meanwhile_is_valid,
        entries_before_the_newest_five_thousand_are_not_verified,
    );
}
