//! Tests of rotations by two server processes (nodes) with one database. One process is stopped
//! during a rotation until its lease on the rotation has ended, so that the other takes over.

use secrets_core::testing::postgres::TestDatabase;
use secrets_tests::targets::Target;
use secrets_tests::until;
use serde_json::json;

use super::sampler::Sampler;
use super::world::{LOOPBACK, World};
use crate::program::{Program, log_path};

/// Setting for short leases; all times are in milliseconds.
const TIMINGS: &str = "lease=6000,heartbeat=1000,margin=100";

/// Setting for short leases that a process never checks or renews; all times are in milliseconds.
/// Only the fence (a number stored in the target database) prevents changes by the process that
/// lost its lease.
const CARELESS: &str = "lease=6000,heartbeat=3600000,margin=100";

fn node(name: &str, store: &TestDatabase, failpoint: Option<&str>) -> Program {
    let program = Program::serve(name, "unused".as_ref())
        .with("SECRETS_DATABASE_URL", &store.url())
        .with("SECRETS_EGRESS_ALLOW", LOOPBACK)
        .with("SECRETS_DEBUG_TIMINGS", TIMINGS);
    match failpoint {
        Some(place) => program.with("SECRETS_DEBUG_FAILPOINT", place),
        None => program,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_command_of_a_node_is_refused_by_the_target() {
    let store = TestDatabase::create().await;
    let world = World::new("two_nodes_sleeper", &[Target::postgres()]).await;
    let rotated = &world.rotated[0];
    let sleeper = node("rotations_two_nodes_sleeper", &store, Some("login:pause"))
        .with("SECRETS_DEBUG_TIMINGS", CARELESS)
        .start();
    let awake = node("rotations_two_nodes_awake", &store, None).start();
    let (alice, hurried) = (awake.person("alice").await, sleeper.person("alice").await);
    rotated.create(&alice).await;
    assert_eq!(rotated.rotate(&alice).await["version"], 1);
    let sampler = Sampler::start(rotated, &alice).await;

    // Waits until the sleeping node has logged in as the administrator, before it sends an SQL
    // statement.
    let path = rotated.path("/rotate");
    let mut asked = None;
    for _ in 0..10 {
        let (hurried, path) = (hurried.clone(), path.clone());
        let request = tokio::spawn(async move { hurried.try_post(&path, &json!({})).await });
        let has_logged_in = || world.reached("login") > 0;
        until("a login", async || has_logged_in() || request.is_finished()).await;
        if has_logged_in() {
            asked = Some(request);
            break;
        }
        // The worker of the other node took the attempt first, and completed the attempt.
        sampler.refresh(rotated, &alice).await;
    }
    let asked = asked.expect("the other node took ten attempts");
    let before = rotated.history(&alice).await.len();
    sleeper.freeze().await;
    // The other node takes the attempt over when the lease has ended, and later changes the same
    // slot again.
    until("the attempt is taken over", async || rotated.history(&alice).await.len() > before).await;
    sampler.refresh(rotated, &alice).await;
    for version in [before + 2, before + 3] {
        assert_eq!(rotated.rotate(&alice).await["version"], version);
        sampler.refresh(rotated, &alice).await;
    }

    sleeper.resume();
    until("the sleeper is refused", async || {
        let log = std::fs::read_to_string(log_path("rotations_two_nodes_sleeper")).unwrap();
        log.contains("refused: the target has seen a later attempt")
    })
    .await;
    asked.await.unwrap();

    let history = rotated.history(&alice).await;
    assert_eq!(history.len(), before + 3, "{history:#?}");
    assert!(history.iter().all(|entry| entry["status"] == "success"), "{history:#?}");
    sampler.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_of_a_dead_node_is_completed_by_another() {
    let store = TestDatabase::create().await;
    let world = World::new("two_nodes_dead", &Target::all()).await;
    let dead = node("rotations_two_nodes_dead", &store, Some("after-apply")).start();
    let alice = dead.person("alice").await;
    let mut asked = Vec::new();
    for rotated in &world.rotated {
        rotated.create(&alice).await;
        let (alice, path) = (alice.clone(), rotated.path("/rotate"));
        asked.push(tokio::spawn(async move { alice.try_post(&path, &json!({})).await }));
    }
    world.until_reached("after-apply", world.rotated.len()).await;
    let successor = node("rotations_two_nodes_successor", &store, None).start();
    dead.kill();

    let alice = successor.person("alice").await;
    for rotated in &world.rotated {
        until("the attempt is ended", async || !rotated.history(&alice).await.is_empty()).await;
        let history = rotated.history(&alice).await;
        assert_eq!((history.len(), &history[0]["status"]), (1, &json!("success")));
        let served = rotated.served(&alice).await.unwrap();
        assert!(rotated.database.target.logs_in(&served.username, &served.password).await);
    }
}
