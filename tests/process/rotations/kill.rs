//! Tests that kill the server program at every step of a rotation, for all kinds of databases at
//! the same time. The restarted program must complete the rotation. Logins with the credential in
//! the secrets must always succeed, and the history must contain the attempt once.

use secrets_tests::targets::Target;
use secrets_tests::{Person, until};
use serde_json::json;

use super::sampler::Sampler;
use super::world::{Open, Rotated, World};

/// Returns the number of times that a test kills the server program at a step: the number in the
/// environment variable `SECRETS_TEST_KILL_ROUNDS`, by default 1.
pub(super) fn rounds() -> usize {
    #[expect(clippy::disallowed_methods, reason = "the only configuration of the tests")]
    let asked = std::env::var("SECRETS_TEST_KILL_ROUNDS").ok();
    asked.and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

const FAILPOINT: &str = "SECRETS_DEBUG_FAILPOINT";
const TIMINGS: &str = "SECRETS_DEBUG_TIMINGS";

/// Reason why a rotation starts, during which the test kills the server program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A request starts the rotation.
    Asked,
    /// The rotation starts because it is due.
    Due,
}

/// Checks that a rotation completes if the server program is killed at this step (the name of a
/// failpoint).
async fn killed_at(place: &str, way: Way) {
    let world = World::new(&format!("kill_{place}"), &Target::all()).await;
    kill_in(world, place, way, rounds()).await;
}

/// Creates a rotation for each database of `world`. Then, `rounds` times, starts the rotations,
/// kills the server program at this failpoint, and checks that the restarted program completes the
/// attempts.
pub(super) async fn kill_in(mut world: World, place: &str, way: Way, rounds: usize) {
    let open = world.open().await;
    let samplers = begin(&world, &open).await;
    open.program.kill();
    for round in 1..=rounds {
        die(&mut world, place, way).await;
        recover(&world, &samplers, round).await;
    }
    rotate_again(&world).await;
    for sampler in samplers {
        sampler.end().await;
    }
}

/// Creates the rotations and runs each once. Returns, for each rotation, a client that logs in
/// again and again with the credential in the secrets.
pub(super) async fn begin(world: &World, open: &Open) -> Vec<Sampler> {
    world.create_rotations(open).await;
    let mut samplers = Vec::new();
    for rotated in &world.rotated {
        assert_eq!(rotated.rotate(open.owner(rotated)).await["status"], "success");
        samplers.push(Sampler::start(rotated, open.owner(rotated)).await);
    }
    samplers
}

/// Starts the server program and all rotations, waits until the program stops at this failpoint,
/// and kills the program.
async fn die(world: &mut World, place: &str, way: Way) {
    let before = world.reached(place);
    world.set(FAILPOINT, place);
    if way == Way::Due {
        // A day lasts a millisecond, so rotations are due again at once.
        world.set(TIMINGS, "day=1,jitter=0,grace=3600000");
    }
    let open = world.open().await;
    for rotated in &world.rotated {
        let owner = open.owner(rotated);
        if way == Way::Asked {
            rotated.start_rotation(owner);
        } else {
            // This change counts the interval again from the last rotation.
            let interval = json!({ "rotation_interval_days": 1 });
            owner.put(&rotated.path(""), &interval).await.is(200);
        }
    }
    // Only one transaction writes at a time: if the program stops within a transaction, the other
    // rotations wait.
    let all =
        if matches!(place, "in-swap" | "before-swap-answer") { 1 } else { world.rotated.len() };
    world.until_reached(place, before + all).await;
    open.program.kill();
    world.unset(FAILPOINT);
    world.unset(TIMINGS);
}

/// Starts the server program again, and asserts that it completes the interrupted attempt of each
/// rotation and starts no other attempt. `round` is the number of kills so far.
pub(super) async fn recover(world: &World, samplers: &[Sampler], round: usize) {
    let open = world.open().await;
    for (rotated, sampler) in world.rotated.iter().zip(samplers) {
        let before = sampler.served();
        until("the history has the attempt", async || {
            rotated.history(open.owner(rotated)).await.len() > round
        })
        .await;
        let history = rotated.history(open.owner(rotated)).await;
        assert_eq!(history.len(), round + 1, "one entry each: {history:#?}");
        assert_eq!(history[0]["status"], "success", "{history:#?}");
        assert_eq!(history[0]["version"], round + 1);
        sampler.refresh(rotated, open.owner(rotated)).await;
        let after = sampler.served();
        assert_ne!(before, after);
        let target = &rotated.database.target;
        assert!(target.logs_in(&after.username, &after.password).await);
        assert!(
            target.logs_in(&before.username, &before.password).await,
            "within its grace period"
        );
    }
    open.program.kill();
}

/// Starts the server program once more, and asserts that a rotation of each database succeeds. The
/// rotation changes a database user that exists already.
async fn rotate_again(world: &World) {
    let open = world.open().await;
    for rotated in &world.rotated {
        assert_eq!(rotated.rotate(open.owner(rotated)).await["status"], "success");
    }
    open.program.kill();
}

killed! {
    killed_at;
    a_kill_before_the_plan_loses_nothing: "before-plan", Way::Due;
    a_kill_after_the_plan_loses_nothing: "after-plan", Way::Due;
    a_kill_before_the_target_is_told_loses_nothing: "before-apply", Way::Asked;
    a_kill_in_the_targets_transaction_loses_nothing: "in-transaction", Way::Asked;
    a_kill_before_the_target_has_answered_loses_nothing: "before-commit-answer", Way::Asked;
    a_kill_after_the_target_has_answered_loses_nothing: "after-apply", Way::Asked;
    a_kill_before_the_login_loses_nothing: "before-login", Way::Asked;
    a_kill_in_the_login_loses_nothing: "in-login", Way::Asked;
    a_kill_after_the_login_loses_nothing: "after-login", Way::Asked;
    a_kill_in_the_swap_loses_nothing: "in-swap", Way::Asked;
    a_kill_before_the_swap_is_answered_loses_nothing: "before-swap-answer", Way::Asked;
    a_kill_after_the_swap_loses_nothing: "after-swap", Way::Asked;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_the_previous_credential_is_disabled_is_recovered() {
    killed_while_disabling(World::new("kill_in_retire", &Target::all()).await, rounds()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_an_attempt_is_rolled_back_is_recovered() {
    killed_while_rolling_back(World::new("kill_in_rollback", &Target::all()).await, rounds()).await;
}

/// Checks that a rotation recovers if the server program is killed while it disables the previous
/// credentials. Repeats the test `rounds` times.
pub(super) async fn killed_while_disabling(mut world: World, rounds: usize) {
    let open = world.open().await;
    world.create_rotations(&open).await;
    for rotated in &world.rotated {
        rotated.rotate(open.owner(rotated)).await;
    }
    open.program.kill();
    for round in 1..=rounds {
        world.set(FAILPOINT, "in-retire");
        world.set(TIMINGS, "grace=1");
        let open = world.open().await;
        let mut previous = Vec::new();
        for rotated in &world.rotated {
            previous.push(rotated.served(open.owner(rotated)).await.unwrap());
            assert_eq!(rotated.rotate(open.owner(rotated)).await["status"], "success");
        }
        world.until_reached("in-retire", round * world.rotated.len()).await;
        open.program.kill();
        world.unset(FAILPOINT);
        let open = world.open().await;
        for (rotated, previous) in world.rotated.iter().zip(previous) {
            let target = &rotated.database.target;
            until("the previous credential is shut out", async || {
                !target.logs_in(&previous.username, &previous.password).await
            })
            .await;
            let served = rotated.served(open.owner(rotated)).await.unwrap();
            assert!(target.logs_in(&served.username, &served.password).await);
            assert_eq!(rotated.history(open.owner(rotated)).await.len(), round + 1);
            // Otherwise the next program would continue the work, and stop before its rotation.
            until("the end of the work is recorded", async || {
                retired(open.owner(rotated)).await == round
            })
            .await;
        }
        open.program.kill();
    }
    rotate_again(&world).await;
}

/// Returns the number of times that a previous credential was disabled, according to the audit log.
async fn retired(owner: &Person) -> usize {
    let log = owner.get("/api/v1/audit?action=rotation.retired").await.is(200).json();
    log["logs"].as_array().unwrap().len()
}

/// Checks that a rotation recovers if the server program is killed while it rolls back a failed
/// attempt. Repeats the test `rounds` times.
pub(super) async fn killed_while_rolling_back(mut world: World, rounds: usize) {
    // The plan has no quota left for the secrets of a credential, so the swap is refused.
    world.set("SECRETS_DEFAULT_PLAN", "free");
    let open = world.open().await;
    world.create_rotations(&open).await;
    for rotated in &world.rotated {
        fill(rotated, open.owner(rotated)).await;
    }
    open.program.kill();
    for round in 1..=rounds {
        world.set(FAILPOINT, "in-rollback");
        let open = world.open().await;
        for rotated in &world.rotated {
            rotated.start_rotation(open.owner(rotated));
        }
        world.until_reached("in-rollback", round * world.rotated.len()).await;
        open.program.kill();
        world.unset(FAILPOINT);
        let open = world.open().await;
        for rotated in &world.rotated {
            until("the attempt is concluded", async || {
                rotated.history(open.owner(rotated)).await.len() == round
            })
            .await;
            let entry = &rotated.history(open.owner(rotated)).await[0];
            assert_eq!(entry["status"], "rolled_back", "{entry}");
            assert_eq!(rotated.served(open.owner(rotated)).await, None);
        }
        open.program.kill();
    }
}

/// Creates 245 secrets in an environment that may have 250. The credential of a rotation needs six
/// secrets, so it does not fit.
async fn fill(rotated: &Rotated, owner: &Person) {
    for (begin, end) in [(0, 100), (100, 200), (200, 245)] {
        let secrets: Vec<_> = (begin..end)
            .map(|number| json!({ "key": format!("KEY_{number}"), "value": "kvc_filling" }))
            .collect();
        let body = json!({ "secrets": secrets });
        owner.post(&(rotated.secrets() + "/bulk"), &body).await.is(200);
    }
}
