//! What every kind of server does when it is asked.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::servers::{OTHER_NAME, all, apply, later, mysqls, postgres};
use crate::crypto::Plaintext;
use crate::egress::{EgressPolicy, Gate};
use crate::rotations::drivers::{MySqlRotator, PostgresRotator};
use crate::rotations::{DatabaseRotator, Fault, Fence, Login, PermissionLevel, SslMode, Target};

const LEVELS: [PermissionLevel; 3] =
    [PermissionLevel::Read, PermissionLevel::ReadWrite, PermissionLevel::Admin];

/// Names that would end their quotes, or mean something else in a pattern.
const ODD_NAMES: [&str; 9] =
    ["plain", "a b", "a\"b", "a'b", "a`b", "a%b", "a_b", "ünïcode-名", r"a\b"];

#[tokio::test]
async fn a_user_is_made_and_logs_in_whatever_the_database_is_called() {
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
async fn a_user_may_do_what_the_level_says() {
    for server in all() {
        let target = server.database("levels").await;
        let apply = apply(PermissionLevel::Read);
        for (sequence, level) in (1..).zip([&LEVELS[..], &LEVELS[..1]].concat()) {
            let apply = crate::rotations::Apply { level, ..later(&apply, sequence) };
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
async fn a_user_who_may_less_or_more_than_they_should_is_noticed() {
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
async fn what_an_older_attempt_asks_is_refused() {
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
        // Again, and later, is fine.
        server.rotator.apply(&target, &fifth).await.unwrap();
        server.rotator.apply(&target, &later(&fifth, 6)).await.unwrap();
        server.clear(&target, &[&fifth]).await;
    }
}

#[tokio::test]
async fn a_user_who_is_not_ours_is_not_touched() {
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
        // Nobody is there yet.
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
async fn who_is_refused_is_told_apart() {
    for server in all() {
        let target = server.database("refused").await;
        let apply = apply(PermissionLevel::Read);
        let wrong = Plaintext::new("kvc_wrong".into()).unwrap();
        let admin = Target { admin_password: wrong.clone(), ..target.clone() };
        let nowhere = Target { database: "not_there".into(), ..target.clone() };
        let unnameable = Target { database: "a\0b".into(), ..target.clone() };
        server.rotator.apply(&target, &apply).await.unwrap();
        let login = Login { password: wrong, ..apply.login.clone() };

        let fault = |outcome: Result<_, crate::rotations::TargetError>| outcome.unwrap_err().fault;
        assert_eq!(fault(server.rotator.test(&admin).await), Fault::AdminRejected);
        assert_eq!(fault(server.rotator.test(&nowhere).await), Fault::NoDatabase);
        server.rotator.test(&unnameable).await.unwrap_err();
        let verified = server.rotator.verify(&target, &login, apply.level).await;
        assert_eq!(fault(verified), Fault::LoginRejected);
        server.clear(&target, &[&apply]).await;
    }
}

#[tokio::test]
async fn a_server_proves_what_the_mode_asks_for() {
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
            // It has just logged in, so that MySQL remembers the password and needs a proof alone.
            server.rotator.test(&with(mode, OTHER_NAME, None)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_destination_is_dialled_only_if_it_may_be() {
    let nothing = Arc::new(Gate::new(EgressPolicy::default()));
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
async fn another_server_than_before_is_noticed() {
    let server = postgres();
    let target = server.database("identity").await;
    let mut apply = apply(PermissionLevel::Read);
    apply.identity = Some("7000000000000000000".into());

    let other = server.rotator.apply(&target, &apply).await.unwrap_err();
    apply.identity = None;
    apply.identity = server.rotator.apply(&target, &apply).await.unwrap().identity;
    let same = server.rotator.apply(&target, &apply).await;

    assert_eq!(other.fault, Fault::Identity);
    assert_eq!(same.unwrap().identity, apply.identity);
    server.clear(&target, &[&apply]).await;
}

#[tokio::test]
async fn who_holds_the_lock_is_not_waited_for_long() {
    for server in all() {
        let target = server.database("busy").await;
        let apply = apply(PermissionLevel::Read);
        let rotation = apply.fence.rotation;
        let hold = if server.is_postgres() {
            format!("SELECT pg_advisory_lock(hashtextextended('kv:{rotation}', 0)), pg_sleep(7)")
        } else {
            format!("SELECT GET_LOCK('kv:{rotation}', 0) + SLEEP(3)")
        };

        let (_, outcome) = tokio::join!(server.admin(&target, &hold), async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            server.rotator.apply(&target, &apply).await
        });

        assert_eq!(outcome.unwrap_err().fault, Fault::Busy);
        server.rotator.apply(&target, &apply).await.unwrap();
        server.clear(&target, &[&apply]).await;
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

#[tokio::test]
async fn the_administrator_stays_as_they_are() {
    let server = postgres();
    let target = server.database("admin").await;
    let apply = apply(PermissionLevel::Admin);
    let admin = "SELECT r::text || (SELECT count(*) FROM pg_auth_members m \
        WHERE m.member = r.oid)::text FROM pg_authid r WHERE rolname = current_user";
    let before = server.admin(&target, admin).await.unwrap();

    server.rotator.apply(&target, &apply).await.unwrap();
    server.rotator.lock(&target, apply.fence, &apply.login.username).await.unwrap();

    assert_eq!(server.admin(&target, admin).await.unwrap(), before);
    server.clear(&target, &[&apply]).await;
}

/// On most services nobody is given a superuser.
#[tokio::test]
async fn an_administrator_who_may_make_roles_and_owns_the_database_is_enough() {
    let server = postgres();
    let (level, maker) = (PermissionLevel::Admin, apply(PermissionLevel::Read));
    let name = format!("{}_owner", maker.login.username);
    server.rotator.apply(&server.target, &maker).await.unwrap();
    // Made like a user of ours, so that no statement has a password in it.
    let rename = format!("ALTER ROLE {} RENAME TO {name}", maker.login.username);
    let target = server.database("owned").await;
    for sql in [
        rename,
        format!("ALTER ROLE {name} RESET role"),
        format!("REVOKE {} FROM {name}", maker.group),
        format!("ALTER DATABASE {} OWNER TO {name}", server.quoted(&target.database)),
        format!("ALTER ROLE {name} CREATEROLE"),
    ] {
        server.admin(&target, &sql).await.unwrap();
    }
    for sql in ["ALTER TABLE things OWNER TO ".to_owned() + &name] {
        server.admin(&target, &sql).await.unwrap();
    }
    let owner = Target {
        admin_username: name.clone(),
        admin_password: maker.login.password.clone(),
        ..target.clone()
    };
    let applied = apply(level);

    server.rotator.test(&owner).await.unwrap();
    server.rotator.apply(&owner, &applied).await.unwrap();

    server.rotator.verify(&owner, &applied.login, level).await.unwrap();
    server.admin(&owner, "CREATE TABLE later (id integer)").await.unwrap();
    server.user(&owner, &applied.login, "SELECT id FROM later").await.unwrap();
    server.user(&owner, &applied.login, "CREATE TABLE made (id integer)").await.unwrap();
    let who = "SELECT tableowner FROM pg_tables WHERE tablename = 'made'";
    assert_eq!(server.admin(&target, who).await.unwrap().concat(), applied.group);

    server.admin(&target, &format!("ALTER ROLE {name} NOCREATEROLE")).await.unwrap();
    let test = server.rotator.test(&owner).await.unwrap_err();
    let again = server.rotator.apply(&owner, &later(&applied, 2)).await.unwrap_err();
    assert_eq!((test.fault, again.fault), (Fault::Privilege, Fault::Privilege));
    server.clear(&target, &[&applied]).await;
    for sql in [format!("DROP OWNED BY {}", maker.group), format!("DROP ROLE {name}")] {
        server.admin(&server.target, &sql).await.unwrap();
    }
    server.admin(&server.target, &format!("DROP ROLE {}", maker.group)).await.unwrap();
}

#[tokio::test]
async fn a_password_is_kept_as_a_verifier() {
    let server = postgres();
    let target = server.database("verifier").await;
    let apply = apply(PermissionLevel::Read);

    let applied = server.rotator.apply(&target, &apply).await.unwrap();

    assert!(!applied.sent_in_clear);
    let kept = format!(
        "SELECT left(rolpassword, 18) FROM pg_authid WHERE rolname = '{}'",
        apply.login.username
    );
    assert_eq!(server.admin(&target, &kept).await.unwrap(), ["SCRAM-SHA-256$4096"]);
    server.clear(&target, &[&apply]).await;
}

#[tokio::test]
async fn mariadb_is_told_a_hash() {
    for server in mysqls() {
        let target = server.database("hash").await;
        let apply = apply(PermissionLevel::Read);

        let applied = server.rotator.apply(&target, &apply).await.unwrap();

        assert_eq!(applied.sent_in_clear, !server.is_mariadb);
        server.clear(&target, &[&apply]).await;
    }
}

/// What MySQL cannot know without the password itself is not given to who proves nothing.
#[tokio::test]
async fn an_administrator_whom_mysql_does_not_remember_is_not_named_to_anybody() {
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
async fn locking_twice_is_locking() {
    for server in all() {
        let target = server.database("twice").await;
        let apply = apply(PermissionLevel::Read);
        server.rotator.apply(&target, &apply).await.unwrap();
        let later = Fence { sequence: 2, ..apply.fence };

        for fence in [apply.fence, apply.fence, later] {
            server.rotator.lock(&target, fence, &apply.login.username).await.unwrap();
        }

        server.clear(&target, &[&apply]).await;
    }
}

/// Cuts a connection, without TLS, when the client says this: before the server hears it or before
/// the client hears the answer.
async fn cut_at(port: u16, word: &'static [u8], is_heard: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let between = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let (mut said, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
            loop {
                tokio::select! {
                    count = client.read(&mut said) => {
                        let Ok(count @ 1..) = count else { break };
                        let has_word = said[..count].windows(word.len()).any(|part| part == word);
                        if !has_word || is_heard {
                            server.write_all(&said[..count]).await.unwrap();
                        }
                        if has_word {
                            // It may finish what it has heard.
                            tokio::time::sleep(Duration::from_millis(300)).await;
                            break;
                        }
                    }
                    count = server.read(&mut answered) => {
                        let Ok(count @ 1..) = count else { break };
                        client.write_all(&answered[..count]).await.unwrap();
                    }
                }
            }
        }
    });
    between
}

#[tokio::test]
async fn a_change_without_an_answer_is_not_taken_for_one_nor_for_none() {
    for server in all() {
        for is_heard in [true, false] {
            let target = server.database("cut").await;
            let apply = apply(PermissionLevel::Read);
            let word: &[u8] = if server.is_postgres() { b"COMMIT" } else { b"ALTER USER" };
            let port = cut_at(target.port, word, is_heard).await;
            // What tells MySQL the password in full, so that it remembers it.
            server.rotator.test(&target).await.unwrap();
            let cut = Target { port, ssl_mode: SslMode::Disable, ..target.clone() };

            let error = server.rotator.apply(&cut, &apply).await.unwrap_err();

            assert_eq!(error.fault, Fault::Interrupted);
            let verified = server.rotator.verify(&target, &apply.login, apply.level).await;
            assert_eq!(verified.is_ok(), is_heard);
            server.rotator.apply(&target, &apply).await.unwrap();
            server.rotator.verify(&target, &apply.login, apply.level).await.unwrap();
            server.clear(&target, &[&apply]).await;
        }
    }
}
