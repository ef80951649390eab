//! Tests of the users in a target database after the service stopped in the middle of changing one
//! of them. The tests are a separate binary, because a failpoint (a place where the code stops on
//! request) is set for the whole process.
#![cfg(all(feature = "rotators", debug_assertions))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use secrets_core::crypto::{Plaintext, random};
use secrets_core::egress::{Dialer, EgressPolicy};
use secrets_core::failpoint::{self, After};
use secrets_core::model::RotationId;
use secrets_core::model::rotations::{DatabaseKind, PermissionLevel, Slot, SslMode};
use secrets_core::ports::rotator::{Apply, DatabaseRotator, Fault, Fence, Login, Target};
use secrets_core::rotations::{draw_password, group_role, slot_user};
use secrets_core::rotators::drivers::{MySqlRotator, PostgresRotator};
use tokio::sync::Notify;

static REACHED: Notify = Notify::const_new();

#[expect(clippy::disallowed_methods, reason = "tests are configured by environment variables only")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn target(name: &str, kind: DatabaseKind) -> Option<Target> {
    let url = url::Url::parse(&variable(name)?).unwrap();
    let authority = variable("SECRETS_TEST_TARGET_CA").unwrap();
    Some(Target {
        kind,
        host: url.host_str().unwrap().to_owned(),
        port: url.port().unwrap(),
        database: url.path().trim_start_matches('/').to_owned(),
        admin_username: url.username().to_owned(),
        admin_password: Plaintext::new(url.password().unwrap().to_owned()).unwrap(),
        ssl_mode: SslMode::VerifyFull,
        ca_certificate: Some(std::fs::read_to_string(authority).unwrap()),
        proxy: None,
    })
}

fn driver(kind: DatabaseKind, gate: &Arc<Dialer>) -> Box<dyn DatabaseRotator> {
    match kind.name {
        "postgresql" => Box::new(PostgresRotator::new(Arc::clone(gate))),
        "mysql" => Box::new(MySqlRotator::new(Arc::clone(gate))),
        other => panic!("no driver for {other}"),
    }
}

/// Returns the target databases of the tests, whose URLs are in environment variables. PostgreSQL
/// and MariaDB are required; MySQL is optional, because it is not available on every machine.
fn targets() -> Vec<Target> {
    let needed = [
        target("SECRETS_TEST_TARGET_POSTGRES_URL", DatabaseKind::POSTGRESQL),
        target("SECRETS_TEST_TARGET_MARIADB_URL", DatabaseKind::MYSQL),
    ];
    let mysql = target("SECRETS_TEST_TARGET_MYSQL_URL", DatabaseKind::MYSQL);
    needed.map(|target| target.unwrap()).into_iter().chain(mysql).collect()
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
    let gate = Arc::new(Dialer::new(EgressPolicy::parse("127.0.0.0/8").unwrap()));
    for target in targets() {
        let rotator = driver(target.kind, &gate);
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
