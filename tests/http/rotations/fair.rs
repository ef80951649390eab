//! Tests that many due rotations of one team do not delay the rotations of other teams.

use std::time::Duration;

use chrono::TimeDelta;
use secrets_core::Service;
use secrets_core::engine::{Options, Ports};
use secrets_core::rotations;
use secrets_core::testing::fixtures;
use secrets_tests::{App, Build, Counted, Kind, on_every_store, paths, postgresql};
use serde_json::json;

/// Creates a project of the user with this name, and `count` rotations in it, each for a database
/// host of its own.
async fn create_at_hosts(app: &App, name: &str, count: usize) {
    let person = app.person(name).await;
    let project = person.project("Web").await;
    for number in 0..count {
        let mut rotation = postgresql(&format!("db-{number}"));
        rotation["connection"]["host"] = format!("{name}-{number}.example.com").into();
        person.post(&paths::rotations(&project, "staging"), &rotation).await.is(201);
    }
}

async fn many_rotations_at_one_host_do_not_delay_others(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for number in 0..70 {
        let rotation = postgresql(&format!("db-{number}"));
        alice.post(&paths::rotations(&web, "staging"), &rotation).await.is(201);
    }
    app.wait(TimeDelta::seconds(1));
    let bob = app.person("bob").await;
    let api = bob.project("Api").await;
    let mut rotation = postgresql("other-db");
    rotation["connection"]["host"] = "other.example.com".into();
    bob.post(&paths::rotations(&api, "staging"), &rotation).await.is(201);
    app.wait(TimeDelta::days(31));

    let first = rotations::claim_rotations(app.service.engine()).await.unwrap();
    let second = rotations::claim_rotations(app.service.engine()).await.unwrap();

    assert_eq!((first.len(), second.len()), (2, 0), "one at each host");
}

async fn refused_rotations_are_skipped(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    for number in 0..40 {
        let rotation = postgresql(&format!("db-{number}"));
        alice.post(&paths::rotations(&web, "staging"), &rotation).await.is(201);
    }
    app.wait(TimeDelta::days(31));
    let store = Counted::of(&app.store);
    let ports = Ports { store: store.clone(), ..app.ports() };
    let node = Service::open(ports, Options::default()).await.unwrap();

    let (mut claims, mut tried) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let before = store.reads();
        claims.extend(rotations::claim_rotations(node.engine()).await.unwrap());
        // One read loads the due rotations, and one for each rotation loads its host.
        tried.push(store.reads() - before - 1);
    }

    // The first is claimed. Each call tries 16 of the others, and none a second time.
    assert_eq!((claims.len(), tried), (1, vec![17, 16, 7, 0]));
}

async fn a_team_leaves_permits_to_others(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    for (name, hosts) in [("alice", 6), ("bob", 1)] {
        create_at_hosts(&app, name, hosts).await;
        app.wait(TimeDelta::seconds(1));
    }
    app.wait(TimeDelta::days(31));
    let engine = app.service.engine();

    let claims = rotations::claim_rotations(engine).await.unwrap();

    assert_eq!(claims.len(), 3, "two of one team, one of the other");
    assert_eq!(engine.lags(), [("rotations", Duration::ZERO)], "a limit of a team is no lag");
}

async fn rotations_that_wait_for_others_to_end_are_a_lag(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    for name in ["alice", "bob", "carol"] {
        create_at_hosts(&app, name, 2).await;
    }
    app.wait(TimeDelta::days(31));
    let engine = app.service.engine();

    let claims = rotations::claim_rotations(engine).await.unwrap();
    let [(worker, waiting)] = engine.lags()[..] else { panic!("no lag of one worker") };

    assert_eq!(claims.len(), 4, "the maximum of a node");
    assert!(worker == "rotations" && waiting > Duration::ZERO, "{worker} {waiting:?}");
    app.wait(TimeDelta::hours(1));
    assert_eq!(engine.lags(), [("rotations", waiting + Duration::from_hours(1))]);
    rotations::claim_rotations(engine).await.unwrap();
    let later = engine.lags();
    assert!(later[0].1 >= waiting + Duration::from_hours(1), "{later:?}");
}

async fn a_rotation_that_becomes_due_while_a_node_is_busy_is_a_lag(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    for name in ["alice", "bob"] {
        create_at_hosts(&app, name, 2).await;
    }
    app.wait(TimeDelta::days(31));
    let engine = app.service.engine();
    let busy = rotations::claim_rotations(engine).await.unwrap();
    assert_eq!((busy.len(), engine.lags()), (4, vec![("rotations", Duration::ZERO)]));
    let carol = app.person("carol").await;
    let project = carol.project("Web").await;
    let mut rotation = postgresql("late");
    rotation["rotate_immediately"] = json!(true);
    carol.post(&paths::rotations(&project, "staging"), &rotation).await.is(201);
    app.wait(TimeDelta::seconds(10));

    let claims = rotations::claim_rotations(engine).await.unwrap();

    assert_eq!(claims.len(), 0);
    assert_eq!(engine.lags(), [("rotations", Duration::from_secs(10))]);
}

/// Checks that 4,200 due rotations of one team, more than the worker reads in one call, do not
/// delay the rotation of another team: the next call must continue after them.
async fn thousands_of_rotations_of_one_team_do_not_delay_others(kind: Kind) {
    let app = Build::on(kind).without_workers().start().await;
    let (alice, bob) = (app.person("alice").await, app.person("bob").await);
    let web = alice.project("Web").await;
    let idle = app.rotation(&alice, &web, "staging", "idle").await;
    let idle = app.store.read().await.unwrap().rotation(idle).await.unwrap().unwrap();
    let mut tx = app.store.begin().await.unwrap();
    for number in 0..4_200 {
        let name = format!("db-{number}");
        let mut due = fixtures::rotation_in(idle.environment, &name, idle.created_at);
        due.schedule.work_at = Some(idle.created_at);
        tx.insert_rotation(&due, &[]).await.unwrap();
    }
    tx.commit().await.unwrap();
    let api = bob.project("Api").await;
    bob.post(&paths::rotations(&api, "staging"), &postgresql("late")).await.is(201);
    app.wait(TimeDelta::days(31));

    let first = rotations::claim_rotations(app.service.engine()).await.unwrap();
    let second = rotations::claim_rotations(app.service.engine()).await.unwrap();
    let third = rotations::claim_rotations(app.service.engine()).await.unwrap();

    assert_eq!((first.len(), second.len(), third.len()), (2, 1, 0));
}

on_every_store!(;
    many_rotations_at_one_host_do_not_delay_others,
    refused_rotations_are_skipped,
    a_team_leaves_permits_to_others,
    rotations_that_wait_for_others_to_end_are_a_lag,
    a_rotation_that_becomes_due_while_a_node_is_busy_is_a_lag,
    thousands_of_rotations_of_one_team_do_not_delay_others,
);
