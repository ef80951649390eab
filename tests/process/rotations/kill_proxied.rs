//! Tests that kill the server program at every step of a rotation through a Lambda function, like
//! the tests in `kill.rs` for direct rotations.

use secrets_tests::targets::Target;
use secrets_tests::until;

use super::kill::{
    Way, begin, kill_in, killed_while_disabling, killed_while_rolling_back, recover, rounds,
};
use super::world::World;

/// Creates a database of every kind, whose users are rotated through the Lambda function with this
/// name.
async fn world(name: &str, function: &'static str) -> World {
    World::proxied(&format!("kill_proxied_{name}"), &Target::all(), function).await
}

/// Checks that a rotation completes if the server program is killed at this step (the name of a
/// failpoint).
async fn killed_at(place: &str, way: Way) {
    kill_in(world(place, "rotate").await, place, way, rounds()).await;
}

killed! {
    killed_at;
    a_kill_before_the_plan_loses_nothing: "before-plan", Way::Due;
    a_kill_after_the_plan_loses_nothing: "after-plan", Way::Due;
    a_kill_before_the_call_loses_nothing: "before-apply", Way::Asked;
    a_kill_after_the_answer_loses_nothing: "after-apply", Way::Asked;
    a_kill_before_the_login_loses_nothing: "before-login", Way::Asked;
    a_kill_in_the_login_loses_nothing: "in-login", Way::Asked;
    a_kill_after_the_login_loses_nothing: "after-login", Way::Asked;
    a_kill_in_the_swap_loses_nothing: "in-swap", Way::Asked;
    a_kill_before_the_swap_is_answered_loses_nothing: "before-swap-answer", Way::Asked;
    a_kill_after_the_swap_loses_nothing: "after-swap", Way::Asked;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_the_previous_credential_is_disabled_is_recovered() {
    killed_while_disabling(world("in-retire", "rotate").await, rounds()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_an_attempt_is_rolled_back_is_recovered() {
    killed_while_rolling_back(world("in-rollback", "rotate").await, rounds()).await;
}

/// Checks that a rotation completes if a call of the Lambda function changes the password only
/// after the server program was killed, while the restarted program calls the function again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_during_the_call_loses_nothing() {
    let world = world("call", "late").await;
    let calls = || world.endpoint.as_ref().unwrap().output().matches("late apply\n").count();
    let open = world.open().await;
    let samplers = begin(&world, &open).await;
    open.program.kill();

    for round in 1..=rounds() {
        let before = calls();
        let open = world.open().await;
        for rotated in &world.rotated {
            rotated.start_rotation(open.owner(rotated));
        }
        until("the function is called", async || calls() >= before + world.rotated.len()).await;
        open.program.kill();
        recover(&world, &samplers, round).await;
    }

    for sampler in samplers {
        sampler.end().await;
    }
}
