//! Tests of the users in a target database after the service stopped in the middle of changing one
//! of them. The tests are a separate binary, because a failpoint (a place where the code stops on
//! request) is set for the whole process.
#![cfg(all(feature = "rotators", feature = "testing", debug_assertions))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use secrets_core::crypto::random;
use secrets_core::egress::{Dialer, EgressPolicy};
use secrets_core::failpoint::{self, After};
use secrets_core::model::RotationId;
use secrets_core::model::rotations::{DatabaseKind, PermissionLevel, Slot};
use secrets_core::ports::rotator::{Apply, DatabaseRotator, Fault, Fence, Login};
use secrets_core::rotations::{draw_password, group_role, slot_user};
use secrets_core::rotators::drivers::{MySqlRotator, PostgresRotator};
use secrets_core::testing::targets::Dialect;
use tokio::sync::Notify;

static REACHED: Notify = Notify::const_new();

/// Creates a dialer that permits connections to this machine.
fn gate() -> Arc<Dialer> {
    Arc::new(Dialer::new(EgressPolicy::parse("127.0.0.0/8").unwrap()))
}

fn driver(kind: DatabaseKind) -> Box<dyn DatabaseRotator> {
    match kind.name {
        "postgresql" => Box::new(PostgresRotator::new(gate())),
        "mysql" => Box::new(MySqlRotator::new(gate())),
        other => panic!("no driver for {other}"),
    }
}

fn apply() -> Apply {
    let rotation = RotationId::from(uuid::Uuid::from_bytes(random()));
    let login = Login { username: slot_user(rotation, Slot::A), password: draw_password() };
    let fence = Fence { rotation, sequence: 1 };
    let group = group_role(rotation);
    Apply { fence, group, login, level: PermissionLevel::Read, identity: None }
}

#[tokio::test]
async fn a_sent_change_is_made_and_an_unsent_one_is_not() {
    for target in Dialect::all().into_iter().map(Dialect::target) {
        let rotator = driver(target.kind);
        for (name, is_done) in [("in-transaction", false), ("before-commit-answer", true)] {
            let apply = apply();
            failpoint::arm(name, |_| {
                REACHED.notify_one();
                After::Stay
            });
            tokio::select! {
                _ = rotator.apply(&target, &apply) => panic!("failpoint {name} was not reached"),
                () = REACHED.notified() => {}
            }
            failpoint::arm("none", |_| After::Stay);
            // The server may still be executing the statement.
            let patience = Instant::now() + Duration::from_secs(if is_done { 20 } else { 0 });
            tokio::time::sleep(Duration::from_millis(500)).await;

            let mut verified = rotator.verify(&target, &apply.login, apply.level).await;
            while verified.is_err() && Instant::now() < patience {
                tokio::time::sleep(Duration::from_millis(50)).await;
                verified = rotator.verify(&target, &apply.login, apply.level).await;
            }
            let fault = verified.err().map(|error| error.fault);
            assert_eq!(fault, (!is_done).then_some(Fault::LoginRejected), "{name}");
            // A retry with the same arguments must succeed.
            rotator.apply(&target, &apply).await.unwrap();
            rotator.verify(&target, &apply.login, apply.level).await.unwrap();
        }
    }
}
