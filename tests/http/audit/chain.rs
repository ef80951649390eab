//! Tests of the audit chain: each entry of the audit log has a hash of the entry before it, so that
//! changes of the log are detected.

use secrets_core::audit::{self, BrokenChain};
use std::sync::Arc;

use chrono::TimeDelta;
use secrets_core::store::AuditFilter;
use secrets_tests::{App, Build, Kind, Person, on_every_store, on_sql_stores, paths};
use tokio::task::JoinSet;

use super::{repeat_newest, team};

/// Creates several entries in the audit log of Alice's team, and appends (seals) the entries to the
/// audit chain.
pub(super) async fn sealed(app: &App) -> Person {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for key in ["ONE", "TWO", "THREE"] {
        app.wait(TimeDelta::seconds(1));
        alice.secret(&web, "production", key, "kvc_value").await;
        alice.get(&paths::secret(&web, "production", key)).await.is(200);
    }
    app.seal().await;
    alice
}

async fn an_unchanged_log_is_valid(app: App) {
    sealed(&app).await;

    let verified = audit::verify(app.service.engine()).await.unwrap();

    assert_eq!((verified.chains, verified.entries, verified.unsealed), (1, 8, 0));
    assert_eq!(verified.broken, []);
}

async fn a_log_goes_on_after_a_restart(app: App) {
    let alice = sealed(&app).await;
    let app = app.restarted().await;
    app.bearer(&app.jwt("alice")).post("/api/v1/auth/sync", &serde_json::json!({})).await.is(200);

    app.seal().await;

    let verified = audit::verify(app.service.engine()).await.unwrap();
    assert_eq!((verified.entries, verified.unsealed, verified.broken.len()), (9, 0, 0));
    drop(alice);
}

async fn concurrent_sealing_makes_one_chain(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "production", "ONE", "kvc_value").await;
    let mut reads = JoinSet::new();
    for _ in 0..64 {
        let (service, path) = (Arc::clone(&app.service), paths::secret(&web, "production", "ONE"));
        let alice = app.bearer(&app.jwt("alice"));
        reads.spawn(async move {
            alice.get(&path).await.is(200);
            audit::seal(service.engine()).await.unwrap();
        });
    }

    reads.join_all().await;
    app.seal().await;

    let verified = audit::verify(app.service.engine()).await.unwrap();
    assert_eq!((verified.entries, verified.unsealed, verified.broken.len()), (67, 0, 0));
}

async fn every_change_of_an_entry_is_found(app: App) {
    sealed(&app).await;
    let changes = [
        "UPDATE audit_log SET action = 'secret.deleted' WHERE position = 4",
        "UPDATE audit_log SET resource_name = 'OTHER' WHERE position = 4",
        "UPDATE audit_log SET metadata = '{}' WHERE position = 4",
        "UPDATE audit_log SET actor_id = NULL WHERE position = 4",
        "UPDATE audit_log SET agent = 'curl' WHERE position = 4",
        "UPDATE audit_log SET hash = NULL WHERE position = 4",
        "UPDATE audit_log SET position = 40 WHERE position = 4",
        "DELETE FROM audit_log WHERE position = 4",
    ];
    for change in changes {
        app.sql("CREATE TABLE kept AS SELECT * FROM audit_log").await;
        app.sql(change).await;

        let verified = audit::verify(app.service.engine()).await.unwrap();

        let positions: Vec<_> = verified.broken.iter().map(|broken| broken.position).collect();
        assert_eq!(positions, [4], "{change}");
        app.sql("DELETE FROM audit_log; INSERT INTO audit_log SELECT * FROM kept; DROP TABLE kept")
            .await;
    }
    assert_eq!(audit::verify(app.service.engine()).await.unwrap().broken, []);
}

async fn a_log_that_was_cut_at_either_end_is_found(app: App) {
    sealed(&app).await;
    for cut in [
        "DELETE FROM audit_log WHERE position = 8",
        "DELETE FROM audit_log WHERE position = 1",
        "DELETE FROM audit_log WHERE position > 6; UPDATE audit_heads SET position = 6,
             hash = (SELECT hash FROM audit_log WHERE position = 6)",
        "DELETE FROM audit_log WHERE position < 3; UPDATE audit_heads SET base = 2,
             base_hash = (SELECT previous_hash FROM audit_log WHERE position = 3)",
        "DELETE FROM audit_heads",
        "DELETE FROM audit_log; UPDATE audit_heads SET mac = ''",
    ] {
        app.sql("CREATE TABLE kept AS SELECT * FROM audit_log").await;
        app.sql("CREATE TABLE kept_heads AS SELECT * FROM audit_heads").await;
        app.sql(cut).await;

        assert_eq!(audit::verify(app.service.engine()).await.unwrap().broken.len(), 1, "{cut}");
        app.sql(
            "DELETE FROM audit_log; INSERT INTO audit_log SELECT * FROM kept; DROP TABLE kept;
             DELETE FROM audit_heads; INSERT INTO audit_heads SELECT * FROM kept_heads;
             DROP TABLE kept_heads",
        )
        .await;
    }
    assert_eq!(audit::verify(app.service.engine()).await.unwrap().broken, []);
}

async fn a_chain_with_a_changed_end_stays_invalid_when_it_grows(app: App) {
    let alice = sealed(&app).await;
    app.sql(
        "DELETE FROM audit_log WHERE position > 6; UPDATE audit_heads SET position = 6,
             hash = (SELECT hash FROM audit_log WHERE position = 6)",
    )
    .await;

    alice.post("/api/v1/auth/sync", &serde_json::json!({})).await.is(200);
    audit::seal(app.service.engine()).await.unwrap();

    let verified = audit::verify(app.service.engine()).await.unwrap();
    assert_eq!((verified.broken.len(), verified.unsealed), (1, 1));
}

async fn a_broken_chain_holds_up_no_other(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = sealed(&app).await;
    app.sql("UPDATE audit_heads SET hash = mac").await;
    repeat_newest(&app, team(&alice), 600).await;
    let bob = app.person("bob").await;

    audit::seal(app.service.engine()).await.unwrap();

    let mut reads = app.store.read().await.unwrap();
    assert_eq!(reads.unsealed_teams().await.unwrap(), [Some(team(&alice))]);
    assert_eq!(reads.audit_head(Some(team(&bob))).await.unwrap().unwrap().position, 1);
    let failing = app.failing().await;
    assert_eq!(failing, [("audit seal".to_owned(), alice.team.clone(), 1)]);
    // The delay before the next try is a minute, and doubles with each failure.
    for (seconds, failures) in [(59, 1), (2, 2), (61, 2), (60, 3)] {
        app.wait(TimeDelta::seconds(seconds));
        audit::seal(app.service.engine()).await.unwrap();
        assert_eq!(app.failing().await[0].2, failures, "after {seconds} s");
    }
}

async fn an_unreadable_head_holds_up_no_other_chain(kind: Kind) {
    let app = Build::on(kind).plan("free").without_workers().start().await;
    let alice = sealed(&app).await;
    let bob = app.person("bob").await;
    app.seal().await;
    app.wait(TimeDelta::days(8));
    app.person("bob").await;
    app.seal().await;
    app.sql("UPDATE audit_heads SET mac = '' WHERE position > 2").await;

    audit::prune(app.service.engine()).await.unwrap();

    assert_eq!(app.failing().await, [("audit prune".to_owned(), alice.team.clone(), 1)]);
    let verified = audit::verify(app.service.engine()).await.unwrap();
    assert_eq!(verified.broken, [BrokenChain { team: Some(team(&alice)), position: 0 }]);
    assert_eq!((verified.chains, verified.entries), (2, 1));
    let mut reads = app.store.read().await.unwrap();
    let head = reads.audit_head(Some(team(&bob))).await.unwrap().unwrap();
    assert_eq!((head.base, head.position), (1, 2));
}

async fn names_of_actors_may_be_erased(app: App) {
    sealed(&app).await;

    app.sql("UPDATE audit_log SET actor_name = NULL, actor_email = NULL").await;

    assert_eq!(audit::verify(app.service.engine()).await.unwrap().broken, []);
}

/// Starts a server whose audit log has this number of further entries, all of which are past their
/// retention period except for the newest.
pub(super) async fn expired(kind: Kind, number: usize) -> App {
    let app = Build::on(kind).plan("free").without_workers().start().await;
    let alice = sealed(&app).await;
    repeat_newest(&app, team(&alice), number).await;
    app.seal().await;
    app.wait(TimeDelta::days(8));
    app.person("alice").await;
    app.seal().await;
    app
}

async fn everything_past_retention_goes_in_one_round(kind: Kind) {
    let app = expired(kind, 2_500).await;

    audit::prune(app.service.engine()).await.unwrap();

    let verified = audit::verify(app.service.engine()).await.unwrap();
    assert_eq!((verified.entries, verified.broken.len()), (1, 0));
    let lags = app.service.engine().lags();
    assert_eq!(lags, [("audit prune", std::time::Duration::ZERO)]);
}

async fn a_log_that_is_pruned_meanwhile_is_valid(kind: Kind) {
    let app = expired(kind, 4_500).await;
    let engine = app.service.engine();
    let verify_repeatedly = async {
        loop {
            assert_eq!(audit::verify(engine).await.unwrap().broken, []);
        }
    };

    tokio::select! {
        biased;
        () = verify_repeatedly => unreachable!(),
        pruned = audit::prune(engine) => pruned.unwrap(),
    }

    let verified = audit::verify(engine).await.unwrap();
    assert_eq!((verified.entries, verified.broken.len()), (1, 0));
}

async fn entries_are_deleted_after_the_retention_of_the_plan(kind: Kind) {
    let app = Build::on(kind).plan("free").start().await;
    let alice = sealed(&app).await;
    app.wait(TimeDelta::days(7) - TimeDelta::seconds(1));

    audit::prune(app.service.engine()).await.unwrap();

    let mut reads = app.store.read().await.unwrap();
    let left = reads.audit_entries(&AuditFilter::newest(team(&alice), 100)).await.unwrap();
    drop(reads);
    assert_eq!(left.len(), 4);
    app.person("alice").await;
    app.seal().await;
    let verified = audit::verify(app.service.engine()).await.unwrap();
    assert_eq!((verified.entries, verified.broken.len()), (5, 0));
}

on_every_store!(
    an_unchanged_log_is_valid,
    a_log_goes_on_after_a_restart,
    concurrent_sealing_makes_one_chain;
    entries_are_deleted_after_the_retention_of_the_plan,
    everything_past_retention_goes_in_one_round,
);

mod changed {
    use super::*;

    on_sql_stores!(
        every_change_of_an_entry_is_found,
        a_log_that_was_cut_at_either_end_is_found,
        a_chain_with_a_changed_end_stays_invalid_when_it_grows,
        names_of_actors_may_be_erased;
        a_log_that_is_pruned_meanwhile_is_valid,
        a_broken_chain_holds_up_no_other,
        an_unreadable_head_holds_up_no_other_chain,
    );
}
