//! Tests of a disk that is full at a step of a rotation, with an SQLite database: no record is
//! half-written, logins with the credential in the secrets succeed, and the attempt is completed
//! after the disk has room again.

use std::fs;
use std::time::Duration;

use secrets_tests::targets::Target;
use secrets_tests::{canary, paths, until};
use serde_json::json;

use super::kill::{begin, recover};
use super::world::{Open, Rotated, World};
use crate::program::sql;

/// SQL statement that makes all rotations due.
const DUE: &str = "UPDATE rotations SET next_rotation_at = created_at, work_at = created_at";

/// Returns the number of lines in a log that report failed work on a rotation.
fn failures(log: &str) -> usize {
    let is_failure =
        |line: &&str| line.contains("background work failed") && line.contains("rotation");
    log.lines().filter(is_failure).count()
}

/// Fills the disk when a due rotation reaches this step (the name of a failpoint), and empties it
/// later. Checks that the rotation then completes.
async fn full_at(place: &str) {
    let mut world = World::new(&format!("full_disk_{place}"), &[Target::postgres()]).await;
    let release = world.file("release");
    let mut open = world.open().await;
    let samplers = begin(&world, &open).await;
    open.program.terminate(Duration::from_secs(20));
    sql(&world.file("secrets.db"), DUE).await;
    world.set("SECRETS_DEBUG_FAILPOINT", &format!("{place}:wait"));
    world.set("SECRETS_DEBUG_RELEASE", release.to_str().unwrap());
    world.set("SECRETS_DEBUG_TIMINGS", "lease=10000,heartbeat=1000,margin=1000,grace=3600000");
    let open = world.open().await;
    world.until_reached(place, 1).await;

    let before = failures(&world.log());
    open.program.fill_disk(true);
    must_refuse_writes(&open, &world.rotated[0]).await;
    // The attempt continues on the full disk, and fails.
    fs::write(&release, "").unwrap();
    until("the work fails", async || failures(&world.log()) > before).await;
    must_refuse_writes(&open, &world.rotated[0]).await;
    open.program.fill_disk(false);

    completed(&open, &world.rotated[0]).await;
    open.program.kill();
    world.unset("SECRETS_DEBUG_FAILPOINT");
    recover(&world, &samplers, 1).await;
    for sampler in samplers {
        sampler.end().await;
    }
}

/// Returns the path of the secret that contains the user name of a rotation's current credential.
fn served(rotated: &Rotated) -> String {
    format!("{}/{}_USERNAME", rotated.secrets(), rotated.name.to_uppercase())
}

/// Asserts that the service refuses requests that write to the database, and that `/health` reports
/// the failure.
async fn must_refuse_writes(open: &Open, rotated: &Rotated) {
    let owner = open.owner(rotated);
    let secret = json!({ "key": "WHILE_FULL", "value": canary("full_disk") });
    owner.post(&rotated.secrets(), &secret).await.is(503);
    // The audit entry of a read is written, too.
    owner.get(&served(rotated)).await.is(503);
    owner.get("/health").await.is(503);
}

/// Waits until the interrupted attempt is completed and `/health` reports no failure. Asserts that
/// reads succeed again, and that the write refused on the full disk was not stored.
async fn completed(open: &Open, rotated: &Rotated) {
    let owner = open.owner(rotated);
    until("the attempt is completed", async || rotated.history(owner).await.len() == 2).await;
    until("the health report has recovered", async || owner.get("/health").await.status == 200)
        .await;
    owner.get(&served(rotated)).await.is(200);
    let lost = paths::secret(&rotated.project(), "production", "WHILE_FULL");
    owner.get(&lost).await.is(404);
}

macro_rules! full {
    ($($name:ident: $place:literal;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            full_at($place).await;
        }
    )*};
}

full! {
    a_full_disk_before_the_plan_loses_nothing: "before-plan";
    a_full_disk_after_the_plan_loses_nothing: "after-plan";
    a_full_disk_after_the_target_has_answered_loses_nothing: "after-apply";
    a_full_disk_after_the_login_loses_nothing: "after-login";
    a_full_disk_in_the_swap_loses_nothing: "in-swap";
}
