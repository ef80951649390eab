//! Tests that run against every kind of real server.

use std::sync::Arc;

use super::servers::{OTHER_NAME, all, apply, later, mysqls};
use crate::crypto::Plaintext;
use crate::egress::{Dialer, EgressPolicy};
use crate::model::rotations::{PermissionLevel, SslMode};
use crate::ports::rotator::{DatabaseRotator, Fault, Fence, Login, Target};
use crate::rotators::drivers::{MySqlRotator, PostgresRotator};

const LEVELS: [PermissionLevel; 3] =
    [PermissionLevel::Read, PermissionLevel::ReadWrite, PermissionLevel::Admin];

/// Database names with quotes, pattern characters and other special characters.
const ODD_NAMES: [&str; 9] =
    ["plain", "a b", "a\"b", "a'b", "a`b", "a%b", "a_b", "ünïcode-名", r"a\b"];

#[tokio::test]
async fn a_user_logs_in_to_a_database_with_any_name() {
    for server in all() {
        for name in ODD_NAMES {
            let target = server.database(name).await;
            let apply = apply(PermissionLevel::ReadWrite);

            server.rotator.test(&target).await.unwrap();
            let applied = server.rotator.apply(&target, &apply).await.unwrap();

            assert_eq!(applied.identity.is_some(), !server.is_mariadb, "{name}");
            server.rotator.verify(&target, &apply.login, apply.level).await.unwrap();
            let rows = server.user(&target, &apply.login, "SELECT id FROM things").await.unwrap();
            assert_eq!(rows, ["1"], "{name}");
            server.clear(&target, &[&apply]).await;
        }
    }
}

#[tokio::test]
async fn a_user_has_the_privileges_of_the_level() {
    for server in all() {
        let target = server.database("levels").await;
        let apply = apply(PermissionLevel::Read);
        for (sequence, level) in (1..).zip([&LEVELS[..], &LEVELS[..1]].concat()) {
            let apply = crate::ports::rotator::Apply { level, ..later(&apply, sequence) };
            server.rotator.apply(&target, &apply).await.unwrap();
            let may = async |sql: &str| server.user(&target, &apply.login, sql).await.is_ok();
            let (writes, makes) = (level != PermissionLevel::Read, level == PermissionLevel::Admin);

            server.rotator.verify(&target, &apply.login, level).await.unwrap();
            assert!(may("SELECT id FROM things").await);
            assert_eq!(may("INSERT INTO things VALUES (2)").await, writes, "{level:?}");
            assert_eq!(may("UPDATE things SET id = 3 WHERE id = 2").await, writes);
            assert_eq!(may("DELETE FROM things WHERE id = 3").await, writes);
            assert_eq!(may("CREATE TABLE made (id integer)").await, makes, "{level:?}");
            assert_eq!(may("DROP TABLE made").await, makes);
        }
        server.clear(&target, &[&apply]).await;
    }
}

#[tokio::test]
async fn missing_and_excess_privileges_are_noticed() {
    for server in all() {
        let target = server.database("probe").await;
        let read = apply(PermissionLevel::Read);
        let admin = apply(PermissionLevel::Admin);
        server.rotator.apply(&target, &read).await.unwrap();
        server.rotator.apply(&target, &admin).await.unwrap();

        for (apply, level) in [
            (&read, PermissionLevel::ReadWrite),
            (&read, PermissionLevel::Admin),
            (&admin, PermissionLevel::Read),
        ] {
            let error = server.rotator.verify(&target, &apply.login, level).await.unwrap_err();
            assert_eq!(error.fault, Fault::ProbeRefused, "{level:?}");
        }
        server.clear(&target, &[&read, &admin]).await;
    }
}

#[tokio::test]
async fn an_older_attempt_is_refused() {
    for server in all().into_iter().filter(|server| !server.is_mariadb) {
        let target = server.database("fence").await;
        let fifth = later(&apply(PermissionLevel::Read), 5);
        let fourth = later(&fifth, 4);
        server.rotator.apply(&target, &fifth).await.unwrap();

        let applied = server.rotator.apply(&target, &fourth).await.unwrap_err();
        let locked = server.rotator.lock(&target, fourth.fence, &fifth.login.username).await;

        assert_eq!(applied.fault, Fault::Fenced);
        assert_eq!(locked.unwrap_err().fault, Fault::Fenced);
        server.rotator.verify(&target, &fifth.login, fifth.level).await.unwrap();
        // Repeating the same attempt and a later attempt are both accepted.
        server.rotator.apply(&target, &fifth).await.unwrap();
        server.rotator.apply(&target, &later(&fifth, 6)).await.unwrap();
        server.clear(&target, &[&fifth]).await;
    }
}

#[tokio::test]
async fn a_user_of_no_rotation_is_not_changed() {
    for server in all().into_iter().filter(|server| !server.is_mariadb) {
        let target = server.database("foreign").await;
        let apply = apply(PermissionLevel::Read);
        let user = &apply.login.username;
        let make = if server.is_postgres() { "CREATE ROLE" } else { "CREATE USER" };
        server.admin(&target, &format!("{make} {user}")).await.unwrap();

        let applied = server.rotator.apply(&target, &apply).await.unwrap_err();
        let locked = server.rotator.lock(&target, apply.fence, user).await.unwrap_err();

        assert_eq!((applied.fault, locked.fault), (Fault::Privilege, Fault::Privilege));
        let login = server.rotator.verify(&target, &apply.login, apply.level).await.unwrap_err();
        assert_eq!(login.fault, Fault::LoginRejected);
        server.clear(&target, &[&apply]).await;
    }
}

#[tokio::test]
async fn a_user_who_is_locked_does_not_log_in_until_the_next_password() {
    for server in all() {
        let target = server.database("lock").await;
        let first = apply(PermissionLevel::Read);
        let second = later(&first, 2);
        // The user does not exist yet.
        server.rotator.lock(&target, first.fence, &first.login.username).await.unwrap();
        server.rotator.apply(&target, &first).await.unwrap();

        server.rotator.lock(&target, first.fence, &first.login.username).await.unwrap();
        let locked = server.rotator.verify(&target, &first.login, first.level).await.unwrap_err();
        server.rotator.apply(&target, &second).await.unwrap();

        assert_eq!(locked.fault, Fault::LoginRejected);
        server.rotator.verify(&target, &second.login, second.level).await.unwrap();
        let old = server.rotator.verify(&target, &first.login, first.level).await.unwrap_err();
        assert_eq!(old.fault, Fault::LoginRejected);
        server.clear(&target, &[&first]).await;
    }
}

#[tokio::test]
async fn rejected_logins_of_administrator_and_user_differ() {
    for server in all() {
        let target = server.database("refused").await;
        let apply = apply(PermissionLevel::Read);
        let wrong = Plaintext::new("kvc_wrong".into()).unwrap();
        let admin = Target { admin_password: wrong.clone(), ..target.clone() };
        let nowhere = Target { database: "not_there".into(), ..target.clone() };
        let unnameable = Target { database: "a\0b".into(), ..target.clone() };
        server.rotator.apply(&target, &apply).await.unwrap();
        let login = Login { password: wrong, ..apply.login.clone() };

        let fault =
            |outcome: Result<_, crate::ports::rotator::TargetError>| outcome.unwrap_err().fault;
        assert_eq!(fault(server.rotator.test(&admin).await), Fault::AdminRejected);
        assert_eq!(fault(server.rotator.test(&nowhere).await), Fault::NoDatabase);
        server.rotator.test(&unnameable).await.unwrap_err();
        let verified = server.rotator.verify(&target, &login, apply.level).await;
        assert_eq!(fault(verified), Fault::LoginRejected);
        server.clear(&target, &[&apply]).await;
    }
}

#[tokio::test]
async fn a_server_must_prove_what_the_tls_mode_requires() {
    let foreign = include_str!("certificate.pem");
    for server in all() {
        let with = |ssl_mode, host: &str, ca: Option<&str>| Target {
            ssl_mode,
            host: host.to_owned(),
            ca_certificate: ca.map(str::to_owned),
            ..server.target.clone()
        };
        let own = server.target.ca_certificate.as_deref();
        let (ca, full) = (SslMode::VerifyCa, SslMode::VerifyFull);
        for (target, fault) in [
            (with(full, "127.0.0.1", own), None),
            (with(full, "localhost", own), None),
            (with(full, OTHER_NAME, own), Some(Fault::TlsUntrusted)),
            (with(full, "127.0.0.1", Some(foreign)), Some(Fault::TlsUntrusted)),
            (with(full, "127.0.0.1", None), Some(Fault::TlsUntrusted)),
            (with(ca, OTHER_NAME, own), None),
            (with(ca, "127.0.0.1", Some(foreign)), Some(Fault::TlsUntrusted)),
            (with(ca, "127.0.0.1", None), Some(Fault::TlsUntrusted)),
            (with(full, "127.0.0.1", Some("no certificate")), Some(Fault::TlsUntrusted)),
        ] {
            let found = server.rotator.test(&target).await.err().map(|error| error.fault);
            assert_eq!(found, fault, "{:?} {}", target.ssl_mode, target.host);
        }
        for mode in [SslMode::Allow, SslMode::Prefer, SslMode::Require, SslMode::Disable] {
            // MySQL has cached the password of the previous login, so the hash is enough.
            server.rotator.test(&with(mode, OTHER_NAME, None)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn only_allowed_destinations_are_dialled() {
    let nothing = Arc::new(Dialer::new(EgressPolicy::default()));
    for server in all() {
        let rotator: Box<dyn DatabaseRotator> = if server.is_postgres() {
            Box::new(PostgresRotator::new(Arc::clone(&nothing)))
        } else {
            Box::new(MySqlRotator::new(Arc::clone(&nothing)))
        };

        let error = rotator.test(&server.target).await.unwrap_err();

        assert_eq!(error.fault, Fault::NotAllowed);
    }
}

#[tokio::test]
async fn rotations_of_one_database_do_not_disturb_each_other() {
    for server in all() {
        let target = server.database("many").await;
        let applies: Vec<_> = (0..6).map(|_| apply(PermissionLevel::ReadWrite)).collect();

        let outcomes = applies.iter().map(|apply| server.rotator.apply(&target, apply));
        let outcomes = futures_util::future::join_all(outcomes).await;

        for (outcome, apply) in outcomes.into_iter().zip(&applies) {
            outcome.unwrap();
            server.rotator.verify(&target, &apply.login, apply.level).await.unwrap();
        }
        server.clear(&target, &applies.iter().collect::<Vec<_>>()).await;
    }
}

/// Checks that the service sends MariaDB a password hash, and MySQL the password itself.
#[tokio::test]
async fn mariadb_is_sent_a_hash() {
    for server in mysqls() {
        let target = server.database("hash").await;
        let apply = apply(PermissionLevel::Read);

        let applied = server.rotator.apply(&target, &apply).await.unwrap();

        assert_eq!(applied.sent_in_clear, !server.is_mariadb);
        server.clear(&target, &[&apply]).await;
    }
}

/// Checks that an unverified MySQL server does not get the administrator's password. MySQL requests
/// the password if it has not cached it.
#[tokio::test]
async fn an_unverified_mysql_gets_no_administrator_password() {
    for server in mysqls().into_iter().filter(|server| !server.is_mariadb) {
        let target = server.database("cold").await;
        let apply = apply(PermissionLevel::Admin);
        server.rotator.apply(&target, &apply).await.unwrap();
        let cold = Target {
            admin_username: apply.login.username.clone(),
            admin_password: apply.login.password.clone(),
            ssl_mode: SslMode::Require,
            ..target.clone()
        };

        let error = server.rotator.test(&cold).await.unwrap_err();

        assert_eq!(error.fault, Fault::TlsUntrusted);
        server.clear(&target, &[&apply]).await;
    }
}

#[tokio::test]
async fn a_locked_user_stays_locked_when_it_is_locked_again() {
    for server in all() {
        let target = server.database("twice").await;
        let apply = apply(PermissionLevel::Read);
        server.rotator.apply(&target, &apply).await.unwrap();
        let later = Fence { sequence: 2, ..apply.fence };

        for fence in [apply.fence, apply.fence, later] {
            server.rotator.lock(&target, fence, &apply.login.username).await.unwrap();

            let login = server.rotator.verify(&target, &apply.login, apply.level).await;
            assert_eq!(login.unwrap_err().fault, Fault::LoginRejected);
        }

        server.clear(&target, &[&apply]).await;
    }
}
